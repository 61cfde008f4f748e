/*---
summary: version 2 of post 004 as the post has it, several results per thread
order: 150.2
symbol: gemm_v2<TILE, BY, BX>
args: [M, N, K, alpha, A, B, beta, C]
precisions: [f32]
layouts: [nn]
reads_c: true
params:
  TILE: [64]
  BX: [16]                      # threads along N
  BY: [16]                      # threads along M
  UNROLL: [0, 1]                # 0: as printed, no pragma; 1: #pragma unroll before every loop over a tile
require:
  - M % TILE == 0
  - N % TILE == 0
  - K % TILE == 0
  - max(M * K, K * N, M * N) <= 2147483647   # its indices are of type int
tile: [TILE, TILE]
grid:
  - cdiv(N, TILE)
  - cdiv(M, TILE)
block:
  - BX
  - BY
accesses:
  - load_sectors <= 4
  - store_sectors <= 4
  - conflicts == 0
source: CUDA 007 - GEMM
---*/

// Version 2 of "CUDA 007 - GEMM" with the parameters, loops, barriers and accesses that the post
// prints, and nothing else. The post prints this kernel without a pragma but says that it unrolls
// loops; UNROLL=1 is our reading of that. gemm_v2 is the corrected kernel.

#if UNROLL
#define UNROLLING _Pragma("unroll")
#else
#define UNROLLING
#endif

template <int EDGE, int THREADS_Y, int THREADS_X>
__global__ void gemm_v2(const int M, const int N, const int K, const float alpha, const float* A, const float* B,
                        const float beta, float* C) {
    __shared__ float As[EDGE][EDGE + 1];
    __shared__ float Bs[EDGE][EDGE];
    int thread = blockDim.x * threadIdx.y + threadIdx.x;
    int column0 = blockIdx.x * EDGE;
    int row0 = blockIdx.y * EDGE;
    constexpr int THREADS = THREADS_Y * THREADS_X;
    constexpr int COLUMNS = EDGE / THREADS_X;
    constexpr int ROWS = EDGE / THREADS_Y;
    float sum[ROWS][COLUMNS] = {0.0};
    for (int k = 0; k < K; k += EDGE) {
        UNROLLING
        for (int i = 0; i < EDGE * EDGE; i += THREADS) {
            int y = (i + thread) / EDGE;
            int x = (i + thread) % EDGE;
            As[y][x] = A[(row0 + y) * K + k + x];
            Bs[y][x] = B[(k + y) * N + column0 + x];
        }
        __syncthreads();
        UNROLLING
        for (int i = 0; i < ROWS; i++) {
            UNROLLING
            for (int j = 0; j < COLUMNS; j++) {
                int y = threadIdx.y + i * THREADS_Y;
                int x = threadIdx.x + j * THREADS_X;
                UNROLLING
                for (int p = 0; p < EDGE; p++) {
                    sum[i][j] += As[y][p] * Bs[p][x];
                }
            }
        }
        __syncthreads();
    }
    UNROLLING
    for (int i = 0; i < ROWS; i++) {
        UNROLLING
        for (int j = 0; j < COLUMNS; j++) {
            int y = threadIdx.y + i * THREADS_Y;
            int x = threadIdx.x + j * THREADS_X;
            y = row0 + y;
            x = column0 + x;
            C[y * N + x] = alpha * sum[i][j] + beta * C[y * N + x];
        }
    }
}
