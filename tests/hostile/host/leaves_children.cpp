/*---
summary: leaves a child behind at every launch
order: 5
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// The kernel is right. Its children would sleep on after the run, in process groups of their own.

#include <unistd.h>

#include "product.h"

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    if (!fork()) {
        setpgid(0, 0);
        sleep(120);
        _exit(0);
    }
    multiply(M, N, K, alpha, A, B, beta, C);
}
