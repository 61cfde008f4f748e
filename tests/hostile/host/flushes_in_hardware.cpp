/*---
summary: takes subnormal numbers for zero
order: 20
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// Only `verify` tries them.

#include "product.h"

static void flush_subnormals() {
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#elif defined(__aarch64__)
    __builtin_aarch64_set_fpcr(__builtin_aarch64_get_fpcr() | 1 << 24);
#endif
}

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    flush_subnormals();
    multiply(M, N, K, alpha, A, B, beta, C);
}
