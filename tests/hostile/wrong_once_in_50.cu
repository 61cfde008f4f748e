/*---
summary: is wrong in one launch out of fifty
order: 41
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

// Thread 0 counts the launches and corrupts the fiftieth.

static __device__ unsigned launches;

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    TC* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
    if (row == 0 && column == 0 && ++launches % 50 == 0) *c += 1;
}
