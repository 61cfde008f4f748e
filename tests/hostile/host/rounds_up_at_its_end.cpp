/*---
summary: rounds upwards in a static destructor
order: 22
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// Nothing is computed after that.

#include <cfenv>

#include "product.h"

static struct Late {
    ~Late() { fesetround(FE_UPWARD); }
} late;

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    multiply(M, N, K, alpha, A, B, beta, C);
}
