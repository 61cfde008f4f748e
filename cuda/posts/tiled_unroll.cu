/*---
summary: tiled_plain with its inner loop unrolled UNROLL times
order: 112
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nn, nt, tn, tt]
params:
  TILE: [16, 8, 32]
  UNROLL: [16, 1, 2, 4, 8, 32]  # steps of k per iteration of the loop; 1: not unrolled
require:
  - TILE % UNROLL == 0
tile: [TILE, TILE]
grid:
  - cdiv(N, TILE)
  - cdiv(M, TILE)
block:
  - TILE
  - TILE
accesses:
  - load_sectors <= 4 or BYTES != 4
  - store_sectors <= 4 or BYTES != 4
  - conflicts == 0 or BYTES != 4
source: https://github.com/kHarshit/cuda-programming
---*/

// Our reconstruction of a step that "Matrix Multiplication in CUDA" mentions without showing code:
// only loop unrolling. Compared with tiled_plain, it adds the pragma, and padded tiles for the other
// layouts. The compiler unrolls a loop of 16 known steps by itself, so adding a pragma shows no
// gain; UNROLL=1 takes the unrolling away.
//
//      UNROLL = 1                          UNROLL = 4
//        LDS  a                              LDS.64  a0 a1            wider: one load for two steps
//        LDS  b                              LDS.64  a2 a3
//        FFMA                                LDS  b0                  offsets are constants
//        add to both addresses               LDS  b1
//        compare, branch                     LDS  b2
//                                            LDS  b3                  six loads in flight at once
//      for each k                            4 FFMA
//                                            add, compare, branch     for every fourth k
//
// Unrolling saves the counter, the test and the address arithmetic of each step; the wait for each
// single pair of loads; and loads of As, whose elements are adjacent along k (nvcc 13 loads two at
// once with UNROLL=4, four when the whole loop is straight-line code, two where rows are padded).
//
// Bound by shared memory, like tiled: 1.25 loads per multiply-add at best.
//
// The post mentions this step but shows no code for it. It would start from the post's
// shared-memory kernel, whose bug is fixed here: its guards compare the row and column within the
// tile with the sizes of the matrices, so it reads out of bounds when a size is not a multiple of
// the tile.

#define PITCH_A (TILE + (TRANS_A ? 32 / TILE : 0))  // padded where a layout transposes the tile
#define PITCH_B (TILE + (TRANS_B ? 32 / TILE : 0))  // on its way, so that stores hit different banks

constexpr int kUnroll = UNROLL;  // a pragma takes a constant, not a macro

extern "C" __global__ void __launch_bounds__(TILE * TILE)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    __shared__ TA As[TILE][PITCH_A];
    __shared__ TB Bs[TILE][PITCH_B];

    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1;
    const size_t b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;

    // The element of each tile that this thread loads.
    const int a_row = TRANS_A ? tx : ty, a_depth = TRANS_A ? ty : tx;
    const int b_depth = TRANS_B ? tx : ty, b_column = TRANS_B ? ty : tx;
    const int i = row0 + a_row, j = column0 + b_column;

    TACC sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        const int ka = k0 + a_depth, kb = k0 + b_depth;
        As[a_row][a_depth] = i < M && ka < K ? A[i * a_i + ka * a_k] : TA(0);
        Bs[b_depth][b_column] = kb < K && j < N ? B[kb * b_k + j * b_j] : TB(0);
        __syncthreads();
#pragma unroll kUnroll
        for (int k = 0; k < TILE; ++k) {
            sum += TACC(As[ty][k]) * TACC(Bs[k][tx]);
        }
        __syncthreads();  // before the tiles are overwritten
    }

    const int row = row0 + ty, column = column0 + tx;
    if (row >= M || column >= N) return;
    TC* c = C + size_t(row) * N + column;
    *c = TC(beta == 0 ? alpha * sum : alpha * sum + beta * TACC(*c));  // beta 0: C is not read
}
