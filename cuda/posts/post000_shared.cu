/*---
summary: the shared-memory kernel of post 000 as the post has it, matrices as structures by value
order: 101
symbol: matmul_shared
args:
  - {height: M, width: K, elements: A}
  - {height: K, width: N, elements: B}
  - {height: M, width: N, elements: C}
precisions: [f32]
layouts: [nn]
params:
  TILE: [16]
require:
  - M % TILE == 0               # its guards use the row and column within the tile,
  - N % TILE == 0               # so it would read past A and B
  - max(M * K, K * N, M * N) <= 2147483647   # its indices are of type int
tile: [TILE, TILE]
grid:
  - cdiv(N, TILE)
  - cdiv(M, TILE)
block:
  - TILE
  - TILE
accesses:
  - load_sectors <= 4
  - store_sectors <= 4
  - conflicts == 0
source: https://github.com/kHarshit/cuda-programming
---*/

// The second kernel of "Matrix Multiplication in CUDA" with the parameters, loops, guards, barriers
// and accesses that the post prints, and nothing else. tiled_plain is the corrected kernel.

struct Matrix {
    int height;
    int width;
    float* elements;
};

__global__ void matmul_shared(Matrix A, Matrix B, Matrix C) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int row_in_c = blockIdx.y * blockDim.y + threadIdx.y;
    int col_in_c = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    int row = threadIdx.y;
    int col = threadIdx.x;
    for (int t = 0; t < (A.width + TILE - 1) / TILE; ++t) {
        if (row < A.height && (t * TILE + col) < A.width) {
            As[row][col] = A.elements[row_in_c * A.width + t * TILE + col];
        } else {
            As[row][col] = 0.0f;
        }
        if (col < B.width && (t * TILE + row) < B.height) {
            Bs[row][col] = B.elements[(t * TILE + row) * B.width + col_in_c];
        } else {
            Bs[row][col] = 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += As[row][k] * Bs[k][col];
        __syncthreads();
    }
    if (row_in_c < C.height && col_in_c < C.width) C.elements[row_in_c * C.width + col_in_c] = sum;
}
