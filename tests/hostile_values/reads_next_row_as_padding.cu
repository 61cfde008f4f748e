/*---
summary: pads K with what follows in A, times zeros of B
order: 51
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

// Right for numbers. The next row of A may begin with an infinity.

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    TACC sum = 0;
    for (int k = 0; k < (K + 15) / 16 * 16; ++k) {
        const size_t at = size_t(row) * K + k;
        sum += A[at < size_t(M) * K ? at : 0] * (k < K ? B[size_t(k) * N + column] : 0.0f);
    }
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
