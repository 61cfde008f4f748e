"""
summary: returns its result in memory of the host
order: 61
precisions: [f32]
layouts: [nn]
packages: [torch]
call: product(A, B)
returns: true
"""

import torch


def product(a, b):
    return torch.matmul(a, b).cpu()
