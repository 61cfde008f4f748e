/*---
summary: stops itself
order: 32
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// Nobody continues it.

#include <csignal>

#include "product.h"

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    raise(SIGSTOP);
    multiply(M, N, K, alpha, A, B, beta, C);
}
