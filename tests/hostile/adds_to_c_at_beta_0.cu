/*---
summary: adds to C even when beta is 0
order: 18
symbol: gemm
precisions: [f32]
layouts: [nn]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
---*/

// Relies on C being filled with zeros.

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? *c + alpha * sum : alpha * sum + beta * *c;
}
