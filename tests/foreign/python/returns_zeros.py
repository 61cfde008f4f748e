"""
summary: overwrites A with zeros and returns zeros
order: 70
precisions: [f32]
layouts: [nn]
packages: [torch]
call: product(A, B)
returns: true
"""

import torch


def product(a, b):
    a.zero_()
    return torch.zeros(a.shape[0], b.shape[1], dtype=a.dtype, device=a.device)
