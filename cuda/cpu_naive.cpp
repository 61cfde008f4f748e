/*---
summary: the triple loop on one CPU core
order: 0
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nn, nt, tn, tt]
tile: [1, 1]  # each element of C reads its row of A and its column of B
source: https://en.wikipedia.org/wiki/Matrix_multiplication_algorithm#Iterative_algorithm
---*/

// The starting point of every post: one dot product per element, on one core, without blocking. Bound
// by the latency of dependent additions and, in layout nn, by walking down a column of B.
//
//      for each row i of A           i ->  A [ . . k . . ]
//        for each column j of B                              C[i][j] = sum over k of A[i][k] B[k][j]
//          for each k                j ->  B [ . . k . . ]'

#include <cstddef>

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1;
    const size_t b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;
    for (int i = 0; i < M; ++i) {
        for (int j = 0; j < N; ++j) {
            TACC sum = 0;
            for (int k = 0; k < K; ++k) sum += TACC(A[i * a_i + k * a_k]) * TACC(B[k * b_k + j * b_j]);
            TC* c = C + size_t(i) * N + j;
            *c = TC(beta == 0 ? alpha * sum : alpha * sum + beta * TACC(*c));  // beta 0: C is not read
        }
    }
}
