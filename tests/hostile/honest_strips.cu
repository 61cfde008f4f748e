/*---
summary: one thread per strip of 32 columns, which computes all of them
order: 65
symbol: gemm
precisions: [f32]
layouts: [nn]
grid: 
  - cdiv(N, 32)
  - cdiv(M, 8)
block: [1, 8]
---*/

// skips_right_strips without its test.

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, begin = blockIdx.x * 32;
    if (row >= M) return;
    for (int column = begin; column < N && column < begin + 32; ++column) {
        TACC sum = 0;
        for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
        sum *= alpha;
        TC* c = C + size_t(row) * N + column;
        *c = beta == 0 ? sum : sum + beta * *c;
    }
}
