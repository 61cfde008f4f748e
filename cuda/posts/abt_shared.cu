/*---
summary: C = A B^T by square tiles in shared memory, the tile of B loaded down its columns
order: 131
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nt]
params:
  TILE: [32, 16, 8]
  UNROLL: [0, 1]                # 1: the loop over a tile is unrolled; 0: it is kept a loop
grid:
  - cdiv(N, TILE)
  - cdiv(M, TILE)
block:
  - TILE
  - TILE
source: https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#shared-memory-in-matrix-multiplication-c-aa-t
---*/

// From "How can CUDA optimize matrix multiplication with its transpose?", its second kernel, and
// with UNROLL=1 its third. Against coalesced in layout nt: each element of A and B comes from global
// memory once a tile, TILE times less often (32, as the post advises: a multiple of the warp). B is stored
// N x K, and a thread loads the element at the place where it will use it: neighbours take different rows of B.
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
// Bound by these loads of B while tiles are small: 32 sectors for 32 elements, again for each row of
// the tile, with L1 holding what is left of a sector in the best case. Then by shared memory, two
// loads for a multiply-add.
//
// The compiler unrolls a loop of TILE steps by itself, so without a pragma the post's second and
// third kernels are one; UNROLL=0 says `#pragma unroll 1`. Unrolled, four steps of As are one
// 16-byte load, and the loop's counter, branch and addresses are gone.
//
// What the post's version has wrong and this has not: it makes K / TILE steps, so that the last
// K % TILE columns of A and B are dropped (its own guard on k can never be false); and it calls the
// accesses to B solved by shared memory, where the load into it is still not coalesced.

constexpr int kUnroll = UNROLL ? TILE : 1;  // a pragma takes a constant, not a macro

extern "C" __global__ void __launch_bounds__(TILE * TILE)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    __shared__ TA As[TILE][TILE];
    __shared__ TB Bs[TILE][TILE];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
    const TA* a = A + size_t(row) * K;     // row of A, row of B: both are contiguous along K
    const TB* b = B + size_t(column) * K;

    TACC sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        As[ty][tx] = row < M && k0 + tx < K ? a[k0 + tx] : TA(0);
        Bs[ty][tx] = column < N && k0 + ty < K ? b[k0 + ty] : TB(0);
        __syncthreads();
#pragma unroll kUnroll
        for (int k = 0; k < TILE; ++k) {
            sum += TACC(As[ty][k]) * TACC(Bs[k][tx]);
        }
        __syncthreads();  // before the tiles are overwritten
    }

    if (row >= M || column >= N) return;
    TC* c = C + size_t(row) * N + column;
    *c = TC(beta == 0 ? alpha * sum : alpha * sum + beta * TACC(*c));  // beta 0: C is not read
}
