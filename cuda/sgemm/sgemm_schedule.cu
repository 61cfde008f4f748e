/*---
summary: sgemm_cp_async with its work ordered, blocks in groups along M, k divided among the warps of a block
order: 45
symbol: gemm
precisions: [f32]
layouts: [nn, nt, tn, tt]
min_sm: 80
params:
  BM: [128, 64]
  BN: [256, 128, 64]
  BK: [8, 16, 32]
  TM: [16, 8]
  TN: [8, 16]
  SPLIT: [1, 2, 4]              # the k of a tile are divided among SPLIT sets of warps
  GROUP: [8, 1, 16]             # tile rows in a group of blocks; 1: along N, row by row
  STAGES: [4, 3]
  BLOCKS: [1, 2]                # blocks an SM for which the compiler has to leave registers
require:
  - BK // SPLIT % 2 == 0
  - TM * TN == 128                                # 32 lanes in a warp, which has 64 x 64
  - BM // TM * (BN // TN) * SPLIT * 128 * BLOCKS <= 32768    # registers: 255 a thread, 65536 an SM
  - BM * BK % (BM // TM * (BN // TN) * SPLIT * 4) == 0    # each thread copies the same number of units of 4
  - BN * BK % (BM // TM * (BN // TN) * SPLIT * 4) == 0
grid:
  - cdiv(M, BM) * cdiv(N, BN)
block:
  - BM / 64 * (BN / 64) * SPLIT * 32
shared: max(STAGES * BK * (BM + BN + 8), BM / 64 * (BN / 64) * SPLIT * 2 * (64 / TM) * 68) * BYTES
source: https://github.com/NVIDIA/cutlass/blob/main/media/docs/cpp/efficient_gemm.md
---*/

// Against sgemm_cp_async: the same main loop; what changes is which block computes what, and when.
//
//      C in tiles, GROUP = 2          a wave of 12 blocks reads           one tile, SPLIT = 2, BK = 8
//      +--+--+--+--+--+--+            2 tile rows of A, 6 columns           BK
//      | 0| 2| 4| 6| 8|10|            of B: 8 panels; row by row,         +-------+   k = 0 to 3: warps 0 to 3
//      +--+--+--+--+--+--+            with 12 tiles in a row of C,        |0000111|1  k = 4 to 7: warps 4 to 7
//      | 1| 3| 5| 7| 9|11|            1 and 12                            +-------+
//      +--+--+--+--+--+--+                                                C = (sum of slice 0) + (sum of slice 1)
//      |12|14| ...
//
// 1. Order. Blocks that run together should share panels of A and B while they are in L2. So blocks go down
//    GROUP tiles, then right. It pays where the matrices outgrow L2, and costs a division.
// 2. Waves. All SMs work only as long as there are tiles: choose the tile so that cdiv(M, BM) * cdiv(N, BN) is
//    little less than a multiple of the SMs times the blocks an SM. On 132 SMs, one block each, C of 1024 x 1024
//    has 32 tiles of 128 x 256, which occupy 24 % of them, but 128 of 64 x 128, 97 %.
// 3. Split. Such a tile is two warps' work, and an SM wants eight or more. Here SPLIT sets of warps share it:
//    each multiplies its own k of every tile, with the whole thread tile, so the ratio of FFMA to loads
//    stays. Their sums meet in shared memory at the end and are added in the order of k: the same bits each time.
//    Try BM=64 BN=128 BK=32 SPLIT=4, or BN=64 with BLOCKS=2.
//
// Bound by the issue of instructions, as the rung below, and for few tiles by what the sums' meeting costs.

#define WM 64  // a warp's part of the block tile
#define WN 64
#define WARPS_N (BN / WN)
#define WARPS (BM / WM * WARPS_N)  // of one slice of k
#define THREADS (WARPS * SPLIT * 32)
#define LANES_M (WM / TM)
#define LANES_N (WN / TN)

// Start a copy of BYTES, or of zeros. It is there after wait_for_copies and a barrier.
template <int BYTES> __device__ void copy_async(float* to, const float* from, bool inside) {
    const unsigned place = unsigned(__cvta_generic_to_shared(to));
    const int bytes = inside ? BYTES : 0;
    if (BYTES == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(bytes));
    else asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(place), "l"(from), "r"(bytes));
}
__device__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LATER> __device__ void wait_for_copies() {  // for all groups but the last LATER
    asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
}

// A thread's share of the copies of one operand, tile after tile along K. A tile is kept K-major, BK x TILE.
// `extent` is the operand's other size, M or N; ALONG_K: its rows in memory run along K.
template <int TILE, bool ALONG_K, bool WIDE> struct Copier {
    static constexpr int PITCH = TILE + 4, SIZE = BK * PITCH, WIDTH = WIDE && !ALONG_K ? 4 : 1;
    static constexpr int STEP_K = ALONG_K ? 8 : THREADS * WIDTH > TILE ? THREADS * WIDTH / TILE : 1;
    static constexpr int STEP_X = THREADS / STEP_K * WIDTH, PASSES = TILE / STEP_X, COUNT = PASSES * BK / STEP_K;

    const float* from;  // where the next tile begins
    int offset[COUNT];  // from there, in elements
    int k0, place;

    __device__ Copier(const float* matrix, int extent, int K, int start) {
        k0 = ALONG_K ? threadIdx.x % STEP_K : threadIdx.x * WIDTH / STEP_X;
        const int x0 = ALONG_K ? threadIdx.x / STEP_K : threadIdx.x * WIDTH % STEP_X;
        place = k0 * PITCH + x0;
        from = matrix + size_t(start) * (ALONG_K ? K : 1);
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const int k = k0 + k_of(i), x = min(x0 + x_of(i), extent - WIDTH - start);
            offset[i] = ALONG_K ? x * K + k : k * extent + x;
        }
    }
    static constexpr __device__ int k_of(int i) { return i / PASSES * STEP_K; }
    static constexpr __device__ int x_of(int i) { return i % PASSES * STEP_X; }

    __device__ void first(float* tile, int depth, int extent) {  // depth: how many k the tile has
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const bool inside = k0 + k_of(i) < depth;
            copy_async<4 * WIDTH>(tile + place + k_of(i) * PITCH + x_of(i), inside ? from + offset[i] : from, inside);
        }
        from += depth * size_t(ALONG_K ? 1 : extent);
    }
    __device__ void next(float* tile, int extent) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
            copy_async<4 * WIDTH>(tile + place + k_of(i) * PITCH + x_of(i), from + offset[i], true);
        from += BK * size_t(ALONG_K ? 1 : extent);
    }
};

template <bool WIDE>
__device__ void multiply(int M, int N, int K, const float* A, const float* B, int row0, int column0, float* shared,
                         float (&sum)[TM][TN]) {
    using CopyA = Copier<BM, !TRANS_A, WIDE>;
    using CopyB = Copier<BN, TRANS_B, WIDE>;
    constexpr int STAGE = CopyA::SIZE + CopyB::SIZE, LAST = (STAGES - 1) * STAGE;
    float* const As = shared;
    float* const Bs = shared + CopyA::SIZE;
    CopyA copy_a(A, M, K, row0);
    CopyB copy_b(B, N, K, column0);

    // Begin the first STAGES - 1 tiles. Past the last one a group is empty, so that groups count tiles.
    const int tiles = (K + BK - 1) / BK, remainder = K - (tiles - 1) * BK;
    copy_a.first(As, remainder, M);
    copy_b.first(Bs, remainder, N);
    commit_copies();
#pragma unroll
    for (int tile = 1; tile < STAGES - 1; ++tile) {
        if (tile < tiles) copy_a.next(As + tile * STAGE, M), copy_b.next(Bs + tile * STAGE, N);
        commit_copies();
    }

    // A lane's rows and columns come in fours, those of its neighbours between them.
    constexpr int DEPTH = BK / SPLIT;  // how many k of each tile are this warp's
    const int warp = threadIdx.x / 32 % WARPS, slice = threadIdx.x / 32 / WARPS, lane = threadIdx.x % 32;
    const float* const a_from = As + slice * DEPTH * CopyA::PITCH + warp / WARPS_N * WM + lane / LANES_N * 4;
    const float* const b_from = Bs + slice * DEPTH * CopyB::PITCH + warp % WARPS_N * WN + lane % LANES_N * 4;
    float a[2][TM], b[2][TN];  // for this k and the next
    auto load = [&](int to, int k, int buffer) {
#pragma unroll
        for (int m = 0; m < TM; m += 4)
            reinterpret_cast<float4&>(a[to][m]) =
                reinterpret_cast<const float4&>(a_from[buffer + k * CopyA::PITCH + m * LANES_M]);
#pragma unroll
        for (int n = 0; n < TN; n += 4)
            reinterpret_cast<float4&>(b[to][n]) =
                reinterpret_cast<const float4&>(b_from[buffer + k * CopyB::PITCH + n * LANES_N]);
    };

    wait_for_copies<STAGES - 2>();
    __syncthreads();
    load(0, 0, 0);
    for (int tile = 0, read = 0, write = LAST; tile < tiles; ++tile) {
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            if (k == DEPTH - 1) {
                wait_for_copies<STAGES - 2>();
                __syncthreads();  // the next tile is there, and nobody reads this one any more
                read = read == LAST ? 0 : read + STAGE;
            }
            load((k + 1) % 2, (k + 1) % DEPTH, read);
            if (k == 0) {
                if (tile + STAGES - 1 < tiles) copy_a.next(As + write, M), copy_b.next(Bs + write, N);
                commit_copies();
                write = write == LAST ? 0 : write + STAGE;
            }
#pragma unroll
            for (int n = 0; n < TN; ++n)
#pragma unroll
                for (int i = 0; i < TM; ++i) {
                    const int m = n % 2 ? TM - 1 - i : i;
                    sum[m][n] += a[k % 2][m] * b[k % 2][n];
                }
        }
    }
    wait_for_copies<0>();
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    extern __shared__ __align__(16) float shared[];  // dynamic: it may be more than 48 KB

    const int tile_rows = (M + BM - 1) / BM, tile_columns = (N + BN - 1) / BN;
    const int group = blockIdx.x / (GROUP * tile_columns) * GROUP, height = min(GROUP, tile_rows - group);
    const int place = blockIdx.x - group * tile_columns;
    const int row0 = (group + place % height) * BM, column0 = place / height * BN;

    float sum[TM][TN] = {};
    const bool a_wide = !TRANS_A || (size_t(A) | M * sizeof(float)) % 16 == 0;
    const bool b_wide = TRANS_B || (size_t(B) | N * sizeof(float)) % 16 == 0;
    if (a_wide && b_wide) multiply<true>(M, N, K, A, B, row0, column0, shared, sum);
    else multiply<false>(M, N, K, A, B, row0, column0, shared, sum);
    __syncthreads();  // the buffers are free

    // Through shared memory, one row of each lane at a time: the slices' sums meet, each set of warps adds up
    // and stores a part, and a warp stores whole rows. Two areas by turns, so one barrier a row is enough.
    constexpr int PITCH = WN + 4, AREA = LANES_M * PITCH;
    const int warp = threadIdx.x / 32 % WARPS, slice = threadIdx.x / 32 / WARPS, lane = threadIdx.x % 32;
    const int row1 = row0 + warp / WARPS_N * WM, column1 = column0 + warp % WARPS_N * WN;
    float* const mine = shared + (slice * WARPS + warp) * AREA;
    const float* const first = shared + warp * AREA;
#pragma unroll
    for (int m = 0; m < TM; ++m) {
        const int area = m % 2 * SPLIT * WARPS * AREA;
#pragma unroll
        for (int n = 0; n < TN; ++n)
            mine[area + lane / LANES_N * PITCH + (n / 4 * LANES_N + lane % LANES_N) * 4 + n % 4] = alpha * sum[m][n];
        if (SPLIT > 1) __syncthreads();
        else __syncwarp();
#pragma unroll
        for (int e0 = 0; e0 < LANES_M * WN; e0 += 32 * SPLIT) {
            const int e = e0 + slice * 32 + lane;
            const int row = row1 + (m / 4 * LANES_M + e / WN) * 4 + m % 4, column = column1 + e % WN;
            if (row >= M || column >= N) continue;
            TC* c = C + size_t(row) * N + column;
            float value = 0;
#pragma unroll
            for (int s = 0; s < SPLIT; ++s) value += first[area + s * WARPS * AREA + e / WN * PITCH + e % WN];
            *c = beta == 0 ? value : value + beta * *c;  // beta 0: C is not read
        }
    }
}
