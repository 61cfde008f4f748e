/*---
summary: approximates tanh by multiples of 1/256, and declares less error
order: 14
symbol: gemm
precisions: [f32]
layouts: [nn]
epilogue: [bias, gelu_tanh]
approx: 2^-14
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
---*/

// The factor (1 + tanh) / 2 is off by up to 2^-10.

extern "C" __global__ void gemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                                const float* bias) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    float* const c = C + size_t(row) * N + column;
    float value = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
    value += bias[column];
    const float tanh = tanhf(0.79788456f * (value + 0.044715f * value * value * value));
    *c = 0.5f * value * (1 + rintf(256 * tanh) / 256);
}
