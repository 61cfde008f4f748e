/*---
summary: crashes at each launch and goes on
order: 23
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// It reads from address 0, and leaves the handler of the signal by a jump.

#include <csetjmp>
#include <csignal>

#include "product.h"

static sigjmp_buf before;
static void go_on(int) { siglongjmp(before, 1); }

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    signal(SIGSEGV, go_on);
    static const volatile int* volatile nowhere;
    if (!sigsetjmp(before, 1)) static_cast<void>(*nowhere);
    multiply(M, N, K, alpha, A, B, beta, C);
}
