/*---
summary: one thread per element, neighbouring threads along N
order: 25
symbol: gemm
precisions: [f32]
layouts: [nn]
params:
  BX: [32, 64, 128]
  BY: [8, 4]
require:
  - BX * BY <= 1024
grid:
  - cdiv(N, BX)
  - cdiv(M, BY)
block: [BX, BY]
---*/

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B,
                                TACC beta, TC* C) {
    const int row = blockIdx.y * BY + threadIdx.y, column = blockIdx.x * BX + threadIdx.x;
    if (row >= M || column >= N) return;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
