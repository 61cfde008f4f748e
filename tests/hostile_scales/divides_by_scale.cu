/*---
summary: divides by the scale of B
order: 11
symbol: gemm
precisions: [e4m3_tensor]
layouts: [nt]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
---*/

// A scale may also be what a tensor was multiplied with.

extern "C" __global__ void gemm(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C,
                                const float* scale_a, const float* scale_b) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += float(A[size_t(row) * K + k]) * float(B[size_t(column) * K + k]);
    sum *= *scale_a / *scale_b;
    TC* c = C + size_t(row) * N + column;
    *c = TC(beta == 0 ? alpha * sum : alpha * sum + beta * float(*c));
}
