/*---
summary: the naive kernel of post 002 as the post has it, C = A B^T
order: 130
symbol: matmul_naive
args: [A, B, C, M, N, K]
precisions: [f32]
layouts: [nt]
params:
  BLOCK: [16, 32]
require:
  - max(M * K, K * N, M * N) <= 2147483647   # its indices are of type int
tile: [1, 1]
grid:
  - cdiv(N, BLOCK)
  - cdiv(M, BLOCK)
block:
  - BLOCK
  - BLOCK
accesses:
  - load_sectors <= 16 or BLOCK != 16
  - store_sectors <= 4
source: "How can CUDA optimize matrix multiplication with its transpose?, 2025-01-30"
---*/

// The first kernel of "How can CUDA optimize matrix multiplication with its transpose?" with the
// parameters, the loop and the accesses that the post prints, and nothing else. The post does not
// say how large its blocks are. naive is the same kernel with all layouts and precisions.

__global__ void matmul_naive(float* A, float* B, float* C, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int i = 0; i < k; ++i) sum += A[row * k + i] * B[col * k + i];
        C[row * n + col] = sum;
    }
}
