/*---
summary: blocks of a cluster share the tiles that they fetch; C leaves by TMA; launches overlap
order: 240
precisions: [bf16, f16, bf16_f32, f16_f32, f16_f16]
layouts: [nn, nt, tn, tt]
arch: [90a]                     # setmaxnreg
epilogue: [bias, relu]
params:
  BM: [128, 256]                # 256: each warpgroup has two blocks of 64 rows
  BN: [256, 192, 128, 64]
  STAGES: [4, 3, 6, 8]
  CLUSTER_M: [2, 1]             # blocks below one another: they have the same tile of B
  CLUSTER_N: [1, 2, 4, 8]       # side by side: the same tile of A
let:
  any_n: N * BYTES_C % 16 != 0  # C does not leave by TMA
  cluster: CLUSTER_M * CLUSTER_N
  usable: SMS if cluster <= 2 else SMS * 10 // 11     # SMs: larger clusters do not fit on all
  # A tile that runs along M or N comes in chunks of 64 columns; where they cannot be dealt evenly, they are also cut
  # along k.
  pieces_a: CLUSTER_N if BM / 64 % CLUSTER_N != 0 else 1
  pieces_b: CLUSTER_M if BN / 64 % CLUSTER_M != 0 else 1
  height_a: K if TRANS_A else M  # rows of A as it is stored, each of lda elements
  height_b: N if TRANS_B else K
  copy_a: lda % 8 != 0          # TMA needs rows that are multiples of 16 bytes: others are copied and padded
  copy_b: ldb % 8 != 0
  bytes_a: 16 * height_a * cdiv(lda, 8) if copy_a else 0  # of the copies
  bytes_b: 16 * height_b * cdiv(ldb, 8) if copy_b else 0
  # Boxes that no other block shares have no more rows than C, because TMA takes twice as long if a box reaches beyond
  # it.
  rows_a: min(BM, M) if CLUSTER_N == 1 else BM / CLUSTER_N
  rows_b: min(BN, N) if CLUSTER_M == 1 else BN / CLUSTER_M
  box_a: 64 / pieces_a if TRANS_A else rows_a
  box_b: rows_b if TRANS_B else 64 / pieces_b
require:
  - cluster <= 8
  - BM * BN <= 49152            # else the sums do not fit in registers
  - STAGES * ((BM + BN) * 128 + 16) + 32768 <= SMEM
tile: [BM * CLUSTER_M, BN * CLUSTER_N]
maps_by_value: true
tensor_maps:
  - {operand: A, box: [64, box_a], swizzle: 128, when: not copy_a}
  - {operand: B, box: [64, box_b], swizzle: 128, when: not copy_b}
  - {operand: C, box: [128 / BYTES_C, 16], swizzle: 128, when: N * BYTES_C % 16 == 0}
  - operand: workspace          # the copy of A, and that of B
    shape: [lda, height_a]
    pitch: cdiv(lda, 8) * 8
    box: [64, box_a]
    swizzle: 128
    when: copy_a
  - operand: workspace
    offset: bytes_a
    shape: [ldb, height_b]
    pitch: cdiv(ldb, 8) * 8
    box: [64, box_b]
    swizzle: 128
    when: copy_b
workspace: bytes_a + bytes_b
launches:
  - symbol: pad
    grid:
      - min(4 * SMS, cdiv(bytes_a + bytes_b, 512))
    block: [256]
    when: copy_a or copy_b
    pdl: true
  - symbol: gemm<any_n>
    grid:
      - cluster * min(usable // cluster, cdiv(M, BM * CLUSTER_M) * cdiv(N, BN * CLUSTER_N))
    block: [384]
    shared: STAGES * ((BM + BN) * 128 + 16) + 32768
    pdl: true
sass:                           # of the main loop
  - 15 * tensor >= instructions # ptxas may put waits and moves between products that it does not see through
  - spills == 0
source: https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions
---*/

// Compared with wgmma_ring, there is less L2 traffic per product. The energy of moving tiles from L2 to shared memory
// limits a large product, so a cluster moves each tile only once: every block fetches a part of it, and TMA writes that
// part into the shared memory of all blocks that need it.
//
//         columns 0 to 255
//       +----------------+         A of block 0  ------------------------> block 0
//       |    block 0     |         A of block 1  ------------------------> block 1
//       +----------------+         B, left half,  fetched by block 0 ----> both
//       |    block 1     |         B, right half, fetched by block 1 ----> both
//       +----------------+
//
// A stage may be refilled once the groups of all these blocks have read it, so they arrive at the `emptied` barrier of
// each block that fetches for them.
//
// The tiles of C are processed in groups of rows, up one column and down the next, so concurrent tiles share rows of A
// and columns of B in L2. Each warp writes its rows of C to shared memory with stmatrix, where the swizzle avoids bank
// conflicts, and TMA stores them while the warp continues: 128 bytes of a row at a time instead of the 16 that four
// lanes hold.
//
// A launch begins on SMs that the previous launch has left (pdl), sets up its barriers and fetches its tensor maps
// there, and waits for that launch to end before it touches an operand. Where there is only one wave of tiles, this
// hides a tenth of the time.
//
// A wide C with few rows (128 x 28672) is one wave of tiles in a row, which all need the same tile of A. There,
// clusters of eight fetch it once instead of eight times, which leaves more power and L2 bandwidth for B.
//
// TMA needs rows whose length is a multiple of 16 bytes. Other operands are first copied to the workspace with longer
// rows, and each warp stores its rows of C itself, as words that lie side by side.
//
// Bound by the power limit: under a steady load the tensor cores of an H200 run at 1.3 GHz instead of 1.98 GHz.

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
