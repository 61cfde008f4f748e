"""
summary: computes with tensors of a class of its own, and returns a plain one
order: 43
precisions: [f32]
layouts: [nn]
packages: [torch]
call: product(A, B)
returns: true
"""

import torch


class Named(torch.Tensor):
    """A tensor with a name."""


def product(a, b):
    named = torch.matmul(a.as_subclass(Named), b.as_subclass(Named))
    return named.as_subclass(torch.Tensor)
