/*---
summary: jumps into the frame of its first launch
order: 28
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// That launch has returned long ago, so anything may happen to its process.

#include <csetjmp>

#include "product.h"

static jmp_buf first;
static int launches;

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    if (++launches == 1) setjmp(first);
    else if (launches == 4) longjmp(first, 1);
    multiply(M, N, K, alpha, A, B, beta, C);
}
