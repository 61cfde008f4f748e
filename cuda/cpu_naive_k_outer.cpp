/*---
summary: the triple loop on one CPU core with k outermost, an outer product per step
order: 1
symbol: gemm
precisions: [f32, f64]
layouts: [nn, nt, tn, tt]
tile: [M, N]  # all of C shares one reading of A and B
source: https://en.wikipedia.org/wiki/Loop_interchange
---*/

// The second of the three loop orders shown at the end of "CUDA 007 - GEMM". Compared with cpu_naive:
// for each k, a column of A times a row of B is added to the whole of C. A and B are read once, K (M +
// N) elements instead of 2 M N K. In exchange C is read and written K times. This pays off only where C
// fits in fast memory, and it is what a tiled kernel does with a tile of C.
//
//                        B [ k-th row:  b0 b1 b2 b3 ]
//                                        |  |  |  |
//      A [ k-th column:  a0 ]  ->        +  +  +  +
//                        a1      ->      +  +  +  +      C += a x b, then the next k
//                        a2      ->      +  +  +  +
//
// Bound by the traffic of C between the core and its caches. In layouts nn and tn the inner loop
// walks along rows of B and C, so the compiler can vectorise it, which it may not do with the sums
// of cpu_naive.
//
// C holds the sums, so its type must be the type of the sums: only f32 and f64.

#include <cstddef>

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1;
    const size_t b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;
    for (size_t e = 0; e < size_t(M) * N; ++e) C[e] = beta == 0 ? 0 : beta * C[e];  // beta 0: C is not read
    for (int k = 0; k < K; ++k) {
        for (int i = 0; i < M; ++i) {
            const TACC a = alpha * A[i * a_i + k * a_k];
            TC* c = C + size_t(i) * N;
            for (int j = 0; j < N; ++j) c[j] += a * B[k * b_k + j * b_j];
        }
    }
}
