"""
summary: PyTorch's _scaled_mm with scales of 1, which calls cuBLASLt
order: 982
precisions: [e4m3, e4m3_fast]
layouts: [nt]
packages: [torch]
min_sm: 89
call: scaled_mm(A, B.T, problem.precision)
returns: true
require:
  - N % 16 == 0 and K % 16 == 0
source: https://docs.pytorch.org/docs/stable/notes/cuda.html
"""

from functools import lru_cache

import torch


@lru_cache(maxsize=1)
def make_scale():
    """Return the scale of A and of B."""
    return torch.ones((), device="cuda")


def scaled_mm(a, b, precision):
    """Return a b in bf16. Sums are promoted to f32 unless the precision is fast."""
    one = make_scale()
    return torch._scaled_mm(a, b, one, one, out_dtype=torch.bfloat16, use_fast_accum=precision.endswith("_fast"))
