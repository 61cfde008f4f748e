/*---
summary: blocks that stay, fetch the next tile while one is stored, and copy rows of any length asynchronously
order: 48.4
symbol: gemm<width_a, width_b, full>
precisions: [f32]
layouts: [nn, nt, tn, tt]
min_sm: 80
params:
  BM: [128, 32, 64, 96]
  BN: [64, 32, 96, 128]
  BK: [8, 16, 32]               # k of a stage
  SLICES: [1, 2, 4]             # sets of threads that share a tile and divide the k of each stage
  STAGES: [4, 2, 3]
  BLOCKS: [3, 1, 2, 4, 5, 6, 7, 8]  # per SM: there must be registers and shared memory for them
  STREAM_K: [0, 1]              # 1: all blocks get the same number of stages, and tiles are cut along K
let:
  warp_columns: 64 if BN % 64 == 0 else 32  # of a warp's part of the tile
  tile_threads: BM * BN // 64
  threads: tile_threads * SLICES
  width_a: 1 if not TRANS_A else 4 if lda % 4 == 0 else 2 if lda % 2 == 0 else 1  # elements of a copy
  width_b: 1 if TRANS_B else 4 if ldb % 4 == 0 else 2 if ldb % 2 == 0 else 1
  tiles: cdiv(M, BM) * cdiv(N, BN)
  blocks: BLOCKS * SMS if STREAM_K else min(tiles, BLOCKS * SMS)
  full: blocks > (BLOCKS - 1) * SMS  # no SM has room for one more block
  counters: cdiv(tiles, 4) * 16 # bytes
  ring: 4 * STAGES * BK * (BM + BN + 8)
  sums: 4 * (SLICES - 1) * BM * BN
  rows: tile_threads // 32 * (256 // warp_columns) * 4 * (warp_columns + 4)  # bytes through which warps store C
require:
  - BM * warp_columns % 2048 == 0
  - threads >= 64
  - BK % (8 * SLICES) == 0
  - cdiv(BLOCKS * threads, 128) * 128 <= 512  # 128 registers each
  - not STREAM_K or threads != 128 or BLOCKS <= 3  # STREAM_K needs a few more registers
  - BLOCKS * (1024 + ring + sums + rows) <= 233472
tile: [BM, BN]
workspace: counters + 8 * blocks * BM * BN if STREAM_K else 0
zeroed: counters if STREAM_K else 0  # which the last part of a tile resets
grid:
  - blocks
block:
  - threads
shared: ring + sums + rows
pdl: true
sass:
  - spills == 0
source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#asynchronous-data-copies
---*/

// With K = 40, a block of sgemm_small waits for its first stage as long as it multiplies, and nothing is multiplied
// while it stores. Here there are exactly as many blocks as fit on the GPU at once. Each works through a list of tiles,
// and its ring of stages continues across tiles:
//
//      copies     tile 0, k 0 .. 15 | 16 .. 31 | 32 .. 39 | tile 1, k 0 .. 15 | 16 .. 31 | ...
//      multiply                       tile 0, k 0 .. 15 | 16 .. 31 | 32 .. 39 | tile 1, k 0 .. 15 | ...
//      store                                                                   ^ tile 0, from registers
//
// cp.async copies rows of any length: 16 bytes at a time where they are multiples of 16 bytes, otherwise 8 or 4. An
// operand whose rows run along K is transposed on the way by copying single elements: 8 lanes take 8 neighbouring
// elements of a row, which are a sector, and 32 lanes write to 32 banks. So nothing has to be copied beforehand, and
// data in flight needs no registers.
//
// Where tiles do not fill whole waves, STREAM_K gives each block the same number of stages. The block that finishes
// last adds up the parts of a cut tile in the order of k, so every run gives the same bits:
//
//      3 tiles of 8 stages, 4 blocks:   tile 0         | tile 1         | tile 2
//                                       block 0    | block 1    | block 2    | block 3
//
// Where the row length of C is not a multiple of 16 bytes, rows go through shared memory so that neighbouring lanes
// store neighbouring elements.
//
// Bound by the issue of FFMA, or by the stores to C if K is less than about 32.

#include "../common/launch.cuh"
#include "../common/parts.cuh"

constexpr int TM = 8, TN = 8;                           // results of a thread
constexpr int WN = BN % 64 == 0 ? 64 : 32, WM = 2048 / WN;  // of a warp
constexpr int kLanesM = WM / TM, kLanesN = WN / TN;
constexpr int kWarpsN = BN / WN, kTile = BM / WM * kWarpsN * 32, kThreads = kTile * SLICES;  // kTile: threads of a slice
constexpr int kCopiers = kThreads >= 256 ? 256 : kThreads >= 128 ? 128 : 64;  // threads that copy
constexpr int kDepth = BK / SLICES, kUnroll = SLICES == 1 ? 8 : 2;  // k of a slice in a stage, and in the loop's body
constexpr int kPitchA = BM + 4, kPitchB = BN + 4, kStage = BK * (kPitchA + kPitchB);
constexpr int kPitchC = WN + 4;
constexpr int kMostParts = 16;                          // of a tile
constexpr int kSums = 16;                               // that a thread adds up at once

// Starts a copy of WIDTH elements, or of zeros if not `inside`. It has arrived after wait_for_copies
// and a barrier.
template <int WIDTH> __device__ void copy_async(float* to, const float* from, bool inside) {
    const unsigned address = unsigned(__cvta_generic_to_shared(to));
    const int bytes = inside ? 4 * WIDTH : 0;
    if constexpr (WIDTH == 4)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(4 * WIDTH), "r"(bytes)
                     : "memory");
}
__device__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LATER> __device__ void wait_for_copies() {  // for all groups except the last LATER
    asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
}

// A thread's share of the copies of one operand, whose stages are stored K-major in shared memory.
// Threads are laid out for a tile whose size is a power of two; the part beyond TILE is left out.
// Past the edge of the matrix the last row or column is copied again, but never stored. `extent` is
// the operand's other size, M or N. ALONG_K: its rows in memory run along K.
template <int TILE, bool ALONG_K, int WIDTH> struct Copier {
    static constexpr int PITCH = TILE + 4, COVER = TILE <= 32 ? 32 : TILE <= 64 ? 64 : 128;
    static constexpr int UNITS = ALONG_K ? kCopiers / 8 : kCopiers * WIDTH;
    static constexpr int STEP_X = UNITS < COVER ? UNITS : COVER, STEP_K = UNITS / STEP_X * (ALONG_K ? 8 : 1);
    static constexpr int PASSES = COVER / STEP_X, STEPS = (BK + STEP_K - 1) / STEP_K;

    const float* const matrix;
    const int extent, K, k0, x0;
    const float* from;  // where the next stage begins
    int offset[PASSES];

    __device__ Copier(const float* matrix, int extent, int K)
        : matrix(matrix), extent(extent), K(K), k0(ALONG_K ? threadIdx.x % 8 + threadIdx.x / 8 / STEP_X * 8
                                                         : threadIdx.x * WIDTH / STEP_X),
          x0((ALONG_K ? threadIdx.x / 8 : threadIdx.x * WIDTH) % STEP_X) {}

    // Begins a tile at row or column `start`, with k `begin`.
    __device__ void begin(int start, int begin) {
        from = matrix + size_t(start) * (ALONG_K ? K : 1) + size_t(begin) * (ALONG_K ? 1 : extent);
#pragma unroll
        for (int p = 0; p < PASSES; ++p) {
            const int x = min(x0 + p * STEP_X, extent - WIDTH - start);
            offset[p] = ALONG_K ? x * K + k0 : k0 * extent + x;
        }
    }
    // Copies the next stage, whose first `depth` k come from the matrix; the others are zeros.
    template <bool WHOLE> __device__ void copy(float* stage, int depth) {
        if (kThreads != kCopiers && threadIdx.x >= kCopiers) return;
        float* const to = stage + k0 * PITCH + x0;
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
#pragma unroll
            for (int p = 0; p < PASSES; ++p) {
                if (COVER != TILE && x0 + p * STEP_X >= TILE || BK % STEP_K != 0 && k0 + s * STEP_K >= BK) continue;
                const bool inside = WHOLE || k0 + s * STEP_K < depth;
                const float* const at = from + (inside ? offset[p] + (ALONG_K ? s * STEP_K : s * STEP_K * extent) : 0);
                copy_async<WIDTH>(to + s * STEP_K * PITCH + p * STEP_X, at, inside);
            }
        from += ALONG_K ? BK : size_t(BK) * extent;
    }
};

// Four neighbouring sums in an order that avoids bank conflicts; sgemm_small explains why.
__device__ float4 swapped(const float* sum) { return make_float4(sum[1], sum[0], sum[3], sum[2]); }

// The work that a block has left: `left` stages, beginning with stage `stage` of tile `tile`. It takes every
// gridDim.x-th tile as a whole; with STREAM_K, its share of all stages.
struct Walk {
    int stages, share, tile, stage, left;  // stages of a tile, and of a block's share

    __device__ Walk(int K, int tiles) : stages(max(1, (K + BK - 1) / BK)) {
        const int block = blockIdx.x, blocks = gridDim.x;
        if (STREAM_K) {
            const long long all = (long long)tiles * stages;
            share = max(int((all + blocks - 1) / blocks), (stages + kMostParts - 1) / kMostParts);
            const long long begin = (long long)block * share;
            tile = int(begin / stages), stage = int(begin % stages);
            left = int(max(0ll, min((long long)share, all - begin)));
        } else {
            share = 0, tile = block, stage = 0;
            left = (tiles - block + blocks - 1) / blocks * stages;
        }
    }
    __device__ void advance() {
        --left;
        if (++stage == stages) stage = 0, tile += STREAM_K ? 1 : gridDim.x;
    }
    // The blocks that have the first and the last stage of a tile.
    __device__ int first_block(int tile) const { return int((long long)tile * stages / share); }
    __device__ int last_block(int tile) const { return int(((long long)(tile + 1) * stages - 1) / share); }
    // Where a block leaves its part of a tile in the workspace, which has room for two: the end of one tile and the
    // beginning of another.
    __device__ int find_slot(int block, int tile) const {
        return 2 * block + ((long long)block * share < (long long)tile * stages);
    }
};

// The sums of a thread in C: eight rows, each with four columns from column(0) and four from column(4).
struct Place {
    int m0, n0;  // of the warp's part of the tile
    int lane_m, lane_n;

    __device__ int row(int i) const { return m0 + i / 4 * (WM / 2) + 4 * lane_m + i % 4; }
    __device__ int column(int j) const { return n0 + j / 4 * (WN / 2) + 4 * lane_n; }
};

// Stores a thread's sums times `factor`. `rows` is memory for kLanesM rows of a warp.
__device__ void store(const Place& at, int M, int N, float factor, float beta, const float (&sum)[TM][TN], float* rows,
                      float* C) {
    const bool wide = N % 4 == 0;
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < TM; ++i) {
        if (wide) {
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const int m = at.row(i), n = at.column(4 * h);
                if (m >= M || n >= N) continue;
                float4* const c = reinterpret_cast<float4*>(C + size_t(m) * N + n);
                const float* const s = sum[i] + 4 * h;
                float4 v = make_float4(factor * s[0], factor * s[1], factor * s[2], factor * s[3]);
                if (beta != 0) add(v, make_float4(beta * c->x, beta * c->y, beta * c->z, beta * c->w));  // else not read
                *c = v;
            }
            continue;
        }
#pragma unroll
        for (int h = 0; h < 2; ++h)
            reinterpret_cast<float4&>(rows[at.lane_m * kPitchC + h * (WN / 2) + 4 * at.lane_n]) =
                swapped(sum[i] + 4 * h);
        __syncwarp();
#pragma unroll
        for (int e = 0; e < kLanesM * WN / 32; ++e) {
            const int down = e * 32 / WN, across = e * 32 % WN + lane;
            const int m = at.m0 + i / 4 * (WM / 2) + 4 * down + i % 4, n = at.n0 + across;
            if (m >= M || n >= N) continue;
            float* const c = C + size_t(m) * N + n;
            const float value = factor * rows[down * kPitchC + (across ^ 1)];
            *c = beta == 0 ? value : value + beta * *c;
        }
        __syncwarp();
    }
}

template <int WIDTH_A, int WIDTH_B, bool FULL>
__global__ void __launch_bounds__(kThreads, BLOCKS)
    gemm(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C, void* workspace) {
    extern __shared__ __align__(16) float shared[];
    const int down = (M + BM - 1) / BM, across = (N + BN - 1) / BN, tiles = down * across;
    const auto start_of = [=](int tile) {  // tiles that share the larger operand's part are neighbours
        return M <= N ? make_int2(tile % down * BM, tile / down * BN) : make_int2(tile / across * BM, tile % across * BN);
    };
    const int slice = SLICES == 1 ? 0 : threadIdx.x / kTile;
    const int warp = threadIdx.x / 32 - slice * (kTile / 32), lane = threadIdx.x % 32;
    // Neighbouring lanes differ in both, so no shared-memory load is broadcast to two lanes.
    constexpr int kFew = 4;
    const int few = lane % kFew, many = lane / kFew ^ few * (8 / kFew);
    const int lane_m = kLanesM == kFew ? few : many, lane_n = kLanesM == kFew ? many : few;
    const int warp_m = warp / kWarpsN * WM, warp_n = warp % kWarpsN * WN;
    const float* const a_from = shared + slice * kDepth * kPitchA + warp_m + 4 * lane_m;
    const float* const b_from = shared + BK * kPitchA + slice * kDepth * kPitchB + warp_n + 4 * lane_n;
    float4* const sums = reinterpret_cast<float4*>(shared + STAGES * kStage) + threadIdx.x - slice * kTile;
    float* const rows = shared + STAGES * kStage + (SLICES - 1) * BM * BN + warp * kLanesM * kPitchC;

    Walk walk(K, tiles);
    Walk ahead = walk;  // of the copies
    Copier<BM, !TRANS_A, WIDTH_A> copy_a(A, M, K);
    Copier<BN, TRANS_B, WIDTH_B> copy_b(B, N, K);
    await_launch_before();

    const auto begin_tile = [&] {
        const int2 start = start_of(ahead.tile);
        copy_a.begin(start.x, ahead.stage * BK);
        copy_b.begin(start.y, ahead.stage * BK);
    };
    if (STREAM_K) begin_tile();  // perhaps not at its first stage
    const auto copy_stage = [&](int buffer) {  // and none at the end, so that groups count stages
        if (ahead.left > 0) {
            if (ahead.stage == 0) begin_tile();
            const int depth = K - ahead.stage * BK;
            float* const stage = shared + buffer * kStage;
            if (depth >= BK) copy_a.template copy<true>(stage, BK), copy_b.template copy<true>(stage + BK * kPitchA, BK);
            else copy_a.template copy<false>(stage, depth), copy_b.template copy<false>(stage + BK * kPitchA, depth);
            ahead.advance();
        }
        commit_copies();
    };
#pragma unroll 1
    for (int s = 0; s < STAGES; ++s) copy_stage(s);

    const float *as = a_from, *bs = b_from;
    float a[2][TM], b[2][TN];  // for this k and the next
    const auto load = [&](int to, int k) {
#pragma unroll
        for (int i = 0; i < TM; i += 4)
            reinterpret_cast<float4&>(a[to][i]) = reinterpret_cast<const float4&>(as[k * kPitchA + i / 4 * (WM / 2)]);
#pragma unroll
        for (int j = 0; j < TN; j += 4)
            reinterpret_cast<float4&>(b[to][j]) = reinterpret_cast<const float4&>(bs[k * kPitchB + j / 4 * (WN / 2)]);
    };
    wait_for_copies<STAGES - 1>();
    __syncthreads();
    load(0, 0);
    int buffer = 0;
#pragma unroll 1
    while (walk.left > 0) {
        const int tile = walk.tile;
        const bool from_start = walk.stage == 0;
        float sum[TM][TN] = {};
#pragma unroll 1
        do {
#pragma unroll 1
            for (int k0 = 0; k0 < kDepth; k0 += kUnroll)
#pragma unroll
                for (int k = 0; k < kUnroll; ++k) {
                    if (k + 1 == kUnroll) {  // the next k may be the first of the next stage
                        as += kUnroll * kPitchA, bs += kUnroll * kPitchB;
                        if (k0 + kUnroll == kDepth) {
                            wait_for_copies<STAGES - 2>();
                            __syncthreads();  // the next stage has arrived; this one is no longer read
                            copy_stage(buffer);
                            if (++buffer == STAGES) buffer = 0;
                            as = a_from + buffer * kStage, bs = b_from + buffer * kStage;
                        }
                    }
                    load((k + 1) % 2, (k + 1) % kUnroll);
#pragma unroll
                    for (int i = 0; i < TM; ++i)
#pragma unroll
                        for (int step = 0; step < TN; ++step) {
                            const int j = i % 2 ? TN - 1 - step : step;  // back and forth, which reuses registers
                            sum[i][j] += a[k % 2][i] * b[k % 2][j];
                        }
                }
            walk.advance();
        } while (walk.tile == tile && walk.left > 0);
        if (FULL && walk.left == 0) start_next_launch();

        const int2 start = start_of(tile);
        const bool whole = !STREAM_K || from_start && walk.tile != tile;
        const int first = whole ? 0 : walk.first_block(tile), parts = whole ? 1 : walk.last_block(tile) - first + 1;
        int* const counters = static_cast<int*>(workspace);
        float* const slots = static_cast<float*>(workspace) + (tiles + 3) / 4 * 4;
        const auto part = [=](int p) { return slots + size_t(walk.find_slot(first + p, tile)) * (BM * BN); };
        if (SLICES > 1) {  // the first slice adds the sums of the others, which use separate memory
            constexpr int kFours = TM * TN / 4;
            if (slice > 0)
#pragma unroll
                for (int q = 0; q < kFours; ++q)
                    sums[((slice - 1) * kFours + q) * kTile] = swapped(sum[q / 2] + q % 2 * 4);
            __syncthreads();
            if (slice == 0)
#pragma unroll
                for (int q = 0; q < (SLICES - 1) * kFours; ++q) {
                    const float4 v = sums[q * kTile];
                    float* const s = sum[q % kFours / 2] + q % 2 * 4;
                    s[0] += v.y, s[1] += v.x, s[2] += v.w, s[3] += v.z;
                }
        }
        if (slice == 0)
            store({(whole ? start.x : 0) + warp_m, (whole ? start.y : 0) + warp_n, lane_m, lane_n}, whole ? M : BM,
                  whole ? N : BN, alpha, whole ? beta : 0, sum, rows, whole ? C : part(blockIdx.x - first));
        if (whole) continue;

        // The last block to write its part of a tile adds up all parts.
        if (!arrive_last(counters + tile, parts)) continue;
#pragma unroll 1
        for (int e0 = threadIdx.x; e0 < BM * BN; e0 += kSums * kThreads) {
            float total[kSums];
            sum_parts(total, Parts{0, 1, parts}, [=](int p, int i) { return __ldcg(part(p) + e0 + i * kThreads); });
#pragma unroll
            for (int i = 0; i < kSums; ++i) {
                const int e = e0 + i * kThreads, m = start.x + e / BN, n = start.y + e % BN;
                if (m >= M || n >= N) continue;
                float* const c = C + size_t(m) * N + n;
                *c = beta == 0 ? total[i] : total[i] + beta * *c;
            }
        }
    }
}
