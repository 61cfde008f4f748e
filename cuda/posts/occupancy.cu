/*---
summary: 2D block tile, with the block's shape and the blocks per SM as parameters
order: 113
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nn, nt, tn, tt]
params:
  BX: [16, 8, 32]               # threads along N
  BY: [16, 8]                   # threads along M
  TM: [8, 4]                    # results per thread along M
  TN: [8, 4]                    # and along N
  BK: [8]
  MIN_BLOCKS: [2, 1, 3, 4, 6, 8]  # blocks that the compiler leaves room for on an SM
require:
  - BX * BY * MIN_BLOCKS <= 1536              # threads per SM; Turing ignores more than 1024
  - (BY * TM + BX * TN + 8) * BK * BYTES <= 49152
tile: [BY * TM, BX * TN]
grid:
  - cdiv(N, BX * TN)
  - cdiv(M, BY * TM)
block:
  - BX
  - BY
accesses:
  - load_sectors <= 4 or BYTES != 4
  - store_sectors <= 4 or BYTES != 4
  - conflicts == 0 or BYTES != 4
source: https://github.com/kHarshit/cuda-programming
---*/

// Our reconstruction of a step that "Matrix Multiplication in CUDA" mentions without showing code:
// only the occupancy changes. Compared with blocktile_2d: the tile follows from the block (BM = BY
// TM, BN = BX TN), and __launch_bounds__ tells the compiler how many blocks should share an SM,
// which limits the registers per thread.
//
//      65536 registers per SM           MIN_BLOCKS   most registers   warps of 64
//      / (256 threads x MIN_BLOCKS)          1             255             -
//                                            2             128            16
//                                            3              80            24
//                                            4              64            32: 64 are the sums
//
// More warps hide more latency. But fewer registers mean either smaller thread tiles, which load
// more from shared memory per multiply-add, or spills to local memory. So the best occupancy is
// rarely the highest: 16 warps with 8 x 8 results each in flight need less hiding than 64 warps
// with one. `gemmbench inspect` shows registers, spills, the theoretical occupancy and what limits
// it; a sweep over BX, BY and MIN_BLOCKS shows whether it matters.
//
// Bound like blocktile_2d: by shared-memory issue, and by latency at the barriers.
//
// The post mentions this step but shows no code for it. Its block is always 16 x 16, but its kernels do not
// declare that, so nothing tells the compiler how many blocks should share an SM.

#define THREADS (BX * BY)
#define BM (BY * TM)
#define BN (BX * TN)
#define PITCH_A (BM + (TRANS_A ? 0 : 32 / BK))  // As is stored transposed, BK x BM. Padded where a
#define PITCH_B (BN + (TRANS_B ? 32 / BK : 0))  // tile is transposed: stores hit different banks

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    __shared__ TA As[BK][PITCH_A];
    __shared__ TB Bs[BK][PITCH_B];

    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1;
    const size_t b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;

    TACC sum[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Neighbouring threads load neighbouring addresses in every layout. Zeros outside the matrices.
        for (int e = ty * BX + tx; e < BM * BK; e += THREADS) {
            const int m = TRANS_A ? e % BM : e / BK, k = TRANS_A ? e / BM : e % BK;
            As[k][m] = row0 + m < M && k0 + k < K ? A[(row0 + m) * a_i + (k0 + k) * a_k] : TA(0);
        }
        for (int e = ty * BX + tx; e < BN * BK; e += THREADS) {
            const int n = TRANS_B ? e / BK : e % BN, k = TRANS_B ? e % BK : e / BN;
            Bs[k][n] = k0 + k < K && column0 + n < N ? B[(k0 + k) * b_k + (column0 + n) * b_j] : TB(0);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            TACC a[TM], b[TN];
#pragma unroll
            for (int m = 0; m < TM; ++m) a[m] = TACC(As[k][ty + m * BY]);
#pragma unroll
            for (int n = 0; n < TN; ++n) b[n] = TACC(Bs[k][tx + n * BX]);
#pragma unroll
            for (int m = 0; m < TM; ++m)
#pragma unroll
                for (int n = 0; n < TN; ++n) sum[m][n] += a[m] * b[n];
        }
        __syncthreads();  // before the tiles are overwritten
    }

#pragma unroll
    for (int m = 0; m < TM; ++m) {
#pragma unroll
        for (int n = 0; n < TN; ++n) {
            const int row = row0 + ty + m * BY, column = column0 + tx + n * BX;
            if (row >= M || column >= N) continue;
            TC* c = C + size_t(row) * N + column;
            *c = TC(beta == 0 ? alpha * sum[m][n] : alpha * sum[m][n] + beta * TACC(*c));  // beta 0: C is not read
        }
    }
}
