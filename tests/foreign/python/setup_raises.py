"""
summary: raises when it prepares B
order: 55
precisions: [f32]
layouts: [nn]
packages: [torch]
setup: pack(B)
call: product(A, prepared)
returns: true
"""

import torch


def pack(b):
    raise ValueError(f"cannot pack {b.shape[0]} rows")


def product(a, packed):
    return torch.matmul(a, packed)
