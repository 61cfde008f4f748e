/*---
summary: C = A B^T by square tiles, both loaded along rows, B transposed on its way to shared memory
order: 132
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nt]
params:
  TILE: [32, 16, 8]
  UNROLL: [1, 0, -1]           # 1: #pragma unroll; 0: no pragma; -1: #pragma unroll 1, which forbids it
tile: [TILE, TILE]
grid:
  - cdiv(N, TILE)
  - cdiv(M, TILE)
block:
  - TILE
  - TILE
accesses:
  - load_sectors <= 4 or BYTES != 4
  - store_sectors <= 4 or BYTES != 4
  - conflicts == 0 or BYTES != 4
source: "How can CUDA optimize matrix multiplication with its transpose?, 2025-01-30"
---*/

// Our reconstruction of a step that "How can CUDA optimize matrix multiplication with its transpose?"
// mentions and does not take. Compared with abt_shared: instead of the element of B that its own sum
// needs, a thread loads the one that makes the warp's loads contiguous, and stores it transposed.
//
//      B as it is stored, N x K                 Bs, TILE x PITCH
//                 k0
//      +----------+--------+---+            k = tx  +---+-------------+
//      |          |0 1 2 3 |   | n = ty             | 0 |             |   Bs[tx][ty] =
//      |          |        |   |                    | 1 |             |   B[column0 + ty][k0 + tx]
//      +----------+--------+---+                    | 2 |             |
//        tx -> one transaction                      | 3 |             |   a column: 32 rows of PITCH
//                                                   +---+-------------+
//
// A warp stores 32 / TILE columns of Bs, each TILE rows deep. With rows of TILE words, these stores
// would all hit one bank, or a few. PITCH = TILE + 32 / TILE = 33, 18, 12 sends the 32 stores to 32
// banks (of 4 bytes) for TILE = 32, 16, 8; one word of padding does so only for TILE = 32. The
// inner loop loads along a row and needs no padding.
//
// Bound by shared memory: global memory is now read in whole sectors, once per tile. As written,
// there are two shared loads per multiply-add, or 1.25 where the compiler combines four steps of
// As into one load.
//
// Bugs in the post's version, fixed here: its loads of B are not coalesced, and it drops the last
// K % TILE products.

#define PITCH (TILE + 32 / TILE)

extern "C" __global__ void __launch_bounds__(TILE * TILE)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    __shared__ TA As[TILE][TILE];
    __shared__ TB Bs[TILE][PITCH];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
    const int n = blockIdx.x * TILE + ty;  // the row of B (a column of C) that this thread loads
    const TA* a = A + size_t(row) * K;
    const TB* b = B + size_t(n) * K;

    TACC sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        As[ty][tx] = row < M && k0 + tx < K ? a[k0 + tx] : TA(0);
        Bs[tx][ty] = n < N && k0 + tx < K ? b[k0 + tx] : TB(0);
        __syncthreads();
#if UNROLL > 0
#pragma unroll
#elif UNROLL < 0
#pragma unroll 1
#endif
        for (int k = 0; k < TILE; ++k) {
            sum += TACC(As[ty][k]) * TACC(Bs[k][tx]);
        }
        __syncthreads();  // before the tiles are overwritten
    }

    if (row >= M || column >= N) return;
    TC* c = C + size_t(row) * N + column;
    *c = TC(beta == 0 ? alpha * sum : alpha * sum + beta * TACC(*c));  // beta 0: C is not read
}
