/*---
summary: one thread per element, a grid that is too small
order: 25
symbol: gemm
precisions: [f32]
layouts: [nn]
grid:
  - N // 32
  - cdiv(M, 8)
block: [32, 8]
---*/

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B,
                                TACC beta, TC* C) {
    const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (row >= M || column >= N) return;
    const TA* a = A + size_t(row) * K;
    const TB* b = B + column;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) sum += a[k] * b[size_t(k) * N];
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
