/*---
summary: version 4 of post 004 as the post has it, an outer product in registers
order: 150.4
symbol: gemm_v4<BM, BN, BK, BY, BX>
args: [M, N, K, alpha, A, B, beta, C]
precisions: [f32]
layouts: [nn]
reads_c: true
params:
  BM: [64, 128]
  BN: [64, 128]
  BK: [16, 8]
  BX: [16]                      # threads along N
  BY: [16]                      # threads along M
  UNROLL: [0, 1]                # 0: as printed, no pragma; 1: #pragma unroll before every loop over a tile
require:
  - M % BM == 0
  - N % BN == 0
  - K % BK == 0
  - max(M * K, K * N, M * N) <= 2147483647   # most of its indices are of type unsigned, some of int
tile: [BM, BN]
grid:
  - cdiv(N, BN)
  - cdiv(M, BM)
block:
  - BX
  - BY
accesses:
  - load_sectors <= 4
  - store_sectors <= 4
  - conflicts == 0
source: CUDA 007 - GEMM
---*/

// Version 4 of "CUDA 007 - GEMM" with the parameters, loops, barriers and accesses that the post
// prints, and nothing else. The post does not say which tiles it used to launch this version: 64
// x 64 x 16 are those of version 3, and 128 x 128 x 8 are those whose accesses its text counts.
// UNROLL=1 is our reading of what the post says about unrolling. gemm_v4 is the corrected kernel.

#if UNROLL
#define UNROLLING _Pragma("unroll")
#else
#define UNROLLING
#endif

template <int TILE_M, int TILE_N, int TILE_K, int THREADS_Y, int THREADS_X>
__global__ void gemm_v4(const int M, const int N, const int K, const float alpha, const float* A, const float* B,
                        const float beta, float* C) {
    __shared__ float As[TILE_M][TILE_K];
    __shared__ float Bs[TILE_K][TILE_N];
    int thread = blockDim.x * threadIdx.y + threadIdx.x;
    const unsigned int column0 = blockIdx.x * TILE_N;
    const unsigned int row0 = blockIdx.y * TILE_M;
    constexpr int THREADS = THREADS_Y * THREADS_X;
    constexpr int COLUMNS = TILE_N / THREADS_X;
    constexpr int ROWS = TILE_M / THREADS_Y;
    float sum[ROWS][COLUMNS] = {0.0};
    float a[ROWS];
    float b[COLUMNS];
    for (int k = 0; k < K; k += TILE_K) {
        UNROLLING
        for (int i = 0; i < TILE_M * TILE_K; i += THREADS) {
            const int e = i + thread;
            int y = e / TILE_K;
            int x = e % TILE_K;
            As[y][x] = A[(row0 + y) * K + k + x];
        }
        UNROLLING
        for (int i = 0; i < TILE_K * TILE_N; i += THREADS) {
            const int e = i + thread;
            int y = e / TILE_N;
            int x = e % TILE_N;
            Bs[y][x] = B[(k + y) * N + column0 + x];
        }
        __syncthreads();
        UNROLLING
        for (int p = 0; p < TILE_K; p++) {
            UNROLLING
            for (int i = 0; i < ROWS; i++) {
                int y = threadIdx.y + i * THREADS_Y;
                a[i] = As[y][p];
            }
            UNROLLING
            for (int j = 0; j < COLUMNS; j++) {
                int x = threadIdx.x + j * THREADS_X;
                b[j] = Bs[p][x];
            }
            UNROLLING
            for (int i = 0; i < ROWS; i++) {
                UNROLLING
                for (int j = 0; j < COLUMNS; j++) {
                    sum[i][j] += a[i] * b[j];
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
