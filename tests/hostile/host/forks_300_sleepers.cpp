/*---
summary: starts 300 processes that sleep
order: 42
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// They would sleep on after the run.

#include <unistd.h>

#include "product.h"

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    static int count;
    for (; count < 300; ++count) {
        if (fork()) continue;
        sleep(120);
        _exit(0);
    }
    multiply(M, N, K, alpha, A, B, beta, C);
}
