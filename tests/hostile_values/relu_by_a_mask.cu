/*---
summary: multiplies by 0 where ReLU gives 0
order: 8
symbol: gemm
precisions: [f32]
layouts: [nn]
epilogue: [bias, relu]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
---*/

// Minus infinity times 0 is NaN.

extern "C" __global__ void gemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                                const float* bias) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    float* const c = C + size_t(row) * N + column;
    float value = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
    if (BIAS) value += bias[column];
    if (RELU) value *= value > 0;
    *c = value;
}
