/*---
summary: touches 3 GB of memory at its first launch
order: 24
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// More than a kernel may have.

#include <cstdlib>
#include <cstring>

#include "product.h"

static char* taken;

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    if (!taken) {
        taken = static_cast<char*>(malloc(3ull << 30));
        for (size_t at = 0; at < 3ull << 30; at += 4096) taken[at] = 1;
    }
    multiply(M, N, K, alpha, A, B, beta, C);
}
