/*---
summary: is right up to 128 columns and loses the rest
order: 15
symbol: gemm
precisions: [f32]
layouts: [nn]
grid:
  - max(1, (N - N % 128) / 128)
  - M
block:
  - 128
---*/

// The grid has N / 128 blocks of 128 columns, rounded down, but at least one.

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= N) return;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
