"""
summary: quack, a library of kernels in the CuTe DSL
precisions: [bf16, f16]
layouts: [nn]
kinds: [one, many, groups]
packages: [torch, quack]
packages_from: packages
min_sm: 90
call: gemm(A, B, C, tuned=bool(TUNED), cu_seqlens_m=offsets)
params:
  TUNED: [0, 1]
require:
  - N % 8 == 0 and K % 8 == 0 # rows of a tensor map begin at multiples of 16 bytes
source: https://github.com/Dao-AILab/quack
"""

from quack.gemm_interface import gemm

__all__ = ["gemm"]
