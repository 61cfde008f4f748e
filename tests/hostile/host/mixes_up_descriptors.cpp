/*---
summary: puts its output in the place of all its descriptors
order: 31
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// The runtime replies on its standard output.

#include <unistd.h>

#include "product.h"

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    for (int file = 3; file < 1024; ++file) dup2(1, file);
    multiply(M, N, K, alpha, A, B, beta, C);
}
