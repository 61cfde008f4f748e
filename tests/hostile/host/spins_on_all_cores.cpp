/*---
summary: leaves a spinning process on each core
order: 35
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// They take time from the rows next to it until its own process ends.

#include <sched.h>
#include <unistd.h>

#include "product.h"

static void spin() {
    cpu_set_t all;
    CPU_ZERO(&all);
    const int cores = sysconf(_SC_NPROCESSORS_ONLN);
    for (int core = 0; core < cores; ++core) CPU_SET(core, &all);
    for (int core = 0; core < cores; ++core) {
        if (fork()) continue;
        sched_setaffinity(0, sizeof all, &all);
        for (volatile bool go = true; go;) continue;
    }
}

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    static bool spinning;
    if (!spinning) spin();
    spinning = true;
    multiply(M, N, K, alpha, A, B, beta, C);
}
