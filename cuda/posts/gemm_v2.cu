/*---
summary: square tiles of TILE for BX x BY threads, a dot product for each result
order: 151
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nn, nt, tn, tt]
params:
  TILE: [64, 32]
  BX: [16, 32]                  # threads along N
  BY: [16, 8]                   # threads along M
  UNROLL: [1, 0, -1]            # 1: #pragma unroll; 0: no pragma; -1: #pragma unroll 1, which forbids it
require:
  - TILE % BX == 0
  - TILE % BY == 0
  - (TILE + 1) * TILE * 2 * BYTES <= 49152        # both tiles fit static shared memory
tile: [TILE, TILE]
grid:
  - cdiv(N, TILE)
  - cdiv(M, TILE)
block:
  - BX
  - BY
accesses:
  - load_sectors <= 4 or BYTES != 4
  - store_sectors <= 4 or BYTES != 4
  - conflicts == 0 or BYTES != 4
source: CUDA 007 - GEMM
---*/

// From "CUDA 007 - GEMM": version 2. Compared with tiled_plain (its version 1): the tile is 64 x 64 for
// the same 256 threads. Each thread therefore owns 16 results, 16 rows or columns apart, and each element
// of A and B is fetched from global memory 4 times less often. Every result is still its own dot product.
//
//                 k                                tx  tx+16 tx+32 tx+48
//      As   +-----------+         Bs    +-----------+   C tile
//   ty    ->|===========|               |  |  |  |  |     ty     x  x  x  x
//           |           |             k |  |  |  |  |     ty+16  x  x  x  x    one thread's results
//   ty+16 ->|===========|               |  |  |  |  |     ty+32  x  x  x  x
//           +-----------+               +-----------+     ty+48  x  x  x  x
//            TILE + 1 words per row      TILE words per row
//
// The rows of As are one word longer: a warp reads two of them at once (16 threads each), and with
// 64 words per row both would lie in the same bank.
//
// Bound by shared memory and by latency: as written, two loads per multiply-add. Given unrolled dot
// products, the compiler shares loads between them. But the odd row length makes each load 4 bytes
// wide, and many steps in flight use many registers, so few blocks share an SM: `gemmbench inspect
// gemm_v2 --sass-mix` counts both.
//
// The post says that unrolling gains "nearly 10 times", but it does not say compared with what.
// UNROLL=0 has no pragma, as the post prints the kernel: nvcc unrolls by itself. UNROLL=-1 forbids
// unrolling any loop. Then nothing is shared, and since registers cannot be indexed, each dot
// product begins and ends with a chain of 16 compares and moves that finds its result.
//
// Differences from the post's kernel (post004_v2): it takes all layouts and precisions, computes
// addresses in 64 bits, declares the size of its block (`__launch_bounds__`), and guards every load
// and store; the post's is correct only for multiples of 64. It supports tiles and blocks of other
// shapes, including tiles that the block does not divide. If beta is 0 it does not read C. The
// post's kernel does, so a NaN there survives.

#define THREADS (BX * BY)
#define ROWS (TILE / BY)     // results per thread
#define COLUMNS (TILE / BX)
#define PITCH_B (TILE + TRANS_B)  // padded where B is transposed on its way; As always is

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
    __shared__ TA As[TILE][TILE + 1];
    __shared__ TB Bs[TILE][PITCH_B];

    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1;
    const size_t b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;
    const int tx = threadIdx.x, ty = threadIdx.y, thread = ty * BX + tx;
    const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;

    TACC sum[ROWS][COLUMNS] = {};
    for (int k0 = 0; k0 < K; k0 += TILE) {
        UNROLLING for (int start = 0; start < TILE * TILE; start += THREADS) {
            // Neighbouring threads load neighbouring addresses in every layout. Zeros outside the matrices.
            const int y = (start + thread) / TILE, x = (start + thread) % TILE;
            const int m = TRANS_A ? x : y, ka = TRANS_A ? y : x;
            const int n = TRANS_B ? y : x, kb = TRANS_B ? x : y;
            if (TILE * TILE % THREADS && y >= TILE) continue;
            As[m][ka] = row0 + m < M && k0 + ka < K ? A[(row0 + m) * a_i + (k0 + ka) * a_k] : TA(0);
            Bs[kb][n] = k0 + kb < K && column0 + n < N ? B[(k0 + kb) * b_k + (column0 + n) * b_j] : TB(0);
        }
        __syncthreads();
        UNROLLING for (int i = 0; i < ROWS; ++i)
            UNROLLING for (int j = 0; j < COLUMNS; ++j)
                UNROLLING for (int k = 0; k < TILE; ++k)
                    sum[i][j] += TACC(As[ty + i * BY][k]) * TACC(Bs[k][tx + j * BX]);
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
