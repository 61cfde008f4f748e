/*---
summary: the naive kernel of post 004 as the post has it, with alpha and beta
order: 150
symbol: gemm_naive
args: [M, N, K, alpha, A, B, beta, C]
precisions: [f32]
layouts: [nn]
reads_c: true
params:
  BLOCK: [16]
require:
  - max(M * K, K * N, M * N) <= 4294967295   # its indices are of type unsigned
tile: [1, 1]
grid:
  - cdiv(N, BLOCK)
  - cdiv(M, BLOCK)
block:
  - BLOCK
  - BLOCK
accesses:
  - load_sectors <= 4
  - store_sectors <= 4
source: CUDA 007 - GEMM
---*/

// The first kernel of "CUDA 007 - GEMM" with the parameters, the loop and the accesses that the post
// prints, and nothing else. naive is the corrected kernel.

__global__ void gemm_naive(const int M, const int N, const int K, const float alpha, const float* A, const float* B,
                           const float beta, float* C) {
    const unsigned int row = blockIdx.y * blockDim.y + threadIdx.y;
    const unsigned int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float sum = 0.0;
        for (int k = 0; k < K; k++) {
            sum += A[row * K + k] * B[k * N + col];
        }
        C[row * N + col] = alpha * sum + beta * C[row * N + col];
    }
}
