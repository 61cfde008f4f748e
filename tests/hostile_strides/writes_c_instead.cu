/*---
summary: writes the result to C instead of D
order: 1
symbol: gemm
precisions: [f32]
layouts: [nn]
kinds: [one, padded, separate_c]
args: [M, N, K, alpha, A, lda, B, ldb, beta, C, ldc, D]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
---*/

// D stays as it was.

extern "C" __global__ void gemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb,
                                float beta, float* C, int ldc, float* D) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * lda + k] * B[size_t(k) * ldb + column];
    float* const c = C + size_t(row) * ldc + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
