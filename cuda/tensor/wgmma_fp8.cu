/*---
summary: wgmma in fp8; sums are promoted to float every 128 products, or stay in the tensor cores (fast)
order: 260
precisions: [e4m3_fast, e4m3, e5m2_fast, e5m2]
layouts: [nt]                   # both operands along K: fp8 has no transposed descriptors
arch: [90a]                     # setmaxnreg
epilogue: [bias, relu]
params:
  BM: [256, 128]                # 256: each warpgroup has two blocks of 64 rows
  BN: [128, 192, 256, 64]
  STAGES: [4, 3, 6]
  CLUSTER_M: [1, 2]             # blocks below one another: they have the same tile of B
  CLUSTER_N: [2, 1]             # side by side: the same tile of A
let:
  any_n: N * BYTES_C % 16 != 0  # C does not leave by TMA
  cluster: CLUSTER_M * CLUSTER_N
  partial: 1 if PROMOTED_EVERY else 0  # promotion needs the sums of 64 rows twice
  # Boxes that no other block shares have no more rows than C, because TMA takes twice as long if a box reaches beyond
  # it.
  rows_a: min(BM, M) if CLUSTER_N == 1 else BM / CLUSTER_N
  rows_b: min(BN, N) if CLUSTER_M == 1 else BN / CLUSTER_M
  copies: K % 16 != 0           # TMA needs rows that are multiples of 16 bytes: others are copied and padded
  pitch: cdiv(K, 16) * 16       # of the copies
require:
  - cluster <= 2                # larger ones leave SMs without work
  - (BM / 128 + partial) * BN <= 384  # else the sums do not fit in registers
  - STAGES * ((BM + BN) * 128 + 16) + 32768 <= SMEM
tile: [BM * CLUSTER_M, BN * CLUSTER_N]
maps_by_value: true
tensor_maps:
  - {operand: A, box: [128, rows_a], swizzle: 128, when: not copies}
  - {operand: B, box: [128, rows_b], swizzle: 128, when: not copies}
  - {operand: C, box: [64, 16], swizzle: 128, when: N % 8 == 0}
  - {operand: workspace, shape: [K, M], pitch: pitch, box: [128, rows_a], swizzle: 128, when: copies}
  - operand: workspace
    offset: M * pitch
    shape: [K, N]
    pitch: pitch
    box: [128, rows_b]
    swizzle: 128
    when: copies
workspace: (M + N) * pitch if copies else 0
launches:
  - symbol: pad
    grid:
      - min(4 * SMS, cdiv((M + N) * pitch, 512))
    block: [256]
    when: copies
    pdl: true
  - symbol: gemm<any_n>
    grid:
      - cluster * min(SMS // cluster, cdiv(M, BM * CLUSTER_M) * cdiv(N, BN * CLUSTER_N))
    block: [384]
    shared: STAGES * ((BM + BN) * 128 + 16) + 32768
    pdl: true
sass:
  - spills == 0                 # in the main loop
source: https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions
---*/

// Compared with wgmma_cluster: elements have 8 bits. A row of a tile still has 128 bytes, which are now 128 k, and an
// instruction multiplies 32 k in the time it took for 16: half the bytes, half the time. The ring, the clusters, the
// stores and the copies of rows that TMA cannot fetch are the same. wgmma_hybrid has large clusters for fp8 as well.
//
// The tensor cores add 8-bit products with about 14 bits and truncate the rest. Over a long K these errors accumulate,
// and all of them are towards 0. So e4m3 and e5m2 promote their sums: the tensor cores sum the 128 products of a stage,
// and CUDA cores add these partial sums in float. One group adds while the other multiplies:
//
//     tensor cores   | group 0, stage 0 | group 1, stage 0 | group 0, stage 1 | group 1, stage 1 | ...
//     group 0          multiplies         adds               multiplies         adds
//     group 1                             multiplies         adds               multiplies
//
// A group needs registers for both kinds of sums. With BM = 256 it therefore multiplies its two blocks of 64 rows
// one after the other, and tiles are at most 256 x 128 or 128 x 192. The fast forms sum in the tensor cores and
// use tiles like those of wgmma_cluster.
//
//          BN = 128
//       +-------------+
//       | group 0     |  64 rows    partial += A B over 128 k, then sum[0] += partial
//       |             |  64 rows    partial += A B over 128 k, then sum[1] += partial
//       +-------------+
//       | group 1     |  128 rows
//       +-------------+
//
// Bound by the power limit on large problems and, with promotion, also by shared memory: products of 64 x 128 read 96
// bytes per cycle, TMA writes another 48, and shared memory provides 128.

#include "persistent.cuh"

extern "C" __global__ void __launch_bounds__(kPadThreads, kPadBlocks)
    pad(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias, void* workspace,
        const __grid_constant__ Maps<5> maps) {
    copy_operands(M, N, K, A, B, workspace);
}

template <bool ANY_N>
__global__ void __launch_bounds__(kThreads, 1) __cluster_dims__(CLUSTER_M * CLUSTER_N, 1, 1)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias,
         void* workspace, const __grid_constant__ Maps<5> maps) {
    extern __shared__ __align__(1024) char shared[];
    multiply_tiles<CLUSTER_M, CLUSTER_N, ANY_N>(M, N, K, alpha, beta, C, bias, maps.map, shared);
}
