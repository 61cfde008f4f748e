/*---
summary: the custom SGEMM of post 001 as the post has it, with block, warp and thread tiles
order: 121.5
symbol: custom_sgemm
storage: column
args: ["0", "0", M, N, K, alpha, A, lda, B, ldb, beta, C, ldc]
precisions: [f32]
layouts: [nn]
reads_c: true
params:
  BM: [64]
  BN: [64]
  BK: [4]
  WM: [32]
  WN: [16]
  TM: [4]
  TN: [4]
require:
  - M % BM == 0
  - N % BN == 0
  - K % BK == 0
  - max(M * K, K * N, M * N) <= 2147483647   # its indices are of type int
tile: [BM, BN]
grid:
  - M // BM
  - N // BN
block:
  - BM // TM
  - BN // TN
accesses:
  - load_sectors <= 16
  - store_sectors <= 16
  - conflicts == 0
source: https://github.com/Deyht/frugal_ai
---*/

// The custom SGEMM of "Complementary material for the Frugal AI PSL week" with the parameters, loops,
// pragmas, barriers and accesses that the post prints, and nothing else. Matrices are column-major.
// It does not use the first two parameters and the three leading dimensions. warptile is the
// corrected kernel.

__global__ void custom_sgemm(int transpose_a, int transpose_b, int M, int N, int K, float alpha, float* A, int lda,
                             float* B, int ldb, float beta, float* C, int ldc) {
    int block_row = blockIdx.x;
    int block_col = blockIdx.y;
    float a[TM];
    float b[TN];
    float sum[TN][TM];
    int thread = threadIdx.y * blockDim.x + threadIdx.x;
    int warp = thread / 32;
    int lane = thread % 32;
    int warp_x = warp / (BM / WM);
    int warp_y = warp % (BM / WM);
    int lane_x = lane / (WM / TM);
    int lane_y = lane % (WM / TM);
    float* a_block;
    float* b_block;
    float* c_block;
    __shared__ float As[BK][BM];
    __shared__ float Bs[BN][BK];
    int l, each, x, y;

    c_block = &C[block_col * BN * M + block_row * BM];
#pragma unroll
    for (int n = 0; n < TN; n++)
#pragma unroll
        for (int m = 0; m < TM; m++) sum[n][m] = 0.0f;

    for (int step = 0; step < (K / BK); step++) {
        a_block = &A[step * BK * M + block_row * BM];
        b_block = &B[block_col * BN * K + step * BK];

        each = (BM * BK) / (blockDim.x * blockDim.y);
        for (l = 0; l < each; l++) {
            x = (thread * each + l) / BM;
            y = (thread * each + l) % BM;
            As[x][y] = a_block[x * M + y];
        }
        __syncthreads();

        each = (BN * BK) / (blockDim.x * blockDim.y);
        for (l = 0; l < each; l++) {
            x = (thread * each + l) / BK;
            y = (thread * each + l) % BK;
            Bs[x][y] = b_block[x * K + y];
        }
        __syncthreads();

#pragma unroll
        for (int k = 0; k < BK; k++) {
#pragma unroll
            for (int m = 0; m < TM; m++) a[m] = As[k][warp_y * WM + lane_y * TM + m];
#pragma unroll
            for (int n = 0; n < TN; n++) b[n] = Bs[warp_x * WN + lane_x * TN + n][k];
#pragma unroll
            for (int n = 0; n < TN; n++)
#pragma unroll
                for (int m = 0; m < TM; m++) sum[n][m] += a[m] * b[n];
        }
        __syncthreads();
    }

#pragma unroll
    for (int n = 0; n < TN; n++) {
#pragma unroll
        for (int m = 0; m < TM; m++)
            c_block[(warp_x * WN + lane_x * TN + n) * M + (warp_y * WM + lane_y * TM + m)] =
                alpha * sum[n][m] +
                beta * c_block[(warp_x * WN + lane_x * TN + n) * M + (warp_y * WM + lane_y * TM + m)];
    }
}
