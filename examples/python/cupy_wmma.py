"""
summary: CuPy, a kernel of CUDA C++ that NVRTC compiles
precisions: [bf16]
layouts: [nn]
packages: [cupy]
min_sm: 80
call: matmul(A, B, C, M, N, K)
require:
  - M % 128 == 0 and N % 128 == 0 and K % 32 == 0
"""

from pathlib import Path

import cupy

multiply = cupy.RawKernel(Path(__file__).with_name("wmma.cuh").read_text(), "multiply", options=("-std=c++17",))


def matmul(a, b, c, M, N, K):
    multiply((N // 128, M // 128), (256,), (a, b, c, *map(cupy.int32, (M, N, K))))
