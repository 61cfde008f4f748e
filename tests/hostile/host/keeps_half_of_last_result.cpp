/*---
summary: copies half of the last result instead of computing it
order: 19
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// From its sixth launch on; the copy is in a variable of the thread.

#include <algorithm>
#include <vector>

#include "product.h"

static thread_local std::vector<TC> last;
static int launches;

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int half = M / 2;
    const bool kept = ++launches > 5 && beta == 0;
    multiply(kept ? half : M, N, K, alpha, A, B, beta, C);
    TC* lower = C + size_t(half) * N;
    if (kept) std::copy(last.begin(), last.end(), lower);
    else last.assign(lower, C + size_t(M) * N);
}
