/*---
summary: block tile, warp tile and thread tile, loads and stores of 16 bytes
order: 42
symbol: gemm
precisions: [f32]
layouts: [nn, nt, tn, tt]
params:
  BM: [128, 64, 256]
  BN: [128, 64, 256]
  BK: [16, 8, 32]
  WM: [32, 64]                  # a warp's part of the block tile
  WN: [64, 32]
  TM: [8, 16, 4]
  TN: [8, 4, 16]
require:
  - BM % WM == 0
  - BN % WN == 0
  - (WM // TM) * (WN // TN) == 32                # the lanes of a warp
  - TM * TN <= 128                               # and its registers: 255 a thread, 65536 a block
  - BM // TM * (BN // TN) * TM * TN <= 32768
  - BM // TM * (BN // TN) <= 1024
  - BK * BM % (BM // TM * (BN // TN) * 4) == 0   # each thread loads the same number of float4 of each tile
  - BK * BN % (BM // TM * (BN // TN) * 4) == 0
  - (BM + 4 + BN + 4) * BK * BYTES <= 49152      # both tiles fit static shared memory
tile: [BM, BN]
grid:
  - cdiv(N, BN)
  - cdiv(M, BM)
block:
  - BM / WM * (BN / WN) * 32
accesses:
  - load_sectors <= 16
  - store_sectors <= 16
  - conflicts <= (0 if TRANS_A and not TRANS_B else 100 - 800 // BK)
source: https://github.com/NVIDIA/cutlass/blob/main/media/docs/cpp/efficient_gemm.md
---*/

// Compared with sgemm_vectorised: the warp becomes a level between block and thread. Its lanes
// cover a compact WM x WN, 4 along M and 8 along N, instead of two rows across the whole block
// tile. For 32 x 64 results a warp reads 32 + 64 values per k, instead of 16 + 128 for 16 x 128,
// and most of its float4 serve several lanes at once. A larger thread tile, 16 x 8, takes 6 loads
// for 128 FFMA where 8 x 8 takes 4 for 64. It leaves half as many warps, though, and here only
// other warps hide a warp's waits; it pays off in the next rung. (load and Share below are those of
// sgemm_vectorised.)
//
//      C tile, BM x BN            a warp, WM x WN: its first 16 rows         a lane, 8 x 8
//      +-------+-------+          +--+--+--+--+--+--+--+--+--+--+            +----+    +----+
//      | warp 0| warp 1|          | 0| 1| 2| 3| 4| 5| 6| 7| 0| 1   4 rows    |4 x4|    |4 x4|
//      +-------+-------+          +--+--+--+--+--+--+--+--+--+--+            +----+    +----+
//      |   2   |   3   |          | 8| 9|10|11|12|13|14|15| 8| 9
//      +-------+-------+          +--+--+--+--+--+--+--+--+--+--+            +----+    +----+
//      |   4   |   5   |          |16|17| ...             |16|17             |4 x4|    |4 x4|
//      +-------+-------+          +--+--+--+--+--+--+--+--+--+--+            +----+    +----+
//      |   6   |   7   |          |24|25| ...             |24|25             16 rows, 32 columns apart
//      +-------+-------+          +--+--+--+--+--+--+--+--+--+--+
//                                 lane 0's next rows, 16 to 19, follow here
//
// A load of Bs: 8 lanes read 8 adjacent float4, which hits every bank once; the other three groups of 8
// lanes read the same 8. A load of As: 4 different float4, each for 8 lanes.
//
// It is still bound by latency: the multiply-adds wait for the tile, and the next tile waits for the
// multiply-adds.

#define WARPS_N (BN / WN)
#define THREADS (BM / WM * WARPS_N * 32)
#define LANES_M (WM / TM)
#define LANES_N (WN / TN)

// Four adjacent elements of row r, starting at column c, of a matrix stored as rows x columns. Zeros
// outside the matrix.
__device__ float4 load(const float* matrix, int rows, int columns, int r, int c, bool wide) {
    const float* from = matrix + size_t(r) * columns + c;
    float4 value = {};
    if (r >= rows || c >= columns) return value;
    if (wide) return *reinterpret_cast<const float4*>(from);
    value.x = from[0];
    if (c + 1 < columns) value.y = from[1];
    if (c + 2 < columns) value.z = from[2];
    if (c + 3 < columns) value.w = from[3];
    return value;
}

// A thread's share of a tile of EXTENT elements along M or N and BK along K. In memory order, its
// float4 number l is unit THREADS * l + threadIdx.x. ALONG_K: the rows of the matrix run along K.
// All of them are fetched before the first is stored (to rows of k), so their latencies overlap.
template <int EXTENT, bool ALONG_K> struct Share {
    float4 values[EXTENT * BK / 4 / THREADS];

    __device__ void fetch(const float* matrix, int extent, int K, int x0, int k0, bool wide) {
#pragma unroll
        for (int l = 0; l < EXTENT * BK / 4 / THREADS; ++l)
            values[l] = ALONG_K ? load(matrix, extent, K, x0 + x_of(l), k0 + k_of(l), wide)
                                : load(matrix, K, extent, k0 + k_of(l), x0 + x_of(l), wide);
    }
    __device__ void store(float (*tile)[EXTENT + 4]) const {
#pragma unroll
        for (int l = 0; l < EXTENT * BK / 4 / THREADS; ++l) {
            float* to = &tile[k_of(l)][x_of(l)];
            if (!ALONG_K) *reinterpret_cast<float4*>(to) = values[l];
            else {
                to[0] = values[l].x;
                to[EXTENT + 4] = values[l].y;
                to[2 * (EXTENT + 4)] = values[l].z;
                to[3 * (EXTENT + 4)] = values[l].w;
            }
        }
    }
    static __device__ int x_of(int l) {
        const int unit = l * THREADS + threadIdx.x;
        return ALONG_K ? unit / (BK / 4) : unit % (EXTENT / 4) * 4;
    }
    static __device__ int k_of(int l) {
        const int unit = l * THREADS + threadIdx.x;
        return ALONG_K ? unit % (BK / 4) * 4 : unit / (EXTENT / 4);
    }
};

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    __shared__ __align__(16) float As[BK][BM + 4];
    __shared__ __align__(16) float Bs[BK][BN + 4];

    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int ty = warp / WARPS_N * WM + lane / LANES_N * 4, tx = warp % WARPS_N * WN + lane % LANES_N * 4;
    const bool a_wide = (size_t(A) | (TRANS_A ? M : K) * sizeof(float)) % 16 == 0;
    const bool b_wide = (size_t(B) | (TRANS_B ? K : N) * sizeof(float)) % 16 == 0;
    const bool c_wide = (size_t(C) | N * sizeof(float)) % 16 == 0;

    float sum[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        Share<BM, !TRANS_A> a_share;
        Share<BN, TRANS_B> b_share;
        a_share.fetch(A, M, K, row0, k0, a_wide);
        b_share.fetch(B, N, K, column0, k0, b_wide);
        a_share.store(As);
        b_share.store(Bs);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
#pragma unroll
            for (int m = 0; m < TM; m += 4)
                reinterpret_cast<float4&>(a[m]) = reinterpret_cast<const float4&>(As[k][ty + m * LANES_M]);
#pragma unroll
            for (int n = 0; n < TN; n += 4)
                reinterpret_cast<float4&>(b[n]) = reinterpret_cast<const float4&>(Bs[k][tx + n * LANES_N]);
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
        for (int n = 0; n < TN; n += 4) {
            const int row = row0 + ty + m / 4 * 4 * LANES_M + m % 4, column = column0 + tx + n * LANES_N;
            if (row >= M || column >= N) continue;
            TC* c = C + size_t(row) * N + column;
            float value[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                value[i] = alpha * sum[m][n + i];
                if (beta != 0 && column + i < N) value[i] += beta * c[i];  // beta 0: C is not read
                if (!c_wide && column + i < N) c[i] = value[i];
            }
            if (c_wide) *reinterpret_cast<float4*>(c) = make_float4(value[0], value[1], value[2], value[3]);
        }
    }
}
