"""
summary: rounds A and B to half precision
order: 67
precisions: [f32]
layouts: [nn]
packages: [torch]
call: product(A, B)
returns: true
"""

import torch


def product(a, b):
    return torch.matmul(a.half(), b.half()).float()
