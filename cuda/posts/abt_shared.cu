/*---
summary: C = A B^T by square tiles in shared memory, the tile of B loaded down its columns
order: 131
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nt]
params:
  TILE: [32, 16, 8]
  UNROLL: [0, 1, -1]           # 1: #pragma unroll; 0: no pragma; -1: #pragma unroll 1, which forbids it
tile: [TILE, TILE]
grid:
  - cdiv(N, TILE)
  - cdiv(M, TILE)
block:
  - TILE
  - TILE
accesses:
  - load_sectors <= TILE or BYTES != 4
  - store_sectors <= 4 or BYTES != 4
  - conflicts == 0 or BYTES != 4
source: "How can CUDA optimize matrix multiplication with its transpose?, 2025-01-30"
---*/

// From "How can CUDA optimize matrix multiplication with its transpose?": its second kernel
// (UNROLL=0) and its third (UNROLL=1). Compared with naive in layout nt, each element of A and B
// is loaded from global memory once per tile, TILE times less often (32 times, as the post
// advises: a multiple of the warp). B is stored as N x K, and a thread loads the element that it
// would use itself, so neighbouring threads read different rows of B.
//
//      A, M x K                 B as it is stored, N x K           Bs
//          k0                              k0
//      +---+--+-----+           +----------+--+-----+             k  +-------+
//      |   |##|     | row  tx=0 |          |# |     | column          | #     |  Bs[ty][tx] =
//      |   |##|     |      tx=1 |          |# |     | column + 1      | #     |  B[column][k0 + ty]
//      +---+--+-----+      tx=2 |          |# |     | column + 2      +-------+
//       tx ->                   +----------+--+-----+                 stored along a row
//       one row: coalesced       32 rows, K apart: 32 transactions
//
// While tiles are small, it is bound by these loads of B: 32 sectors for 32 elements, repeated
// for each row of the tile. At best L1 still holds the rest of a sector. With larger tiles it is
// bound by shared memory, with two loads per multiply-add.
//
// The post's second and third kernels differ only in a pragma. Since the compiler unrolls a loop of
// TILE steps by itself, nvcc 13 generates the same machine code for both (a test checks this for
// TILE 16 and 32): on this compiler the post's pragma gains nothing. UNROLL=-1, which is not in the
// post, forbids unrolling and so shows what it is worth. Unrolling gives one 16-byte load for four
// steps of As, and removes the loop counter, branch and address arithmetic.
//
// Differences from the post's kernel (post002_shared): it takes alpha, beta and all precisions,
// computes addresses in 64 bits, and declares the size of its block (`__launch_bounds__`). It runs
// cdiv(K, TILE) steps, where the post runs K / TILE and drops the last K % TILE columns of A and B,
// so the post's guard on k can never be false. The post says that shared memory fixes the accesses
// to B, although the load of B into shared memory is still not coalesced.

extern "C" __global__ void __launch_bounds__(TILE * TILE)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    __shared__ TA As[TILE][TILE];
    __shared__ TB Bs[TILE][TILE];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
    const TA* a = A + size_t(row) * K;     // a row of A, a row of B: both contiguous along K
    const TB* b = B + size_t(column) * K;

    TACC sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        As[ty][tx] = row < M && k0 + tx < K ? a[k0 + tx] : TA(0);
        Bs[ty][tx] = column < N && k0 + ty < K ? b[k0 + ty] : TB(0);
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
