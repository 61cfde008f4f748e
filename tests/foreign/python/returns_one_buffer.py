"""
summary: returns the same memory in every call
order: 52
precisions: [f32]
layouts: [nn]
packages: [torch]
call: product(A, B)
returns: true
"""

import torch

kept = {}


def product(a, b):
    size = a.shape[0], b.shape[1]
    if size not in kept:
        kept[size] = torch.empty(size, dtype=a.dtype, device=a.device)
    return torch.matmul(a, b, out=kept[size])
