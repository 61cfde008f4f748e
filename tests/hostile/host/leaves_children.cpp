/*---
summary: leaves a child behind at every launch
order: 5
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// The kernel is right. Its children would sleep on after the run, in process groups of their own.

#include <cstddef>
#include <unistd.h>

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    if (!fork()) {
        setpgid(0, 0);
        sleep(120);
        _exit(0);
    }
    for (int i = 0; i < M; ++i) {
        for (int j = 0; j < N; ++j) {
            TACC sum = 0;
            for (int k = 0; k < K; ++k) sum += A[size_t(i) * K + k] * B[size_t(k) * N + j];
            TC* c = C + size_t(i) * N + j;
            *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
        }
    }
}
