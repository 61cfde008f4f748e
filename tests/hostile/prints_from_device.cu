/*---
summary: prints workflow commands and control sequences
order: 76
symbol: gemm
precisions: [f32]
layouts: [nn]
grid: ["cdiv(N, 16)", "cdiv(M, 16)"]
block: [16, 16]
---*/

// Once in each launch.

#include <cstdio>

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    if (row + column == 0) printf("::error file=README.md,line=1::forged\n\x1b]0;owned\x07\x1b[2J\n::add-mask::ok\n");
    TACC sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
