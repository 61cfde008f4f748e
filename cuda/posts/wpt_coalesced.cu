/*---
summary: WPT results per thread down a column of C, neighbouring threads at neighbouring addresses
order: 142
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nn, nt, tn, tt]
epilogue: [bias, relu]
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
  - load_sectors <= 4 or BYTES != 4
  - store_sectors <= 4 or BYTES != 4
  - conflicts == 0 or BYTES != 4
source: "https://medium.com/@robinheijmans/building-a-matrix-multiplication-kernel-from-scratch-using-\
  cuda-and-applying-it-to-neural-networks-8da95a296de5"
---*/

// From "Building a matrix-multiplication kernel from scratch using CUDA and applying it to Neural
// Networks": its last stage, the one whose code it prints. Compared with wpt: only the direction of the
// fast thread index changes. Neighbouring threads of a warp now load, read and store neighbouring
// addresses in global and shared memory, and an element of As is a broadcast.
//
//              Bs   k  [ . . x x+1 . . ]         one element of Bs, in a register, serves WPT
//                            |  |                multiply-adds; neighbours read neighbouring banks
//      As      C tile, TILE x TILE
//      k .     +---------------------+
//      y #-----|-------------x--+----|           one thread: column x, WPT rows, RTS apart
//        .     |             :  :    |           its neighbour: the next column
//  y+RTS #-----|-------------x--+----|
//        .     |             :  :    |           nn is the post's layout: in = A, weights = B,
// y+2RTS #-----|-------------x--+----|           its out^T by columns is our C by rows
//              +---------------------+
//
// Bound by shared memory: 1 + WPT loads, most of them broadcasts, for WPT multiply-adds (fewer
// where the compiler joins four steps of As). It is also bound by global memory: with tiles of 16,
// each element of A and B is fetched again for every 16 columns or rows of C. (TILE = 16 with WPT =
// 8 is a block of one warp. An SM has room for 32 such blocks, which fill half of its warp slots.)
// Where an operand is transposed on its way to shared memory, rows are padded by 32 / TILE words,
// which sends the stores of a warp to 32 banks.
//
// Differences from the post's kernel (post003_forward): it takes alpha, beta, all layouts and
// precisions, and it adds the bias and applies ReLU before it stores, where the post makes
// separate passes. It computes addresses in 64 bits, declares the size of its block
// (`__launch_bounds__`), and multiplies by an element of Bs that it holds in a register. Rows of a
// batch are adjacent here. The post's lie maxNeurons apart no matter how narrow the layer is, so
// small layers fetch memory that they do not use.

#define RTS (TILE / WPT)
#define PITCH_A (TILE + (TRANS_A ? 32 / TILE : 0))
#define PITCH_B (TILE + (TRANS_B ? 32 / TILE : 0))

extern "C" __global__ void __launch_bounds__(TILE * RTS)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias) {
    __shared__ TA As[TILE][PITCH_A];
    __shared__ TB Bs[TILE][PITCH_B];

    const size_t a_i = TRANS_A ? 1 : K, a_k = TRANS_A ? M : 1;
    const size_t b_k = TRANS_B ? 1 : N, b_j = TRANS_B ? K : 1;
    const int x = threadIdx.x, y = threadIdx.y;
    const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;

    TACC sum[WPT] = {};
    for (int k0 = 0; k0 < K; k0 += TILE) {
        for (int w = 0; w < WPT; ++w) {
            const int s = y + w * RTS;  // x takes the contiguous direction, y and w the strided one
            const int m = TRANS_A ? x : s, ka = TRANS_A ? s : x;
            const int n = TRANS_B ? s : x, kb = TRANS_B ? x : s;
            As[m][ka] = row0 + m < M && k0 + ka < K ? A[(row0 + m) * a_i + (k0 + ka) * a_k] : TA(0);
            Bs[kb][n] = k0 + kb < K && column0 + n < N ? B[(k0 + kb) * b_k + (column0 + n) * b_j] : TB(0);
        }
        __syncthreads();
        for (int k = 0; k < TILE; ++k) {
            const TACC b = TACC(Bs[k][x]);
            for (int w = 0; w < WPT; ++w) sum[w] += TACC(As[y + w * RTS][k]) * b;
        }
        __syncthreads();  // before the tiles are overwritten
    }

    for (int w = 0; w < WPT; ++w) {
        const int row = row0 + y + w * RTS, column = column0 + x;
        if (row >= M || column >= N) continue;
        TC* c = C + size_t(row) * N + column;
        TACC value = beta == 0 ? alpha * sum[w] : alpha * sum[w] + beta * TACC(*c);  // beta 0: C is not read
        if (BIAS) value += TACC(bias[column]);
        if (RELU && value < 0) value = 0;  // a NaN stays
        *c = TC(value);
    }
}
