/*---
summary: pads K to a multiple of 16 with a number times 0
order: 50
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

// 0 * infinity is NaN: the padding must be left out, or be 0 on both sides.

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    TACC sum = 0;
    for (int k = 0; k < (K + 15) / 16 * 16; ++k) {
        const int inside = k < K ? k : K - 1;
        sum += (k < K ? 1.0f : 0.0f) * A[size_t(row) * K + inside] * B[size_t(inside) * N + column];
    }
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
