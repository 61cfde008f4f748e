/*---
summary: square tiles, TM results per thread in one column
order: 111
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nn, nt, tn, tt]
params:
  TILE: [16, 8, 32]
  TM: [8, 4, 2]                 # results per thread
require:
  - (TM + 1) * TILE * (TILE + 4) * BYTES <= 49152        # both tiles fit static shared memory
tile: [TILE * TM, TILE]
grid:
  - cdiv(N, TILE)
  - cdiv(M, TILE * TM)
block:
  - TILE
  - TILE
accesses:
  - load_sectors <= 4 or BYTES != 4
  - store_sectors <= 4 or BYTES != 4
  - conflicts == 0 or BYTES != 4
source: https://github.com/kHarshit/cuda-programming
---*/

// Our reconstruction of a step that "Matrix Multiplication in CUDA" mentions without showing code: only
// register blocking. Compared with tiled: the block stays the same, the tile of A and C becomes TM
// times as high, and each thread keeps TM results of one column in registers. Each element of Bs, once
// loaded, serves TM multiply-adds.
//
//              Bs      k  [ . . x . ]        TILE x TILE
//                             |
//      As        k    C tile  v
//      +---------.-+  +-----------+
//      |         a-|--|-----x     |  ty              each k:  b = Bs[k][tx]
//      |         . |  |     :     |
//      |         a-|--|-----x     |  ty + TILE                sum[r] += As[ty + r TILE][k] * b
//      |         . |  |     :     |
//      |         a-|--|-----x     |  ty + 2 TILE
//      +-----------+  +-----------+
//                           tx
//
// It is still bound by shared memory: (TM + 1) / TM loads per multiply-add as written, instead of
// two. The loads of As are broadcast to the threads of a row, and the compiler can fetch four k at
// a time, since they are adjacent. The next step is a second dimension, TM x TN: blocktile_2d.
// (wpt_coalesced computes the same number of results per thread, but there the tile stays the same
// and the block shrinks.)
//
// The post mentions this step but shows no code for it. It would start from the post's
// shared-memory kernel, whose bug is fixed here: its guards compare the row and column within the
// tile with the sizes of the matrices, so it reads out of bounds when a size is not a multiple of
// the tile.

#define BM (TILE * TM)
#define PITCH_A (TILE + (TRANS_A ? 32 / TILE : 0))  // padded where a layout transposes the tile
#define PITCH_B (TILE + (TRANS_B ? 32 / TILE : 0))  // on its way, so that stores hit different banks

extern "C" __global__ void __launch_bounds__(TILE * TILE)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    __shared__ TA As[BM][PITCH_A];
    __shared__ TB Bs[TILE][PITCH_B];

    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1;
    const size_t b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * TILE;

    // The elements that this thread loads: of A, every TILE-th row from a_row on.
    const int a_row = TRANS_A ? tx : ty, a_depth = TRANS_A ? ty : tx;
    const int b_depth = TRANS_B ? tx : ty, b_column = TRANS_B ? ty : tx;
    const int j = column0 + b_column;

    TACC sum[TM] = {};
    for (int k0 = 0; k0 < K; k0 += TILE) {
        const int ka = k0 + a_depth, kb = k0 + b_depth;
#pragma unroll
        for (int r = 0; r < TM; ++r) {
            const int m = a_row + r * TILE, i = row0 + m;
            As[m][a_depth] = i < M && ka < K ? A[i * a_i + ka * a_k] : TA(0);
        }
        Bs[b_depth][b_column] = kb < K && j < N ? B[kb * b_k + j * b_j] : TB(0);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k) {
            const TACC b = TACC(Bs[k][tx]);
#pragma unroll
            for (int r = 0; r < TM; ++r) sum[r] += TACC(As[ty + r * TILE][k]) * b;
        }
        __syncthreads();  // before the tiles are overwritten
    }

#pragma unroll
    for (int r = 0; r < TM; ++r) {
        const int row = row0 + ty + r * TILE, column = column0 + tx;
        if (row >= M || column >= N) continue;
        TC* c = C + size_t(row) * N + column;
        *c = TC(beta == 0 ? alpha * sum[r] : alpha * sum[r] + beta * TACC(*c));  // beta 0: C is not read
    }
}
