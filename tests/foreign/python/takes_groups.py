"""
summary: multiplies each group with its own B
order: 39
precisions: [f32]
layouts: [nn]
packages: [torch]
call: product(A, B, C, problem, offsets)
kinds: [groups]
"""

import torch


def product(a, b, c, problem, offsets):
    assert offsets.shape == (len(problem.groups) + 1,) and offsets.dtype == torch.int32
    first = 0
    for number, rows in enumerate(problem.groups):
        if rows:
            torch.matmul(a[first : first + rows], b[number], out=c[first : first + rows])
        first += rows
