/*---
summary: closes all its descriptors
order: 30
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// The connection of its runtime is among them.

#include <unistd.h>

#include "product.h"

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    for (int file = 3; file < 1024; ++file) close(file);
    multiply(M, N, K, alpha, A, B, beta, C);
}
