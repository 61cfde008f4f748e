"""
summary: computes nothing from its 60th call on
order: 68
precisions: [f32]
layouts: [nn]
packages: [torch]
call: product(A, B)
returns: true
"""

import itertools

import torch

calls = itertools.count()


def product(a, b):
    if next(calls) < 60:
        return torch.matmul(a, b)
    return torch.empty(a.shape[0], b.shape[1], dtype=a.dtype, device=a.device)
