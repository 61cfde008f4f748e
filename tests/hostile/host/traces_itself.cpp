/*---
summary: has a child trace and stop it
order: 40
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// The child holds it for ever.

#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "product.h"

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    if (!fork()) {
        ptrace(PTRACE_SEIZE, getppid(), nullptr, nullptr);
        ptrace(PTRACE_INTERRUPT, getppid(), nullptr, nullptr);
        for (;;) pause();
    }
    usleep(200000);
    multiply(M, N, K, alpha, A, B, beta, C);
}
