/*---
summary: the naive kernel of post 001 as the post has it, A transposed in advance
order: 120
symbol: matmul_naive
storage: column
args: [A, B, C, M, N, K, size_t(M * N)]
precisions: [f32]
layouts: [tn]
params:
  THREADS: [256]
require:
  - N == K                      # it uses N as the distance between two columns of B, which is K
  - max(M * K, M * N) <= 2147483647          # its indices are of type int
tile: [1, 1]
grid:
  - cdiv(M * N, THREADS)
block:
  - THREADS
accesses:
  - load_sectors <= 32
  - store_sectors <= 4
source: https://github.com/Deyht/frugal_ai
---*/

// The naive kernel of "Complementary material for the Frugal AI PSL week" with the parameters, the
// loop and the accesses that the post prints, and nothing else. Matrices are column-major, and the
// post transposes A on the host: its A_T is A in layout tn. naive_1d is the corrected kernel.

__global__ void matmul_naive(float* A_T, float* B, float* C, int M, int N, int K, size_t elements) {
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= elements) return;
    int col = id / M;
    int row = id % M;
    float sum = 0.0;
    for (int k = 0; k < K; k++) sum += A_T[row * K + k] * B[col * N + k];
    C[id] = sum;
}
