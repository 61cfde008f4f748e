"""
summary: PyTorch's _grouped_mm, all groups in one launch
order: 981
precisions: [bf16]
layouts: [nn]
kinds: [groups]
packages: [torch]
min_sm: 90
call: torch._grouped_mm(A, B, offs=offsets[1:])
returns: true
require:
  - N % 8 == 0 and K % 8 == 0 # rows begin at multiples of 16 bytes
source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.grouped_mm.html
"""

import torch

__all__ = ["torch"]
