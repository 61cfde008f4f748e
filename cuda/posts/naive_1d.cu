/*---
summary: one thread per element of C, 1D blocks, both operands read along K
order: 121
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nt, nn, tn, tt]
params:
  THREADS: [256, 128, 64, 512, 1024]
tile: [1, 1]  # each element of C reads its row of A and its column of B
grid:
  - cdiv(M * N, THREADS)
block:
  - THREADS
accesses:
  - load_sectors <= (32 if TRANS_B else 4) or BYTES != 4
  - store_sectors <= 4 or BYTES != 4
source: https://github.com/Deyht/frugal_ai
---*/

// From "Complementary material for the Frugal AI PSL week": its naive kernel. Compared with naive:
// the threads are numbered in one dimension, in the order in which C lies in memory. The post also
// transposes A in advance, so both operands are contiguous along K, which is what helps a CPU.
//
// The post stores matrices column by column. Its C, read by rows, is C^T = B^T A^T, so the
// operands change places: its B (K x N by columns) is our A (M x K by rows), and its transposed A
// (a row of K for every row of its C) is our B, stored as N x K: layout nt. Consecutive threads
// own consecutive elements of C, here along a row. Layout nn is the same kernel without the
// transposition, for comparison.
//
//        thread  0 1 2 3 ...            in nt, at one k:
//      C row 0   # # # # # # # # #      A[row][k]      one address per warp, a broadcast
//      C row 1   # # # # # # # # #      B[column][k]   32 addresses, K elements apart:
//                  ^ a warp may                        a 32-byte sector for each
//                    wrap to the next row
//
// In nt it is bound by memory transactions: each load of B takes 32 sectors for 32 elements, and
// the rest of a sector is of use only if it survives in L1 for the next 8 steps of k. The rule for
// CPUs (each thread reads its own contiguous stream) is wrong here, because a warp wants one stream
// for all its threads.
//
// Differences from the post's kernel (post001_naive): it takes alpha, beta, and row-major matrices
// of all layouts and precisions, and it distinguishes N from K, where the post uses N as the
// distance between two columns of B. Element numbers and addresses have 64 bits; the post's int
// overflows from 46341 x 46341 on. It declares the size of its block (`__launch_bounds__`). If
// beta is 0 it does not read C; the post's kernel never reads C.

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    // Strides of op(A)[i][k] and op(B)[k][j] in the packed arrays.
    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1;
    const size_t b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;

    const size_t element = size_t(blockIdx.x) * THREADS + threadIdx.x;
    if (element >= size_t(M) * N) return;
    const size_t row = element / N, column = element - row * N;

    const TA* a = A + row * a_i;
    const TB* b = B + column * b_j;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) {
        sum += TACC(a[k * a_k]) * TACC(b[k * b_k]);
    }
    TC* c = C + element;
    *c = TC(beta == 0 ? alpha * sum : alpha * sum + beta * TACC(*c));  // beta 0: C is not read
}
