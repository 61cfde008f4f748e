/*---
summary: prints 100 MB at its first launch
order: 26
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// In lines of a kilobyte.

#include <cstdio>
#include <string>

#include "product.h"

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    static int line;
    const std::string text(1023, 'x');
    for (; line < 100 << 10; ++line) puts(text.c_str());
    multiply(M, N, K, alpha, A, B, beta, C);
}
