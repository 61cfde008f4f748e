/*---
summary: one thread per element of C in blocks of 16 x 16, the naive kernel of the posts
order: 20
symbol: gemm
precisions: [f32, f64, f16, f16_f16, bf16, f16_f32, bf16_f32, e4m3, e4m3_fast, e5m2, e5m2_fast, int8]
layouts: [nn, nt, tn, tt]
params:
  BX: [16, 32, 8, 64]           # threads along N
  BY: [16, 8, 4]                # threads along M
require:
  - BX * BY <= 1024
tile: [1, 1]  # each element of C reads its row of A and its column of B
grid:
  - cdiv(N, BX)
  - cdiv(M, BY)
block:
  - BX
  - BY
accesses:
  - load_sectors <= (min(BX, 32) if TRANS_B else max(32 // BX, min(BX, 32) // 8)) or BYTES != 4
  - store_sectors <= 4 or BYTES != 4
source: https://github.com/kHarshit/cuda-programming
---*/

// The first kernel that most people write: each thread computes one element of C as a dot product of
// K elements from global memory. Neighbouring threads differ in the column (in naive_rows, they
// differ in the row). Three posts begin with it: "Matrix Multiplication in CUDA", "How can CUDA
// optimize matrix multiplication with its transpose?" (layout nt) and "CUDA 007 - GEMM".
//
//              B  K x N                      in layout nt, B is stored N x K:
//              |x|x+1| ... |x+15|
//        A     +-+---+-----+----+             x    --> | k ->          |
//        y --> |.  .   16 columns           x+1  --> | k ->          |   the threads of a row read
//        y+1 ->|.  .   16 columns             ...      | k ->          |   addresses K apart
//              +----------------+
//
// Bound by the load units: two loads for each multiply-add, 2 M N K elements in all, mostly served
// by L1 and L2. In layout nn a warp loads two elements of A (each a broadcast) and 16 neighbouring
// elements of B. In layout nt its 16 elements of B lie in 16 rows, so it takes 16 sectors of 32
// bytes to get 64 bytes.
//
// Differences from the posts' kernels (post000_naive, post002_naive, post004_naive): it takes M,
// N, K, alpha and beta instead of structures or only sizes, supports all layouts and precisions,
// and uses 64-bit addresses; the posts' int overflows from 46341 x 46341 on. Threads outside C
// return at once. If beta is 0 it does not read C, so a NaN there does not survive; post 004's
// kernel reads C.

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    // Strides of op(A)[i][k] and op(B)[k][j] in the packed arrays: in layout nn A[row * K + k] and B[k * N + column].
    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1;
    const size_t b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;

    const int row = blockIdx.y * BY + threadIdx.y;
    const int column = blockIdx.x * BX + threadIdx.x;
    if (row >= M || column >= N) return;

    TACC sum = 0;
    for (int k = 0; k < K; ++k) {
        sum += TACC(A[row * a_i + k * a_k]) * TACC(B[k * b_k + column * b_j]);
    }
    TC* c = C + size_t(row) * N + column;
    *c = TC(beta == TACC(0) ? alpha * sum : alpha * sum + beta * TACC(*c));  // beta 0: C is not read
}
