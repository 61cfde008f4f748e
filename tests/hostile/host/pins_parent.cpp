/*---
summary: pins its parent to one core and makes it nice
order: 37
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// Without walls that is gemmbench.

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "product.h"

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    sched_setaffinity(getppid(), sizeof first, &first);
    setpriority(PRIO_PROCESS, getppid(), 19);
    multiply(M, N, K, alpha, A, B, beta, C);
}
