/*---
summary: takes the rows of A and B as packed
order: 1
symbol: gemm
precisions: [f32]
layouts: [nn]
kinds: [one, padded]
args: [M, N, K, alpha, A, lda, B, ldb, beta, C, ldc]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
---*/

// Both factors are read as if no element followed their rows.

extern "C" __global__ void gemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb,
                                float beta, float* C, int ldc) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    float* const c = C + size_t(row) * ldc + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
