/*---
summary: scales sums before the bias is added
order: 18
symbol: gemm
kinds: [many]
precisions: [f32]
layouts: [nn]
epilogue: [bias, scale]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
  - count
block:
  - 16
  - 16
---*/

// The scale belongs after the bias.

extern "C" __global__ void gemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                                const float* bias, const float* scale) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    const size_t product = blockIdx.z;
    if (row >= M || column >= N) return;
    const float* const a = A + product * M * K + size_t(row) * K;
    const float* const b = B + product * K * N + column;
    float* const c = C + product * M * N + size_t(row) * N + column;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += a[k] * b[size_t(k) * N];
    float value = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
    if (SCALE) value *= *scale;
    if (BIAS) value += bias[product * N + column];
    *c = value;
}
