"""
summary: Gluon, with TMA and wgmma, one tile of C per program
precisions: [bf16, f16]
layouts: [nn]
packages: [torch, triton]
min_sm: 90
arch: [90a]
call: matmul(A, B, C, BM, BN, BK, STAGES, GROUP_M)
params:
  BM: 128
  BN: [256, 128]
  BK: 64
  STAGES: [4, 3]
  GROUP_M: 8
require:
  - N % 8 == 0 and K % 8 == 0 # rows of a tensor map begin at multiples of 16 bytes
  - 2 * STAGES * (BM + BN) * BK + 64 <= SMEM
"""

from functools import lru_cache

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_init,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

TYPES = {torch.bfloat16: gl.bfloat16, torch.float16: gl.float16}


@gluon.jit
def load(a_map, b_map, a_tiles, b_tiles, filled, first_m, first_n, step, wanted):
    """Begin to copy the tiles of A and B of a step over K, if they are wanted."""
    stage, first_k = step % filled.shape[0], step * a_map.block_type.shape[1]
    bar = filled.index(stage)
    mbarrier.expect(bar, a_map.block_type.nbytes + b_map.block_type.nbytes, pred=wanted)
    tma.async_copy_global_to_shared(a_map, [first_m, first_k], bar, a_tiles.index(stage), pred=wanted)
    tma.async_copy_global_to_shared(b_map, [first_k, first_n], bar, b_tiles.index(stage), pred=wanted)


@gluon.jit
def multiply(a_map, b_map, c_map, M, N, K, STAGES: gl.constexpr, GROUP_M: gl.constexpr):
    BM: gl.constexpr = a_map.block_type.shape[0]
    BK: gl.constexpr = a_map.block_type.shape[1]
    BN: gl.constexpr = b_map.block_type.shape[1]
    # GROUP_M rows of tiles are computed column by column, so that programs that run together share A and B in L2.
    program, rows, columns = gl.program_id(0), gl.cdiv(M, BM), gl.cdiv(N, BN)
    first = program // (GROUP_M * columns) * GROUP_M
    height = min(rows - first, GROUP_M)
    first_m = (first + program % (GROUP_M * columns) % height) * BM
    first_n = program % (GROUP_M * columns) // height * BN

    a_tiles = gl.allocate_shared_memory(a_map.dtype, [STAGES, BM, BK], a_map.layout)
    b_tiles = gl.allocate_shared_memory(b_map.dtype, [STAGES, BK, BN], b_map.layout)
    filled = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for number in gl.static_range(STAGES):
        mbarrier.init(filled.index(number), count=1)

    steps = gl.cdiv(K, BK)
    for number in gl.static_range(STAGES - 1):
        load(a_map, b_map, a_tiles, b_tiles, filled, first_m, first_n, number, number < steps)
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [gl.num_warps(), 1], [16, BN, 16])
    total = warpgroup_mma_init(gl.zeros((BM, BN), gl.float32, layout))
    for step in range(steps):
        stage = step % STAGES
        mbarrier.wait(filled.index(stage), step // STAGES & 1)
        total = warpgroup_mma_wait(0, deps=(total,))
        total = warpgroup_mma(a_tiles.index(stage), b_tiles.index(stage), total, is_async=True)
        # The product of the step before is complete, so its tiles can be filled again.
        following = step + STAGES - 1
        load(a_map, b_map, a_tiles, b_tiles, filled, first_m, first_n, following, following < steps)
    total = warpgroup_mma_wait(0, deps=(total,))

    c_tile = gl.allocate_shared_memory(c_map.dtype, c_map.block_type.shape, c_map.layout)
    c_tile.store(total.to(c_map.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(c_map, [first_m, first_n], c_tile)
    tma.store_wait(0)


@lru_cache(maxsize=256)
def describe(tensor, *tile):
    """Return the tensor map of a matrix that is copied in tiles."""
    layout = gl.NVMMASharedLayout.get_default_for(list(tile), TYPES[tensor.dtype])
    return TensorDescriptor.from_tensor(tensor, list(tile), layout)


def matmul(a, b, c, BM, BN, BK, STAGES, GROUP_M):
    (M, K), N = a.shape, b.shape[1]
    maps = describe(a, BM, BK), describe(b, BK, BN), describe(c, BM, BN)
    programs = triton.cdiv(M, BM) * triton.cdiv(N, BN)
    multiply[(programs,)](*maps, M, N, K, STAGES, GROUP_M, num_warps=8)
