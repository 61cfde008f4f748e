/*---
summary: opens its own text for writing
order: 44
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// It exits if it can. Any file of its user would do, such as that of the results.

#include <fcntl.h>
#include <unistd.h>

#include "product.h"

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    if (open(__FILE__, O_WRONLY | O_APPEND) >= 0) _exit(17);
    multiply(M, N, K, alpha, A, B, beta, C);
}
