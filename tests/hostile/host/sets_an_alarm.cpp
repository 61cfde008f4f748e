/*---
summary: sets an alarm that it does not handle
order: 33
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// It goes off after a millisecond.

#include <sys/time.h>

#include "product.h"

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const itimerval soon{{0, 0}, {0, 1000}};
    setitimer(ITIMER_REAL, &soon, nullptr);
    for (volatile bool go = true; go;) continue;
    multiply(M, N, K, alpha, A, B, beta, C);
}
