/*---
summary: stops its parent
order: 38
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// Without walls that is gemmbench.

#include <csignal>
#include <unistd.h>

#include "product.h"

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    kill(getppid(), SIGSTOP);
    multiply(M, N, K, alpha, A, B, beta, C);
}
