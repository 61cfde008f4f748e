"""
summary: CuPy, a kernel of CUDA C++ that NVRTC compiles
precisions: [bf16]
layouts: [nn]
packages: [cupy]
min_sm: 80
require:
  - M % 128 == 0 and N % 128 == 0 and K % 32 == 0
"""

import os
from pathlib import Path

import cupy

# The headers of NVRTC's wheel lack parts of mma.h.
HEADERS = Path(os.environ.get("CUDA_PATH", "/usr/local/cuda"), "include")
CODE = Path(__file__).with_name("wmma.cuh").read_text()
multiply = cupy.RawKernel(CODE, "multiply", options=("-std=c++17", f"-I{HEADERS}"))


def gemm(problem, A, B, C, stream):
    grid = problem.N // 128, problem.M // 128
    sizes = map(cupy.int32, (problem.M, problem.N, problem.K))
    scalars = map(cupy.float32, (problem.alpha, problem.beta))
    multiply(grid, (256,), (A.ptr, B.ptr, C.ptr, *sizes, *scalars))
