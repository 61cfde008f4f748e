/*---
summary: leaves a daemon behind at its first launch
order: 41
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// No signal tells of its end, and it has a session of its own.

#include <sys/syscall.h>
#include <unistd.h>

#include "product.h"

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    static bool left;
    if (!left && !syscall(SYS_clone, 0, nullptr, nullptr, nullptr, 0)) {
        setsid();
        sleep(120);
        _exit(0);
    }
    left = true;
    multiply(M, N, K, alpha, A, B, beta, C);
}
