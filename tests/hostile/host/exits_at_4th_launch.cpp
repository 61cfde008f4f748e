/*---
summary: exits at its fourth launch
order: 27
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// Without an error.

#include <cstdlib>

#include "product.h"

static int launches;

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    if (++launches == 4) exit(0);
    multiply(M, N, K, alpha, A, B, beta, C);
}
