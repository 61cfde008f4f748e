/*---
summary: multiplies C by a beta of 0
order: 1
symbol: gemm
precisions: [f32]
layouts: [nn]
kinds: [one, separate_c]
args: [M, N, K, alpha, A, B, beta, C, D]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
---*/

// A C that is not to be read may hold NaN.

extern "C" __global__ void gemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                                float* D) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    const size_t at = size_t(row) * N + column;
    D[at] = alpha * sum + beta * C[at];
}
