/*---
summary: version 1 of post 004 as the post has it, a square tile in shared memory
order: 150.1
symbol: gemm_v1<TILE>
args: [M, N, K, alpha, A, B, beta, C]
precisions: [f32]
layouts: [nn]
reads_c: true
params:
  TILE: [16]
require:
  - M % TILE == 0
  - N % TILE == 0
  - K % TILE == 0
  - max(M * K, K * N, M * N) <= 4294967295   # its indices are of type unsigned
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
source: CUDA 007 - GEMM
---*/

// Version 1 of "CUDA 007 - GEMM" with the parameters, loops, barriers and accesses that the post
// prints, and nothing else. tiled_plain is the corrected kernel.

template <int EDGE = 16>
__global__ void gemm_v1(const int M, const int N, const int K, const float alpha, const float* A, const float* B,
                        const float beta, float* C) {
    const unsigned int row = blockIdx.y * blockDim.y + threadIdx.y;
    const unsigned int col = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float As[EDGE][EDGE];
    __shared__ float Bs[EDGE][EDGE];
    __syncthreads();
    float sum = 0.0;
    for (int i = 0; i < K; i += EDGE) {
        As[threadIdx.y][threadIdx.x] = A[row * K + i + threadIdx.x];
        Bs[threadIdx.y][threadIdx.x] = B[(i + threadIdx.y) * N + col];
        __syncthreads();
        for (int k = 0; k < EDGE; k++) {
            sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        }
        __syncthreads();
    }
    C[row * N + col] = alpha * sum + beta * C[row * N + col];
}
