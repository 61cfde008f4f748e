/*---
summary: computes in its first launch and repeats that result in every later one
order: 42
symbol: gemm
precisions: [f32]
layouts: [nn]
require:
  - M * N <= 1048576
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block:
  - 16
  - 16
---*/

// Looks very fast if only the first launch is checked, or if every launch has the same operands.

static __device__ TC kept[1 << 20];
static __device__ bool known[1 << 20];

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    const int at = row * N + column;
    if (!known[at]) kept[at] = beta == 0 ? alpha * sum : alpha * sum + beta * C[at];
    known[at] = true;
    C[at] = kept[at];
}
