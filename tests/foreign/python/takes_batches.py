"""
summary: computes all products of a batch in one call
order: 38
precisions: [f32]
layouts: [nn]
packages: [torch]
call: torch.matmul(A, B, out=C)
kinds: [one, many]
"""

import torch

__all__ = ["torch"]
