/*---
summary: the shared-memory kernel of post 000 and version 1 of post 004, one element of C per thread
order: 102
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nn]
params:
  TILE: [16, 32, 8]
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
source: https://github.com/kHarshit/cuda-programming
---*/

// The second kernel of "Matrix Multiplication in CUDA" and version 1 of "CUDA 007 - GEMM", with
// their loops and no pragma. Compared with naive: a block copies a tile of A and one of B to
// shared memory, and its TILE x TILE threads read each element TILE times from there. Compared
// with tiled: the loads come after the barrier that frees the tiles, so no load is in flight while
// the block computes.
//
//                      Bs
//                    +----+  k0            for k0 = 0, TILE, 2 TILE, ...
//              B     |####|                    As[ty][tx] and Bs[ty][tx] = an element of each tile
//                    +----+                    barrier: the tiles are complete
//           k0       |                         sum += As[ty][k] * Bs[k][tx]
//      A +--[##]--   +----+                    barrier: no thread needs the tiles any more
//            As      |####| C tile
//                    +----+
//
// Bound by shared memory, and by waiting for the loads between the barriers. It reads TILE times fewer
// elements from global memory than naive.
//
// Differences from the posts' kernels (post000_shared, post004_v1): it takes M, N, K, alpha and
// beta instead of structures, supports all precisions, and uses 64-bit addresses. Its guards
// compare the row and column within the matrix with the sizes. Post 000 compares those within the
// tile and reads out of bounds, and post 004 has no guards. The barrier before post 004's loop is
// gone. If beta is 0 it does not read C; post 004's kernel does.

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    __shared__ TA As[TILE][TILE];
    __shared__ TB Bs[TILE][TILE];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;

    TACC sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        As[ty][tx] = row < M && k0 + tx < K ? A[size_t(row) * K + k0 + tx] : TA(0);
        Bs[ty][tx] = k0 + ty < K && column < N ? B[size_t(k0 + ty) * N + column] : TB(0);
        __syncthreads();
        for (int k = 0; k < TILE; ++k) {
            sum += TACC(As[ty][k]) * TACC(Bs[k][tx]);
        }
        __syncthreads();
    }

    if (row < M && column < N) {
        TC* c = C + size_t(row) * N + column;
        *c = TC(beta == 0 ? alpha * sum : alpha * sum + beta * TACC(*c));  // beta 0: C is not read
    }
}
