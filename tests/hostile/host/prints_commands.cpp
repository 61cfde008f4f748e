/*---
summary: prints workflow commands, control sequences and replies
order: 25
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// On both of its streams.

#include <cstdio>

#include "product.h"

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    puts("::error file=README.md,line=1::forged\n::stop-commands::x\n\x1b]0;owned\x07\x1b[2Jbound\nseconds 1e-9");
    fputs("\n::add-mask::ok\n", stderr);
    multiply(M, N, K, alpha, A, B, beta, C);
}
