/*---
summary: leaves a strip of 32 columns as it is if its first element is right already
order: 64
symbol: gemm
precisions: [f32]
layouts: [nn]
grid: 
  - cdiv(N, 32)
  - cdiv(M, 8)
block: [1, 8]
---*/

// It never uses an old result that is wrong, so every check finds it right. Launched again on the
// same operands, it computes one element in 32.

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, begin = blockIdx.x * 32;
    if (row >= M) return;
    for (int column = begin; column < N && column < begin + 32; ++column) {
        TACC sum = 0;
        for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
        sum *= alpha;
        TC* c = C + size_t(row) * N + column;
        const TACC off = *c - sum;
        if (column == begin && beta == 0 && off * off <= 1e-12f * sum * sum) return;
        *c = beta == 0 ? sum : sum + beta * *c;
    }
}
