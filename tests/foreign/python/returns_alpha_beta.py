"""
summary: returns alpha A B + beta C, where C is only read
order: 33
precisions: [f32]
layouts: [nn]
packages: [torch]
call: torch.addmm(C, A, B, alpha=alpha, beta=beta)
returns: true
"""

import torch

__all__ = ["torch"]
