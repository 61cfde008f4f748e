/*---
summary: writes a time of its own to every descriptor
order: 4
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// The kernel is right, but wants to be thought a thousand times as fast.

#include <cstdio>

#include "product.h"

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    for (int fd = 3; fd < 1024; ++fd) dprintf(fd, "seconds 1e-9\n");
    multiply(M, N, K, alpha, A, B, beta, C);
}
