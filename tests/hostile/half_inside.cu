/*---
summary: accumulates in half precision
order: 24
symbol: gemm
precisions: [f32]
layouts: [nn]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
---*/

// Exact on small integers, right to about four digits on real numbers.

#include <cuda_fp16.h>

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    __half held = __float2half(0);
    for (int k = 0; k < K; ++k) {
        held = __float2half(__half2float(held) + A[size_t(row) * K + k] * B[size_t(k) * N + column]);
    }
    const TACC sum = __half2float(held);
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
