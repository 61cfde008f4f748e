"""
summary: Triton, one tile of C per program, programs in groups of rows
order: 970
precisions: [f32, tf32, f16, bf16]
layouts: [nn, nt, tn, tt]
packages: [torch, triton]
min_sm: 80
params:
  BM: [128, 64, 256]
  BN: [128, 64, 256]
  BK: [32, 64, 16]
  GROUP_M: [8, 4, 16]
  NUM_WARPS: [8, 4]
  NUM_STAGES: [3, 4, 2]
require:
  - (BM + BN) * BK * BYTES * NUM_STAGES <= SMEM
  - BM * BN <= 4096 * NUM_WARPS # 128 sums per thread: more do not fit into registers
  - max(M * K, K * N) < 2147483648
tile: [BM, BN]
source: https://triton-lang.org/main/getting-started/tutorials/03-matrix-multiplication.html
"""

from functools import lru_cache

import torch
import triton
import triton.language as tl

view = lru_cache(maxsize=256)(torch.from_dlpack)
"""The tensor of an array; equal arrays share it."""


@triton.jit
def multiply(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    alpha,
    beta,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP_M: tl.constexpr,
    EVEN_K: tl.constexpr,
    READS_C: tl.constexpr,
    INPUT_PRECISION: tl.constexpr,
):
    # GROUP_M rows of tiles are computed column by column, so that programs that run together share A and B in L2.
    program = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first_m = program // (GROUP_M * tiles_n) * GROUP_M
    rows_in_group = min(tiles_m - first_m, GROUP_M)
    tile_m = first_m + program % (GROUP_M * tiles_n) % rows_in_group
    tile_n = program % (GROUP_M * tiles_n) // rows_in_group

    # Rows and columns past the edge wrap around: they are loaded without a mask and never stored.
    m = tile_m * BM + tl.arange(0, BM)
    n = tile_n * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a = a_ptr + (m % M)[:, None] * stride_am + k[None, :] * stride_ak
    b = b_ptr + k[:, None] * stride_bk + (n % N)[None, :] * stride_bn

    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        if EVEN_K:
            a_tile, b_tile = tl.load(a), tl.load(b)
        else:
            a_tile = tl.load(a, mask=k[None, :] < K - start, other=0.0)
            b_tile = tl.load(b, mask=k[:, None] < K - start, other=0.0)
        total = tl.dot(a_tile, b_tile, total, input_precision=INPUT_PRECISION)
        a += BK * stride_ak
        b += BK * stride_bk

    total = total * alpha
    c = c_ptr + m[:, None].to(tl.int64) * N + n[None, :]
    inside = (m[:, None] < M) & (n[None, :] < N)
    if READS_C:
        total += beta * tl.load(c, mask=inside, other=0.0).to(tl.float32)
    tl.store(c, total.to(c_ptr.dtype.element_ty), mask=inside)


def gemm(problem, A, B, C, stream, BM, BN, BK, GROUP_M, NUM_WARPS, NUM_STAGES):
    """C = alpha op(A) op(B) + beta C, on the current stream, which is `stream`."""
    a, b, c = view(A), view(B), view(C)
    a, b = a.T if problem.trans_a else a, b.T if problem.trans_b else b
    multiply[(triton.cdiv(problem.M, BM) * triton.cdiv(problem.N, BN),)](
        a,
        b,
        c,
        problem.M,
        problem.N,
        problem.K,
        problem.alpha,
        problem.beta,
        *a.stride(),
        *b.stride(),
        BM=BM,
        BN=BN,
        BK=BK,
        GROUP_M=GROUP_M,
        EVEN_K=problem.K % BK == 0,
        READS_C=problem.beta != 0,
        INPUT_PRECISION="tf32" if problem.precision == "tf32" else "ieee",
        num_warps=NUM_WARPS,
        num_stages=NUM_STAGES,
    )
