/*---
summary: writes one float more than its workspace has
order: 60
symbol: gemm
precisions: [f32]
layouts: [nn]
workspace: 4 * M * N
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block: [16, 16]
---*/

// Allocations are rounded up, so that in a program of its own it works.

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                void* workspace) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    TACC* const sums = static_cast<TACC*>(workspace);
    const int at = row * N + column;
    sums[at] = 0;
    for (int k = 0; k < K; ++k) sums[at] += A[row * K + k] * B[k * N + column];
    C[at] = beta == 0 ? alpha * sums[at] : alpha * sums[at] + beta * C[at];
    if (at == 0) sums[M * N] = 0;
}
