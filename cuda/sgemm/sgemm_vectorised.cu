/*---
summary: 2D block tile, loads and stores of 16 bytes, A transposed in shared memory
order: 41
symbol: gemm
precisions: [f32]
layouts: [nn, nt, tn, tt]
params:
  BM: [128, 64]
  BN: [128, 64]
  BK: [16, 8, 32]
  TM: [8, 4]
  TN: [8, 4]
require:
  - BM * BN / (TM * TN) >= 32
  - BM * BN / (TM * TN) <= 1024
  - BK * TM * TN % (4 * BN) == 0                 # each thread loads the same number of float4 of each tile
  - BK * TM * TN % (4 * BM) == 0
  - (BM + 4 + BN + 4) * BK * BYTES <= 49152      # both tiles fit static shared memory
tile: [BM, BN]
grid:
  - cdiv(N, BN)
  - cdiv(M, BM)
block:
  - BM * BN / (TM * TN)
accesses:
  - load_sectors <= 16
  - store_sectors <= 16
  - conflicts <= (0 if TRANS_A and not TRANS_B else 100 - 800 // BK)
source: https://developer.nvidia.com/blog/cuda-pro-tip-increase-performance-with-vectorized-memory-access/
---*/

// Compared with blocktile_2d: every load and store moves 16 bytes, so only a quarter as many of
// these instructions are needed. An outer product of 8 x 8 now takes 4 shared loads instead of 16.
// This requires four rows of a thread to be adjacent in shared memory, so As is transposed on its
// way there, and so is Bs where B is N x K.
//
//                 BN                        a thread's 8 x 8, in fours BM / 2 and BN / 2 apart:
//             +---------+ Bs
//          BK |bbbb bbbb|                       tx * 4        BN / 2 + tx * 4
//             +---------+                       |x x x x      |x x x x   ty * 4 ...
//      BK                                       |x x x x      |x x x x
//   +-----+   +---------+
//   |aaaa |   |xxxx xxxx|                       |x x x x      |x x x x   BM / 2 + ty * 4 ...
// BM|     |   |         | C tile                |x x x x      |x x x x
//   |aaaa |   |xxxx xxxx|
//   +-----+   +---------+                   Eight adjacent elements would be two loads, 32 bytes apart
//                                           in neighbouring threads: they would hit half of the banks
//                                           twice and leave the other half idle.
//
// A thread's float4 along K goes to four rows of As, one element each. With BK = 8 two lanes share
// a row of A, 32 bytes, so a warp stores to 16 columns of rows k and k + 4, and the pitch BM + 4
// puts the latter 16 banks further. With BK = 16, four lanes share a row and two of them share a
// bank, but halving the number of barriers is worth more.
//
// A row of a packed matrix begins at a multiple of 16 bytes only if its length is a multiple of 4. If it is
// not, the operand is loaded, or C stored, element by element; all threads make the same choice.
//
// Bound by latency: no thread computes while a tile is in flight. Also, a warp spans two rows of 16
// threads, so it reads 16 rows of As and all 128 columns of Bs for its 16 x 128 results.

#define THREADS (BM * BN / (TM * TN))
#define RM (BM / TM)
#define RN (BN / TN)

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
    const int tx = threadIdx.x % RN * 4, ty = threadIdx.x / RN * 4;
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
                reinterpret_cast<float4&>(a[m]) = reinterpret_cast<const float4&>(As[k][ty + m * RM]);
#pragma unroll
            for (int n = 0; n < TN; n += 4)
                reinterpret_cast<float4&>(b[n]) = reinterpret_cast<const float4&>(Bs[k][tx + n * RN]);
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
            const int row = row0 + ty + m / 4 * 4 * RM + m % 4, column = column0 + tx + n * RN;
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
