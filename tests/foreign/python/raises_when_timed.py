"""
summary: raises after it was verified
order: 2
precisions: [f32]
layouts: [nn]
packages: [torch]
"""

import itertools

import torch

calls = itertools.count()


def gemm(problem, A, B, C, stream):
    a, b, c = map(torch.from_dlpack, (A, B, C))
    c.addmm_(a, b, alpha=problem.alpha, beta=problem.beta)
    if next(calls) > 200:
        raise ValueError("called too often")
