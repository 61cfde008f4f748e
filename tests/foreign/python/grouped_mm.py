"""
summary: PyTorch's grouped product, which returns C
order: 40
precisions: [bf16]
layouts: [nn]
packages: [torch]
call: torch._grouped_mm(A, B, offs=offsets[1:])
returns: true
kinds: [groups]
min_sm: 90
require:
  - N % 8 == 0 and K % 8 == 0
"""

import torch

__all__ = ["torch"]
