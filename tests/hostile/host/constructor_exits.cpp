/*---
summary: a static constructor exits
order: 3
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// The kernel is right, but its process ends, without an error, before the first command.

#include <cstdlib>

#include "product.h"

static struct Exit {
    Exit() { exit(0); }
} at_once;

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    multiply(M, N, K, alpha, A, B, beta, C);
}
