/*---
summary: 2D block tile, the next tile fetched into registers while this one is computed
order: 114
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nn, nt, tn, tt]
params:
  BM: [128, 64]
  BN: [128, 64]
  BK: [8, 16]
  TM: [8, 4]
  TN: [8, 4]
require:
  - BM * BN / (TM * TN) >= 32
  - BM * BN / (TM * TN) <= 1024
  - BM % (TM * TN) == 0                       # the threads form whole rows of each tile ...
  - BN % (TM * TN) == 0
  - BM * BN / (TM * TN) % BK == 0
  - BK * TM * TN % BM == 0                    # ... and each fetches the same number of elements
  - BK * TM * TN % BN == 0
  - (BM + BN + 8) * BK * BYTES <= 49152           # both tiles fit static shared memory
tile: [BM, BN]
grid:
  - cdiv(N, BN)
  - cdiv(M, BM)
block:
  - BM * BN / (TM * TN)
accesses:
  - load_sectors <= 4 or BYTES != 4
  - store_sectors <= 4 or BYTES != 4
  - conflicts == 0 or BYTES != 4
source: https://github.com/kHarshit/cuda-programming
---*/

// Our reconstruction of a step that "Matrix Multiplication in CUDA" mentions without showing code: the
// first half of prefetching, into registers. Compared with blocktile_2d: a tile travels to shared memory
// in two steps. Its loads from global memory are issued before the multiply-adds of the previous tile and
// arrive in registers while those run; after the barrier they are stored to shared memory.
//
//      tile         0         1                2                3
//      fetch      |--| . . |----. . . . . |----. . . . . |----. . . . .      global -> registers
//      store          |-|              |-|              |-|                  registers -> shared
//      barrier           |            |  |            |  |            |
//      compute            |==========|    |==========|    |==========|       shared -> sums
//
// Bound by the issue of shared-memory loads, scalar as in blocktile_2d, and by the two barriers per
// tile: between them every warp stores and none computes. The latency of global memory is hidden as
// long as the BK TM TN multiply-adds of a tile take longer. The cost is (BM + BN) BK / threads
// registers per thread: 8 by default. Where they lower the occupancy, this costs more than it
// gains.
//
// The post mentions this step but shows no code for it. The bug in the post's shared-memory
// kernel, fixed here: its guards compare positions within the tile with the sizes of the
// matrices, so it reads out of bounds when a size is not a multiple of the tile. Here a guarded
// fetch yields zeros, including past the last tile.

#define THREADS (BM * BN / (TM * TN))
#define RM (BM / TM)
#define RN (BN / TN)
#define PER_A (BM * BK / THREADS)                // elements of a tile that a thread fetches, and
#define PER_B (BN * BK / THREADS)                // how many rows (as stored) lie between them
#define STEP_A (THREADS / (TRANS_A ? BM : BK))
#define STEP_B (THREADS / (TRANS_B ? BK : BN))
#define PITCH_A (BM + (TRANS_A ? 0 : 32 / BK))  // As is kept transposed, BK x BM. Padded where a
#define PITCH_B (BN + (TRANS_B ? 32 / BK : 0))  // tile is transposed: stores hit different banks

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    __shared__ TA As[BK][PITCH_A];
    __shared__ TB Bs[BK][PITCH_B];

    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1;
    const size_t b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;
    const int tx = threadIdx.x % RN, ty = threadIdx.x / RN;

    // The first element in each tile. Neighbouring threads fetch neighbouring elements, in every layout.
    const int am = TRANS_A ? threadIdx.x % BM : threadIdx.x / BK, ak = TRANS_A ? threadIdx.x / BM : threadIdx.x % BK;
    const int bn = TRANS_B ? threadIdx.x / BK : threadIdx.x % BN, bk = TRANS_B ? threadIdx.x % BK : threadIdx.x / BN;
    const TA* a_from = A + (row0 + am) * a_i + ak * a_k;
    const TB* b_from = B + bk * b_k + (column0 + bn) * b_j;
    TA a_next[PER_A];
    TB b_next[PER_B];

    auto fetch = [&](int k0) {  // zeros outside the matrices and past the last tile
#pragma unroll
        for (int l = 0; l < PER_A; ++l) {
            const int i = row0 + am + (TRANS_A ? 0 : l * STEP_A), k = k0 + ak + (TRANS_A ? l * STEP_A : 0);
            a_next[l] = i < M && k < K ? a_from[l * STEP_A * (TRANS_A ? a_k : a_i)] : TA(0);
        }
#pragma unroll
        for (int l = 0; l < PER_B; ++l) {
            const int j = column0 + bn + (TRANS_B ? l * STEP_B : 0), k = k0 + bk + (TRANS_B ? 0 : l * STEP_B);
            b_next[l] = k < K && j < N ? b_from[l * STEP_B * (TRANS_B ? b_j : b_k)] : TB(0);
        }
        a_from += BK * a_k;
        b_from += BK * b_k;
    };
    auto store = [&]() {
#pragma unroll
        for (int l = 0; l < PER_A; ++l)
            As[ak + (TRANS_A ? l * STEP_A : 0)][am + (TRANS_A ? 0 : l * STEP_A)] = a_next[l];
#pragma unroll
        for (int l = 0; l < PER_B; ++l)
            Bs[bk + (TRANS_B ? 0 : l * STEP_B)][bn + (TRANS_B ? l * STEP_B : 0)] = b_next[l];
    };

    TACC sum[TM][TN] = {};
    fetch(0);
    for (int k0 = 0; k0 < K; k0 += BK) {
        store();
        fetch(k0 + BK);  // before the barrier, or nvcc 13 delays most of it until the next
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            TACC a[TM], b[TN];
#pragma unroll
            for (int m = 0; m < TM; ++m) a[m] = TACC(As[k][ty + m * RM]);
#pragma unroll
            for (int n = 0; n < TN; ++n) b[n] = TACC(Bs[k][tx + n * RN]);
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
            const int row = row0 + ty + m * RM, column = column0 + tx + n * RN;
            if (row >= M || column >= N) continue;
            TC* c = C + size_t(row) * N + column;
            *c = TC(beta == 0 ? alpha * sum[m][n] : alpha * sum[m][n] + beta * TACC(*c));  // beta 0: C is not read
        }
    }
}
