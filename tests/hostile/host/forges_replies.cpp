/*---
summary: writes a time of its own to every descriptor
order: 4
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// The kernel is right, but wants to be thought a thousand times as fast.

#include <cstddef>
#include <cstdio>

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    for (int fd = 3; fd < 1024; ++fd) dprintf(fd, "seconds 1e-9\n");
    for (int i = 0; i < M; ++i) {
        for (int j = 0; j < N; ++j) {
            TACC sum = 0;
            for (int k = 0; k < K; ++k) sum += A[size_t(i) * K + k] * B[size_t(k) * N + j];
            TC* c = C + size_t(i) * N + j;
            *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
        }
    }
}
