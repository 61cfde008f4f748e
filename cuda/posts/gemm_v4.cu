/*---
summary: tiles of BM x BK and BK x BN for BX x BY threads, an outer product per k in registers
order: 153
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nn, nt, tn, tt]
params:
  BM: [64, 128, 32]
  BN: [64, 128, 32]
  BK: [16, 8, 32]
  BX: [16, 32]                  # threads along N
  BY: [16, 8]                   # threads along M
  UNROLL: [1, 0, -1]            # 1: #pragma unroll; 0: no pragma; -1: #pragma unroll 1, which forbids it
  LOAD_FROM_TID: [0, 1]         # 1: the loops that load a tile start at the thread's index
require:
  - BM % BY == 0
  - BN % BX == 0
  - (BM * (BK + 1) + (BN + 4) * BK) * BYTES <= 49152     # both tiles fit static shared memory
tile: [BM, BN]
grid:
  - cdiv(N, BN)
  - cdiv(M, BM)
block:
  - BX
  - BY
accesses:
  - load_sectors <= 4 or BYTES != 4
  - store_sectors <= 4 or BYTES != 4
  - conflicts == 0 or BYTES != 4
source: CUDA 007 - GEMM
---*/

// From "CUDA 007 - GEMM": version 4. Compared with gemm_v3: k is the outermost of the three loops.
//
//      for each k:   b  = [ b0 b1 b2 b3 ]  <- Bs[k][tx + j BX]     ROWS + COLUMNS shared loads
//               a          |  |  |  |
//             [ a0 ]  ->   +  +  +  +                              for
//             [ a1 ]  ->   +  +  +  +   += a x b, in registers
//             [ a2 ]  ->   +  +  +  +                              ROWS * COLUMNS multiply-adds
//             [ a3 ]  ->   +  +  +  +
//              ^- As[ty + i BY][k]
//
// Bound by shared memory: as written, there is one load for two multiply-adds at 64 x 64 and one
// for four at 128 x 128. It is also bound by the barriers, since the next tile is not being loaded
// while this one is computed. nvcc 13 generates the same instructions for gemm_v3, in another
// order. This version's gain is that the compiler does not have to find them. UNROLL=0 has no
// pragma; the compiler then unrolls the loops by itself. UNROLL=-1 forbids unrolling any loop: a, b
// and the results are then in local memory, with two loads and a store there per multiply-add.
//
// LOAD_FROM_TID=1: the post says that a loop that starts at the thread's index cannot be unrolled,
// because its length is unknown. nvcc 13 unrolls it by 4 at run time: up to three single steps, in
// which each load waits for its store, followed by a loop of four. With 0 it is straight-line code,
// with all loads of both tiles in flight before the first store.
//
// Differences from the post's kernel (post004_v4): it takes all layouts and precisions, computes
// addresses in 64 bits, declares the size of its block (`__launch_bounds__`), and guards every load
// and store; the post's is correct only for multiples of BM, BN and BK. It supports tiles that the
// block does not divide, where the post's kernel writes past the end of As or Bs. If beta is 0 it
// does not read C. The post's kernel does, so a NaN there survives. The row lengths of tiles are
// padded in the other layouts.

#define THREADS (BX * BY)
#define ROWS (BM / BY)     // results per thread
#define COLUMNS (BN / BX)
#define PITCH_A (BK + TRANS_A)                         // padded where a layout transposes the
#define PITCH_B (BN + (TRANS_B ? (31 + BK) / BK : 0))  // tile on its way

// Used before every loop over a tile; the loop over k0 has no pragma.
#if UNROLL > 0
#define UNROLLING _Pragma("unroll")
#elif UNROLL < 0
#define UNROLLING _Pragma("unroll 1")
#else
#define UNROLLING
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    __shared__ TA As[BM][PITCH_A];
    __shared__ TB Bs[BK][PITCH_B];

    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1;
    const size_t b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;
    const int tx = threadIdx.x, ty = threadIdx.y, thread = ty * BX + tx;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;
    const int first = LOAD_FROM_TID ? thread : 0, offset = LOAD_FROM_TID ? 0 : thread;

    TACC sum[ROWS][COLUMNS] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Neighbouring threads load neighbouring addresses in every layout. Zeros outside the matrices.
        UNROLLING for (int start = first; start < BM * BK; start += THREADS) {
            const int e = start + offset;
            const int m = TRANS_A ? e % BM : e / BK, k = TRANS_A ? e / BM : e % BK;
            if (!LOAD_FROM_TID && BM * BK % THREADS && e >= BM * BK) continue;
            As[m][k] = row0 + m < M && k0 + k < K ? A[(row0 + m) * a_i + (k0 + k) * a_k] : TA(0);
        }
        UNROLLING for (int start = first; start < BN * BK; start += THREADS) {
            const int e = start + offset;
            const int n = TRANS_B ? e / BK : e % BN, k = TRANS_B ? e % BK : e / BN;
            if (!LOAD_FROM_TID && BN * BK % THREADS && e >= BN * BK) continue;
            Bs[k][n] = k0 + k < K && column0 + n < N ? B[(k0 + k) * b_k + (column0 + n) * b_j] : TB(0);
        }
        __syncthreads();
        UNROLLING for (int k = 0; k < BK; ++k) {
            TACC a[ROWS], b[COLUMNS];
            UNROLLING for (int i = 0; i < ROWS; ++i) a[i] = TACC(As[ty + i * BY][k]);
            UNROLLING for (int j = 0; j < COLUMNS; ++j) b[j] = TACC(Bs[k][tx + j * BX]);
            UNROLLING for (int i = 0; i < ROWS; ++i)
                UNROLLING for (int j = 0; j < COLUMNS; ++j) sum[i][j] += a[i] * b[j];
        }
        __syncthreads();  // before the tiles are overwritten
    }

    UNROLLING for (int i = 0; i < ROWS; ++i) {
        UNROLLING for (int j = 0; j < COLUMNS; ++j) {
            const int row = row0 + ty + i * BY, column = column0 + tx + j * BX;
            if (row >= M || column >= N) continue;
            TC* c = C + size_t(row) * N + column;
            *c = TC(beta == 0 ? alpha * sum[i][j] : alpha * sum[i][j] + beta * TACC(*c));  // beta 0: C is not read
        }
    }
}
