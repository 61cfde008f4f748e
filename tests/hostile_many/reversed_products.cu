/*---
summary: stores the products in reverse order
order: 6
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

// The index of a product is counted from the end where C is found.

extern "C" __global__ void gemm(int M, int N, int K, int count, float alpha, const float* A, long long stride_a,
                                const float* B, long long stride_b, float beta, float* C, long long stride_c) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    const int product = blockIdx.z;
    if (row >= M || column >= N) return;
    const float* a = A + product * stride_a + size_t(row) * K;
    const float* b = B + product * stride_b + column;
    float* c = C + (count - 1 - product) * stride_c + size_t(row) * N + column;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += a[k] * b[size_t(k) * N];
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
