/*---
summary: WPT results per thread along a row of C, neighbouring threads one row apart
order: 141
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nn, nt, tn, tt]
params:
  TILE: [16, 32]
  WPT: [4, 8, 2]                # results per thread; TILE / WPT threads do the work of TILE
require:
  - TILE % WPT == 0
tile: [TILE, TILE]
grid:
  - cdiv(N, TILE)
  - cdiv(M, TILE)
block:
  - TILE
  - TILE / WPT
accesses:
  - load_sectors <= TILE or BYTES != 4
  - store_sectors <= TILE or BYTES != 4
  - conflicts <= (100 - 400 // TILE if TRANS_A and TRANS_B else 100 - 3200 // (TILE * TILE)) or BYTES != 4
source: "https://medium.com/@robinheijmans/building-a-matrix-multiplication-kernel-from-scratch-using-\
  cuda-and-applying-it-to-neural-networks-8da95a296de5"
---*/

// Our reconstruction of the second stage of "Building a matrix-multiplication kernel from scratch using
// CUDA and applying it to Neural Networks": more work per thread, before its memory accesses were fixed.
// The post prints only the code of its last stage. Compared with tiled_uncoalesced: the tile stays the
// same, and the block shrinks to TILE x RTS threads with WPT results each. An element of As, once in a
// register, serves WPT multiply-adds.
//
//      Bs   k  [ . . o . . . o . . . o . . . o . ]   y, y + RTS, ... : the same for a whole row of
//                    |       |       |       |       threads, a broadcast
//      As      C tile, TILE x TILE
//      k .     +-----------------------------+
//      x #-----|-----x-------x-------x-------x       one thread: row x, WPT columns, RTS apart
//    x+1 #-----|-----+-------+-------+-------+       its neighbour: the row below
//              +-----------------------------+
//
// The post writes its layers for column-major matrices: out^T = weights^T in^T, with the fast
// thread index running along a column. Its C^T is our C (in: A, weights: B, layout nn). This kernel
// uses the same fast index on row-major matrices. threadIdx.x moves by one row everywhere: in A, B
// and C (in every layout it takes the direction that is not contiguous) and in As, which it reads
// TILE words apart. A warp then hits 2 banks for TILE = 16, one for TILE = 32.
//
// Bound by these accesses: a load from global memory takes 16 or 32 transactions, and one from As takes 8
// or 32 cycles of shared memory.
//
// Unlike the post's last stage, it is not tied to the network, in which rows of a batch lie
// maxNeurons apart no matter how narrow the layer is, so small layers fetch memory that they do
// not use. As in the post, bias and activation are a separate pass over C.

#define RTS (TILE / WPT)

extern "C" __global__ void __launch_bounds__(TILE * RTS)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    __shared__ TA As[TILE][TILE];
    __shared__ TB Bs[TILE][TILE];

    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1;
    const size_t b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;
    const int x = threadIdx.x, y = threadIdx.y;
    const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;

    TACC sum[WPT] = {};
    for (int k0 = 0; k0 < K; k0 += TILE) {
        for (int w = 0; w < WPT; ++w) {
            const int s = y + w * RTS;  // x takes the strided direction, y and w the contiguous one
            const int m = TRANS_A ? s : x, ka = TRANS_A ? x : s;
            const int n = TRANS_B ? x : s, kb = TRANS_B ? s : x;
            As[m][ka] = row0 + m < M && k0 + ka < K ? A[(row0 + m) * a_i + (k0 + ka) * a_k] : TA(0);
            Bs[kb][n] = k0 + kb < K && column0 + n < N ? B[(k0 + kb) * b_k + (column0 + n) * b_j] : TB(0);
        }
        __syncthreads();
        for (int k = 0; k < TILE; ++k) {
            const TACC a = TACC(As[x][k]);
            for (int w = 0; w < WPT; ++w) sum[w] += a * TACC(Bs[k][y + w * RTS]);
        }
        __syncthreads();  // before the tiles are overwritten
    }

    for (int w = 0; w < WPT; ++w) {
        const int row = row0 + x, column = column0 + y + w * RTS;
        if (row >= M || column >= N) continue;
        TC* c = C + size_t(row) * N + column;
        *c = TC(beta == 0 ? alpha * sum[w] : alpha * sum[w] + beta * TACC(*c));  // beta 0: C is not read
    }
}
