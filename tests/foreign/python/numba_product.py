"""
summary: Numba, a kernel in Python, launched on the stream that it gets
order: 44
precisions: [f32]
layouts: [nn]
packages: [numba]
"""

from functools import lru_cache

import numpy as np
from numba import cuda

array = lru_cache(maxsize=256)(cuda.as_cuda_array)
stream_of = lru_cache(maxsize=8)(cuda.external_stream)


@cuda.jit
def multiply(A, B, C, alpha, beta):
    row, column = cuda.grid(2)
    if row < C.shape[0] and column < C.shape[1]:
        total = np.float32(0)
        for k in range(A.shape[1]):
            total += A[row, k] * B[k, column]
        total *= alpha
        if beta != 0:
            total += beta * C[row, column]
        C[row, column] = total


def gemm(problem, A, B, C, stream):
    grid = (problem.M + 7) // 8, (problem.N + 31) // 32
    scalars = np.float32(problem.alpha), np.float32(problem.beta)
    multiply[grid, (8, 32), stream_of(stream)](array(A), array(B), array(C), *scalars)
