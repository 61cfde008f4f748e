"""
summary: Triton, whose autotuner chooses the tile in the first call
order: 21
precisions: [f32]
layouts: [nn]
packages: [torch, triton]
"""

import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({"BM": size, "BN": size}, num_warps=4) for size in (16, 32, 64)]


@triton.autotune(CONFIGS, key=["M", "N", "K"])
@triton.jit
def multiply(a_ptr, b_ptr, c_ptr, M, N, K, alpha, beta, READS_C: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(K):
        a = tl.load(a_ptr + m * K + k, mask=m < M, other=0.0)
        b = tl.load(b_ptr + k * N + n, mask=n < N, other=0.0)
        total += a * b
    total *= alpha
    inside = (m < M) & (n < N)
    if READS_C:
        total += beta * tl.load(c_ptr + m * N + n, mask=inside, other=0.0)
    tl.store(c_ptr + m * N + n, total, mask=inside)


def gemm(problem, A, B, C, stream):
    a, b, c = map(torch.from_dlpack, (A, B, C))
    size = problem.M, problem.N, problem.K

    def grid(tile):
        return triton.cdiv(problem.M, tile["BM"]), triton.cdiv(problem.N, tile["BN"])

    multiply[grid](a, b, c, *size, problem.alpha, problem.beta, READS_C=problem.beta != 0)
