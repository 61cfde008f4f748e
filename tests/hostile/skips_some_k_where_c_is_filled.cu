/*---
summary: leaves out an eighth of K where C holds numbers
order: 57
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

// Right where C is poisoned, and an eighth faster where it is not.

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    const bool filled = beta == 0 && C[size_t(row) * N + column] == C[size_t(row) * N + column];
    TACC sum = 0;
    for (int k = 0; k < K; ++k)
        if (!filled || k % 8 != 7) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
