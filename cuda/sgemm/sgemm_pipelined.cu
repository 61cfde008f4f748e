/*---
summary: warp tiles from two shared buffers, with the next tile and fragments in flight
order: 43
symbol: gemm
precisions: [f32]
layouts: [nn, nt, tn, tt]
params:
  BM: [128, 64]
  BN: [128, 64, 256]
  BK: [8, 16]
  WM: [64, 32]
  WN: [64, 32]
  TM: [16, 8]
  TN: [8, 16]
  BLOCKS: [1, 2]                # blocks per SM for which the compiler must leave registers
require:
  - BM % WM == 0
  - BN % WN == 0
  - (WM // TM) * (WN // TN) == 32                 # the lanes of a warp
  - TM * TN <= 128                                # and its registers: 255 per thread, 65536 per SM
  - BM // TM * (BN // TN) * TM * TN * BLOCKS <= 32768
  - BM * BK % (BM // TM * (BN // TN) * 4) == 0    # each thread fetches the same number of float4
  - BN * BK % (BM // TM * (BN // TN) * 4) == 0
  - 2 * BK * (BM + 4 + BN + 4) * BYTES <= 49152   # two of each tile fit static shared memory
tile: [BM, BN]
grid:
  - cdiv(N, BN)
  - cdiv(M, BM)
block:
  - BM / WM * (BN / WN) * 32
accesses:
  - load_sectors <= 16
  - store_sectors <= 16
  - conflicts == 0
source: https://github.com/NVIDIA/cutlass/blob/main/media/docs/cpp/efficient_gemm.md
---*/

// Compared with sgemm_warptile, loads overlap with arithmetic. The next tile is loaded into
// registers while this one is multiplied, and is stored to a second buffer when the multiply-adds
// are nearly done. Within the tile, and across the border to the next one, the fragments of the
// next k are loaded while those of this k are being multiplied. The FFMA therefore hide both
// kinds of latency, and only one barrier per tile is left.
//
//      k of the tile      0       1       2    ...   BK - 1  |  0       1            BK = 8
//      global -> regs     |--->. . . . . . . . .             |  |--->. . . .
//      regs -> buffer                                  |->   |                       the other buffer
//      barrier                                            |  |
//      load a, b of k     1       2       3    ...         0 |  1       2            from a[.], b[.] of two
//      multiply k         0       1       2    ...    BK - 1 |  0       1
//
// The main loop has only one guard, for the last tile. Past the edge of M or N a thread fetches the
// last row or column again, and the resulting products are never stored. The remainder of K, padded
// with zeros, comes in the first tile, so all later tiles are whole. Operands whose rows are not
// multiples of 16 bytes are fetched element by element, by a second copy of the loop in which
// neighbouring threads fetch neighbouring addresses.
//
// Bound by the issue of instructions and by the banks of the register file: for sm_90, nvcc 13's
// main loop has 1173 instructions. Of these, 1024 are FFMA, and one FFMA in six reads the same
// bank twice.

#define WARPS_N (BN / WN)
#define THREADS (BM / WM * WARPS_N * 32)
#define LANES_M (WM / TM)
#define LANES_N (WN / TN)

// A thread's share of the tiles of one operand, one tile after the other along K. In shared memory
// a tile is K-major, BK x TILE. `extent` is the operand's other size, M or N. ALONG_K: its rows in
// memory run along K.
template <int TILE, bool ALONG_K, bool WIDE> struct Fetcher {
    static constexpr int PITCH = TILE + 4, WIDTH = WIDE ? 4 : 1;
    static constexpr int LANES_K = 8 / WIDTH;  // along K, a row is read 8 elements (a sector) at a time
    static constexpr int UNITS = ALONG_K ? THREADS / LANES_K : THREADS * WIDTH;
    static constexpr int STEP_X = UNITS < TILE ? UNITS : TILE, STEP_K = UNITS / STEP_X * (ALONG_K ? 8 : 1);
    static constexpr int PASSES = TILE / STEP_X, COUNT = PASSES * BK / STEP_K;

    const float* from;  // where the next tile begins
    int offset[COUNT * (ALONG_K ? 1 : WIDTH)];
    int k0, x0;
    float values[COUNT][WIDTH];

    __device__ Fetcher(const float* matrix, int extent, int K, int start) {
        const int unit = ALONG_K ? threadIdx.x / LANES_K : threadIdx.x * WIDTH;
        k0 = ALONG_K ? threadIdx.x % LANES_K * WIDTH + unit / STEP_X * 8 : unit / STEP_X;
        x0 = unit % STEP_X;
        from = matrix + size_t(start) * (ALONG_K ? K : 1);
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const int k = k0 + k_of(i), x = min(x0 + x_of(i), extent - (ALONG_K ? 1 : WIDTH) - start);
            offset[i] = ALONG_K ? x * K + k : k * extent + x;
        }
    }
    static constexpr __device__ int k_of(int i) { return i / PASSES * STEP_K; }
    static constexpr __device__ int x_of(int i) { return i % PASSES * STEP_X; }

    __device__ void first(int depth, int extent) {  // depth: number of k in the tile
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
#pragma unroll
            for (int j = 0; j < WIDTH; ++j) values[i][j] = k0 + k_of(i) < depth ? from[offset[i] + j] : 0;
        from += depth * size_t(ALONG_K ? 1 : extent);
    }
    __device__ void next(int extent) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            if constexpr (WIDE)
                reinterpret_cast<float4&>(values[i]) = reinterpret_cast<const float4&>(from[offset[i]]);
            else values[i][0] = from[offset[i]];
        }
        from += BK * size_t(ALONG_K ? 1 : extent);
    }
    __device__ void store(float* tile) const {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            float* to = tile + (k0 + k_of(i)) * PITCH + x0 + x_of(i);
            if constexpr (WIDE && !ALONG_K)
                *reinterpret_cast<float4*>(to) = reinterpret_cast<const float4&>(values[i]);
            else
#pragma unroll
                for (int j = 0; j < WIDTH; ++j) to[j * PITCH] = values[i][j];
        }
    }
};

#define PITCH_A (BM + 4)
#define PITCH_B (BN + 4)
__shared__ __align__(16) float As[2][BK * PITCH_A];
__shared__ __align__(16) float Bs[2][BK * PITCH_B];

template <bool WIDE>
__device__ void multiply(int M, int N, int K, const float* A, const float* B, float (&sum)[TM][TN]) {
    Fetcher<BM, !TRANS_A, WIDE> fetch_a(A, M, K, blockIdx.y * BM);
    Fetcher<BN, TRANS_B, WIDE> fetch_b(B, N, K, blockIdx.x * BN);

    // The rows and columns of a lane come in fours, with those of its neighbours in between.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int ty = warp / WARPS_N * WM + lane / LANES_N * 4, tx = warp % WARPS_N * WN + lane % LANES_N * 4;
    float a[2][TM], b[2][TN];  // for this k and the next
    auto load = [&](int to, int k, int buffer) {
#pragma unroll
        for (int m = 0; m < TM; m += 4)
            reinterpret_cast<float4&>(a[to][m]) =
                reinterpret_cast<const float4&>(As[buffer][k * PITCH_A + ty + m * LANES_M]);
#pragma unroll
        for (int n = 0; n < TN; n += 4)
            reinterpret_cast<float4&>(b[to][n]) =
                reinterpret_cast<const float4&>(Bs[buffer][k * PITCH_B + tx + n * LANES_N]);
    };

    const int tiles = (K + BK - 1) / BK, remainder = K - (tiles - 1) * BK;
    fetch_a.first(remainder, M);
    fetch_b.first(remainder, N);
    fetch_a.store(As[0]);
    fetch_b.store(Bs[0]);
    __syncthreads();
    load(0, 0, 0);
    for (int tile = 1, buffer = 0; tile <= tiles; ++tile) {
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            if (k == 0 && tile < tiles) fetch_a.next(M), fetch_b.next(N);
            if (k == BK - 1) {
                buffer ^= 1;  // no thread has read the other buffer since the last barrier
                fetch_a.store(As[buffer]);
                fetch_b.store(Bs[buffer]);
                __syncthreads();
            }
            load((k + 1) % 2, (k + 1) % BK, buffer);
#pragma unroll
            for (int m = 0; m < TM; ++m)
#pragma unroll
                for (int n = 0; n < TN; ++n) sum[m][n] += a[k % 2][m] * b[k % 2][n];
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    const bool a_wide = (size_t(A) | (TRANS_A ? M : K) * sizeof(float)) % 16 == 0;
    const bool b_wide = (size_t(B) | (TRANS_B ? K : N) * sizeof(float)) % 16 == 0;
    const bool c_wide = (size_t(C) | N * sizeof(float)) % 16 == 0;
    float sum[TM][TN] = {};
    if (a_wide && b_wide) multiply<true>(M, N, K, A, B, sum);
    else multiply<false>(M, N, K, A, B, sum);

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row0 = blockIdx.y * BM + warp / WARPS_N * WM + lane / LANES_N * 4;
    const int column0 = blockIdx.x * BN + warp % WARPS_N * WN + lane % LANES_N * 4;
#pragma unroll
    for (int m = 0; m < TM; ++m) {
#pragma unroll
        for (int n = 0; n < TN; n += 4) {
            const int row = row0 + m / 4 * 4 * LANES_M + m % 4, column = column0 + n * LANES_N;
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
