/*---
summary: one thread an element, blocks of THREADS in a line, both operands read along K
order: 121
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nt, nn, tn, tt]
params:
  THREADS: [256, 128, 64, 512, 1024]
grid:
  - cdiv(M * N, THREADS)
block:
  - THREADS
source: https://colab.research.google.com/github/Deyht/frugal_ai/blob/main/GPU_matmul_demo.ipynb
---*/

// From "Complementary material for the Frugal AI PSL week", its naive kernel. Against coalesced:
// the threads are numbered along C as it lies in memory, in one dimension, and the post transposes
// A in advance, so that both operands are contiguous along K, which is what helps a CPU.
//
// The post stores by columns. Its C read by rows is C^T = B^T A^T, so the operands change places:
// its B (K x N by columns) is our A (M x K by rows), its transposed A (a row of K for every row of
// its C) is our B stored N x K: layout nt. Consecutive threads own consecutive elements of C, here
// along a row. Layout nn is the same kernel without the transposition, to see what that costs.
//
//        thread  0 1 2 3 ...            in nt, at one k:
//      C row 0   # # # # # # # # #      A[row][k]      one address a warp, broadcast
//      C row 1   # # # # # # # # #      B[column][k]   32 addresses, K elements apart:
//                  ^ a warp may                        a sector of 32 bytes for each
//                    turn a corner
//
// Bound in nt by memory transactions: each load of B takes 32 sectors for 32 elements, and only L1,
// if a sector survives there for 8 steps of k, saves the rest of it. The rule of the CPU (each
// thread its own contiguous stream) is the wrong one here: a warp wants one stream for all threads.
//
// What the post's version has wrong and this has not: its second index is column * N + k where the
// stored rows are K long, right for N = K alone; its count M * N is an int, which overflows from
// 46341 squared; there is no alpha, beta or K apart from N.

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
