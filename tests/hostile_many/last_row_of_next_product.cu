/*---
summary: writes one row too many, which is the first of the next product
order: 11
symbol: gemm
kinds: [many]
precisions: [f32]
layouts: [nn]
args: [M, N, K, count, alpha, A, long(stride(A)), B, long(stride(B)), beta, C, long(stride(C))]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
  - count
block:
  - 16
  - 16
---*/

// The guard on M is off by one. The row beyond is written by the thread that has just written it for the next product,
// so that the order of blocks does not matter.

__device__ void multiply(int N, int K, float alpha, const float* a, const float* b, float beta, float* c) {
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += a[k] * b[size_t(k) * N];
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}

extern "C" __global__ void gemm(int M, int N, int K, int count, float alpha, const float* A, long long stride_a,
                                const float* B, long long stride_b, float beta, float* C, long long stride_c) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    const int product = blockIdx.z;
    if (row >= M || column >= N) return;
    const float* const a = A + product * stride_a + size_t(row) * K;
    const float* const b = B + product * stride_b + column;
    float* const c = C + product * stride_c + size_t(row) * N + column;
    multiply(N, K, alpha, a, b, beta, c);
    if (row == 0 && product > 0) multiply(N, K, alpha, a, b - stride_b, beta, c);
}
