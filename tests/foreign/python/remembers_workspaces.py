"""
summary: keeps a workspace for each address of A, and computes in each call
order: 42
precisions: [f32]
layouts: [nn]
packages: [torch]
call: product(A, B)
returns: true
"""

import torch

kept = {}


def product(a, b):
    if a.data_ptr() not in kept:
        kept[a.data_ptr()] = torch.empty_like(a)
    copy = kept[a.data_ptr()].copy_(a)
    return torch.matmul(copy, b)
