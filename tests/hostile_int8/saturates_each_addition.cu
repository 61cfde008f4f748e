/*---
summary: saturates each addition to 16 bits
order: 1
symbol: gemm
precisions: [int8]
layouts: [nn]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
---*/

// What is cut off is not there for the next product.

extern "C" __global__ void gemm(int M, int N, int K, int alpha, const int8_t* A, const int8_t* B, int beta, int* C) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || column >= N) return;
    int sum = 0;
    for (int k = 0; k < K; ++k)
        sum = min(max(sum + A[size_t(row) * K + k] * B[size_t(k) * N + column], -32768), 32767);
    int* const c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
