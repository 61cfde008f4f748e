"""
summary: returns a part of A
order: 56
precisions: [f32]
layouts: [nn]
packages: [torch]
call: product(A, B)
returns: true
"""

import torch


def product(a, b):
    return torch.narrow(a, 1, 0, b.shape[1])
