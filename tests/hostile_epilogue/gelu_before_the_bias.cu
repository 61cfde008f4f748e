/*---
summary: applies GELU to the product alone
order: 6
symbol: gemm
precisions: [f32]
layouts: [nn]
epilogue: [bias, gelu]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
---*/

// The order of the steps is wrong.

__device__ float gelu(float x) { return 0.5f * x * (1 + erff(x * 0.70710678f)); }
extern "C" __global__ void gemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                                const float* bias) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    float* const c = C + size_t(row) * N + column;
    float value = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
    value = gelu(value);
    value += bias[column];
    *c = value;
}
