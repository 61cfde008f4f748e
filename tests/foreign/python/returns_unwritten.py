"""
summary: leaves the last row of its result as it was
order: 57
precisions: [f32]
layouts: [nn]
packages: [torch]
call: product(A, B)
returns: true
"""

import torch


def product(a, b):
    c = torch.empty(a.shape[0], b.shape[1], dtype=a.dtype, device=a.device)
    torch.matmul(a[:-1], b, out=c[:-1])
    return c
