/*---
summary: unmaps C at its fourth launch
order: 29
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// It then writes the product to nowhere.

#include <cstdint>
#include <sys/mman.h>

#include "product.h"

static int launches;

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    if (++launches == 4) munmap(reinterpret_cast<void*>(uintptr_t(C) & ~uintptr_t(4095)), sizeof(TC) * M * N);
    multiply(M, N, K, alpha, A, B, beta, C);
}
