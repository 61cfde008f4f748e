/*---
summary: the shared-memory kernels of post 002 as the post has them, C = A B^T, with and without its pragma
order: 130.5
symbol: matmul_shared
args: [A, B, C, M, N, K]
precisions: [f32]
layouts: [nt]
params:
  TILE: [32, 16]
  UNROLL: [0, 1]                # 1: the post's third kernel, with #pragma unroll; 0: its second
require:
  - K % TILE == 0               # it makes K / TILE steps
  - max(M * K, K * N, M * N) <= 2147483647   # its indices are of type int
tile: [TILE, TILE]
grid:
  - cdiv(N, TILE)
  - cdiv(M, TILE)
block:
  - TILE
  - TILE
accesses:
  - load_sectors <= 32 or TILE != 32
  - store_sectors <= 4
  - conflicts == 0
source: "How can CUDA optimize matrix multiplication with its transpose?, 2025-01-30"
---*/

// The second and third kernel of "How can CUDA optimize matrix multiplication with its transpose?"
// with the parameters, loops, guards, barriers and accesses that the post prints, and nothing else.
// The two differ in one pragma. The post does not say how large its tiles are; it recommends a
// multiple of 32. abt_shared is the corrected kernel.

__global__ void matmul_shared(float* A, float* B, float* C, int m, int n, int k) {
    const int block_row = blockIdx.y;
    const int block_col = blockIdx.x;
    const int y = threadIdx.y;
    const int x = threadIdx.x;
    const int row = block_row * blockDim.y + y;
    const int col = block_col * blockDim.x + x;
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    float sum = 0.0f;
    for (int step = 0; step < k / TILE; ++step) {
        int a_row = row;
        int a_col = step * TILE + x;
        int b_row = step * TILE + y;
        int b_col = col;
        if (a_row < m && a_col < k)
            As[y][x] = A[a_row * k + a_col];
        else
            As[y][x] = 0.0f;
        if (b_row < k && b_col < n)
            Bs[y][x] = B[b_col * k + b_row];
        else
            Bs[y][x] = 0.0f;
        __syncthreads();
#if UNROLL
#pragma unroll
#endif
        for (int p = 0; p < TILE; ++p) {
            sum += As[y][p] * Bs[p][x];
        }
        __syncthreads();
    }
    if (row < m && col < n) C[row * n + col] = sum;
}
