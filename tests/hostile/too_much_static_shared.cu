/*---
summary: declares more static shared memory than a block may have
order: 4
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

// 256 KiB: ptxas refuses more than 48 KiB, and no GPU has this much.

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    __shared__ TA tile[65536];
    const int mine = threadIdx.y * blockDim.x + threadIdx.x;
    tile[mine * 256] = A[size_t(row) * K];
    TACC sum = tile[mine * 256] * B[column];
    for (int k = 1; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
