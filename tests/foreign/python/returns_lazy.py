"""
summary: returns a tensor that computes when it is read
order: 58
precisions: [f32]
layouts: [nn]
packages: [torch]
call: product(A, B)
returns: true
"""

import torch


class Lazy(torch.Tensor):
    """A tensor that would compute later."""


def product(a, b):
    return torch.matmul(a, b).as_subclass(Lazy)
