/*---
summary: a static constructor aborts
order: 2
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// The kernel is right, but its process dies before the first command.

#include <cstdlib>

#include "product.h"

static struct Abort {
    Abort() { abort(); }
} at_once;

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    multiply(M, N, K, alpha, A, B, beta, C);
}
