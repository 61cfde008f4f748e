/*---
summary: one thread per element of C, a warp runs down a column
order: 10
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nn, nt, tn, tt]
params:
  BX: [16, 32, 8]               # threads along M
  BY: [16, 8, 32]               # threads along N
require:
  - BX * BY <= 1024
tile: [1, 1]  # each element of C reads its row of A and its column of B
grid:
  - cdiv(M, BX)
  - cdiv(N, BY)
block:
  - BX
  - BY
accesses:
  - load_sectors <= (max(32 // BX, BX // 8) if TRANS_A else BX) or BYTES != 4
  - store_sectors <= BX or BYTES != 4
source: https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#coalesced-access-to-global-memory
---*/

// The naive kernel with x and y exchanged: thread (x, y) computes C[x][y], so neighbouring threads
// differ in the row. It reads the same elements and computes the same result, but in layout nn it
// takes about five times as long as naive. This is the rung below naive, and the lesson on
// coalescing.
//
// Bound by memory transactions: in layout nn, each load of A and each store of C touches one
// 32-byte sector for every row that the warp covers.
//
//            B  K x N                    a warp covers BX consecutive rows
//            | y |
//      A     +---+---------+
//      x --> |   . C[x][y] |            x = blockIdx.x * BX + threadIdx.x   (row)
//      x+1 ->|   .         |            y = blockIdx.y * BY + threadIdx.y   (column)
//      x+2 ->|   .         |
//            +-------------+

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    // Strides of op(A)[i][k] and op(B)[k][j] in the packed arrays.
    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1;
    const size_t b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;

    const int row = blockIdx.x * BX + threadIdx.x;
    const int column = blockIdx.y * BY + threadIdx.y;
    if (row >= M || column >= N) return;

    TACC sum = 0;
    for (int k = 0; k < K; ++k) {
        sum += TACC(A[row * a_i + k * a_k]) * TACC(B[k * b_k + column * b_j]);
    }
    TC* c = C + size_t(row) * N + column;
    *c = TC(beta == TACC(0) ? alpha * sum : alpha * sum + beta * TACC(*c));  // beta 0: C is not read
}
