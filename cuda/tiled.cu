/*---
summary: square tiles of A and B in shared memory, one element of C per thread
order: 30
symbol: gemm
precisions: [f32, f64, f16, bf16, f16_f32, bf16_f32, e4m3, e5m2, int8]
layouts: [nn, nt, tn, tt]
kinds: [one, many, groups, padded, separate_c]
epilogue: [bias, relu]
params:
  TILE: [16, 8, 32]
tile: [TILE, TILE]
grid:
  - cdiv(N, TILE)
  - cdiv(M, TILE) + groups
  - count
block:
  - TILE
  - TILE
accesses:
  - load_sectors <= 4 or BYTES != 4
  - store_sectors <= 4 or BYTES != 4
  - conflicts == 0 or BYTES != 4
source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#shared-memory
---*/

// Compared with naive: the block copies one tile of A and one of B to shared memory, so each
// element is read from global memory once per tile instead of once per thread, which is TILE
// times less traffic.
//
// Bound by shared memory: as written, each multiply-add still takes two loads, now from shared
// memory. nvcc 13 reads four elements of As with one load, which leaves 1.25.
//
//                      Bs
//                    +----+  k0            for k0 = 0, TILE, 2 TILE, ...
//              B     |####|                    load an element of each tile (0 outside the matrices)
//                    +----+                    barrier: no thread needs the previous tiles any more
//           k0       |                         store the elements to As and Bs
//      A +--[##]--   +----+                    barrier: the tiles are complete
//            As      |####| C tile             sum += As[ty][k] * Bs[k][tx]
//                    +----+
//
// threadIdx.x runs along the direction that is contiguous in memory, whatever the layout is. Where
// a tile is transposed on its way to shared memory, its rows are padded: a warp then stores to 32 /
// TILE columns, and rows that begin this number of banks apart do not conflict.
//
// The posts have three similar kernels, which are in cuda/posts. tiled_plain ("Matrix
// Multiplication in CUDA", and version 1 of "CUDA 007 - GEMM") loads after the barrier that frees
// the tiles; here the loads come before it, so they are in flight while other warps are still
// computing. tiled_uncoalesced (the first stage of the post on neural networks) runs threadIdx.x
// down the rows.

#ifndef LDA  // rows are packed
#define LDA (TRANS_A ? M : K)
#define LDB (TRANS_B ? K : N)
#define LDC N
#define LDD N
#endif

#define PITCH_A (TILE + (TRANS_A ? 32 / TILE : 0))
#define PITCH_B (TILE + (TRANS_B ? 32 / TILE : 0))

extern "C" __global__ void __launch_bounds__(TILE * TILE)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, const TC* C, const TC* bias,
         TC* D, const int* offsets) {
    __shared__ TA As[TILE][PITCH_A];
    __shared__ TB Bs[TILE][PITCH_B];

#if MANY  // product blockIdx.z of a batch
    A += blockIdx.z * size_t(TRANS_A ? K : M) * LDA, B += blockIdx.z * size_t(TRANS_B ? N : K) * LDB;
    C += blockIdx.z * size_t(M) * LDC, D += blockIdx.z * size_t(M) * LDD;
    if (BIAS) bias += blockIdx.z * size_t(N);
#endif
    const size_t a_i = TRANS_A ? 1 : LDA, a_k = TRANS_A ? LDA : 1;
    const size_t b_k = TRANS_B ? 1 : LDB, b_j = TRANS_B ? LDB : 1;
    const int tx = threadIdx.x, ty = threadIdx.y;
#if GROUPS  // tile blockIdx.y of those of all groups; each may end with a part of a tile, so that some blocks have none
    int group = 0, first = 0, tile = blockIdx.y;
    for (int tiles;; ++group, tile -= tiles) {
        first = offsets[group];
        if (first == M) return;
        tiles = (offsets[group + 1] - first + TILE - 1) / TILE;
        if (tile < tiles) break;
    }
    M = offsets[group + 1] - first;
    A += size_t(first) * LDA, B += group * size_t(TRANS_B ? N : K) * LDB;
    C += size_t(first) * LDC, D += size_t(first) * LDD;
    if (BIAS) bias += group * size_t(N);
    const int row0 = tile * TILE, column0 = blockIdx.x * TILE;
#else
    const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
#endif

    // The element of each tile that this thread loads.
    const int a_row = TRANS_A ? tx : ty, a_depth = TRANS_A ? ty : tx;
    const int b_depth = TRANS_B ? tx : ty, b_column = TRANS_B ? ty : tx;
    const int i = row0 + a_row, j = column0 + b_column;

    const TA* a = A + i * a_i + a_depth * a_k;
    const TB* b = B + b_depth * b_k + j * b_j;
    const int a_left = i < M ? K - a_depth : 0, b_left = j < N ? K - b_depth : 0;  // inside while k0 is below

    TACC sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE, a += TILE * a_k, b += TILE * b_k) {
        const TA a_new = k0 < a_left ? *a : TA(0);
        const TB b_new = k0 < b_left ? *b : TB(0);
        __syncthreads();
        As[a_row][a_depth] = a_new;
        Bs[b_depth][b_column] = b_new;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k) {
            sum += TACC(As[ty][k]) * TACC(Bs[k][tx]);
        }
    }

    const int row = row0 + ty, column = column0 + tx;
    if (row >= M || column >= N) return;
    TACC value = alpha * sum;
    if (beta != 0) value += beta * TACC(C[size_t(row) * LDC + column]);  // beta 0: C is not read
    if (BIAS) value += TACC(bias[column]);
    if (RELU && value < 0) value = 0;  // a NaN stays
    D[size_t(row) * LDD + column] = TC(value);
}
