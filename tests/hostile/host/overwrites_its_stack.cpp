/*---
summary: overwrites the stack of its runtime
order: 34
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// All that is above its own frame.

#include <cstdint>

#include "product.h"

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    multiply(M, N, K, alpha, A, B, beta, C);
    volatile char here;
    for (volatile char* at = &here; at < &here + (1 << 16); ++at) *at = 1;
}
