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

// The guard on M is off by one. Where the next product is computed later, it writes over that row.

extern "C" __global__ void gemm(int M, int N, int K, int count, float alpha, const float* A, long long stride_a,
                                const float* B, long long stride_b, float beta, float* C, long long stride_c) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    const int product = blockIdx.z;
    if (row > M || column >= N) return;
    if (row == M && product + 1 == count) return;
    const float* a = A + product * stride_a + size_t(row) * K;
    const float* b = B + product * stride_b + column;
    float* c = C + product * stride_c + size_t(row) * N + column;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += a[k] * b[size_t(k) * N];
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
