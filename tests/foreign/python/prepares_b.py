"""
summary: stores B by columns once for each content
order: 36
precisions: [f32]
layouts: [nn]
packages: [torch]
setup: pack(B)
call: product(A, prepared)
returns: true
"""

import torch


def pack(b):
    return b.T.contiguous()


def product(a, packed):
    return torch.matmul(a, packed.T)
