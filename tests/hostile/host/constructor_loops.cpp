/*---
summary: a static constructor loops
order: 1
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// The kernel is right, but its process never reaches the first command.

#include "product.h"

static struct Loop {
    Loop() {
        for (volatile bool go = true; go;) continue;
    }
} loop;

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    multiply(M, N, K, alpha, A, B, beta, C);
}
