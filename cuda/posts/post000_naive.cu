/*---
summary: the naive kernel of post 000 as the post has it, matrices as structures by value
order: 100
symbol: matmul_naive
args:
  - {height: M, width: K, elements: A}
  - {height: K, width: N, elements: B}
  - {height: M, width: N, elements: C}
precisions: [f32]
layouts: [nn]
params:
  BLOCK: [16]
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
  - load_sectors <= 2
  - store_sectors <= 4
source: https://github.com/kHarshit/cuda-programming
---*/

// The first kernel of "Matrix Multiplication in CUDA" with the parameters, the loop and the accesses
// that the post prints, and nothing else. naive is the same kernel with all layouts and precisions.

struct Matrix {
    int height;
    int width;
    float* elements;
};

__global__ void matmul_naive(Matrix A, Matrix B, Matrix C) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    if (row < A.height && col < B.width) {
        for (int k = 0; k < A.width; ++k) sum += A.elements[row * A.width + k] * B.elements[k * B.width + col];
        C.elements[row * C.width + col] = sum;
    }
}
