/*---
summary: takes a scale for each column
order: 10
symbol: gemm
precisions: [f32]
layouts: [nn]
epilogue: [scale]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
---*/

// There is only scale[0].

extern "C" __global__ void gemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                                const float* scale) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    float* const c = C + size_t(row) * N + column;
    float value = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
    *c = value * scale[column];
}
