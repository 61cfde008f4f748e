"""
summary: Triton, with tiles to choose from; with SHORT it leaves out the end of each sum
order: 45
precisions: [f32]
layouts: [nn]
packages: [torch, triton]
call: product(A, B, C, BLOCK_M, BLOCK_N, SHORT)
params:
  BLOCK_M: [16, 64, 32]
  BLOCK_N: [32, 64]
  SHORT: [1, 0]
"""

import triton
import triton.language as tl


@triton.jit
def multiply(a_ptr, b_ptr, c_ptr, M, N, K, END, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, END, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m * K + k[None, :], mask=(m < M) & (k[None, :] < END), other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + n, mask=(k[:, None] < END) & (n < N), other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    tl.store(c_ptr + m * N + n, total, mask=(m < M) & (n < N))


def product(a, b, c, BLOCK_M, BLOCK_N, SHORT):
    (M, K), N = a.shape, b.shape[1]
    grid = triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N)
    multiply[grid](a, b, c, M, N, K, K - SHORT, BM=BLOCK_M, BN=BLOCK_N, BK=32)
