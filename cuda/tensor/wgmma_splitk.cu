/*---
summary: K split among blocks where C has too few tiles for all SMs; only rows that exist are fetched
order: 245
precisions: [bf16, f16, bf16_f32, f16_f32]
layouts: [nn, nt, tn, tt]
arch: [90a]                     # wgmma
epilogue: [bias, relu]
params:
  BM: [128]
  BN: [128, 64, 192, 256]
  STAGES: [6, 4, 5, 8]
let:
  tiles: cdiv(M, BM) * cdiv(N, BN)
  split: max(1, min(SMS // tiles, cdiv(K, 64) // 4))  # parts of K; all are computed at the same time
  height_a: K if TRANS_A else M  # rows of A as it is stored, each of lda elements
  height_b: N if TRANS_B else K
  copy_a: lda % 8 != 0          # TMA needs rows that are multiples of 16 bytes: others are copied and padded
  copy_b: ldb % 8 != 0
  bytes_a: 16 * height_a * cdiv(lda, 8) if copy_a else 0  # of the copies
  bytes_b: 16 * height_b * cdiv(ldb, 8) if copy_b else 0
  box_a: 64 if TRANS_A else M if M <= BM else BM if M % BM == 0 or M % BM > 64 else 64
  box_b: 64 if not TRANS_B else N if N <= BN else BN if N % BN == 0 or N % BN > 64 else 64
require:
  - STAGES * ((BM + BN) * 128 + 16) <= SMEM
tile: [BM, BN]
maps_by_value: true
tensor_maps:
  - {operand: A, box: [64, box_a], swizzle: 128, when: not copy_a}
  - {operand: B, box: [64, box_b], swizzle: 128, when: not copy_b}
  - operand: workspace          # the copy of A, and that of B
    offset: 4096
    shape: [lda, height_a]
    pitch: cdiv(lda, 8) * 8
    box: [64, box_a]
    swizzle: 128
    when: copy_a
  - operand: workspace
    offset: 4096 + bytes_a
    shape: [ldb, height_b]
    pitch: cdiv(ldb, 8) * 8
    box: [64, box_b]
    swizzle: 128
    when: copy_b
workspace: 4096 + bytes_a + bytes_b + (4 * split * tiles * BM * BN if split > 1 else 0)
zeroed: 4096                    # counters, which the last part of a tile resets
launches:
  - symbol: pad
    grid:
      - min(4 * SMS, cdiv(bytes_a + bytes_b, 512))
    block: [256]
    when: copy_a or copy_b
    pdl: true
  - symbol: gemm
    grid: [tiles * split]
    block: [384]
    shared: STAGES * ((BM + BN) * 128 + 16)
    pdl: true
sass:                           # of the main loop
  - 15 * tensor >= instructions # ptxas may put waits and moves between products that it does not see through
  - spills == 0
source: https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions
---*/

// Compared with wgmma_cluster, there is work for all SMs even where C is small or narrow. A C of 128 x 2048 has 32
// tiles of 128 x 64, so only a quarter of a GPU's 132 SMs would fetch. Here four blocks share a tile, each with a
// quarter of K. When all have written their sums to the workspace, each adds up a quarter of the tile, part by part in
// the order of k, so every run gives the same bits.
//
//          K: part 0 | part 1  | part 2  | part 3      sums in the workspace      C, 8 columns to a block in turn
//      +---------+---------+---------+---------+      +---+---+---+---+      +---+---+---+---+---+---+---+---+
//      | block 0 | block 1 | block 2 | block 3 |  ->  | 0 | 1 | 2 | 3 |  ->  | 0 | 1 | 2 | 3 | 0 | 1 | 2 | 3 |
//      +---------+---------+---------+---------+      +---+---+---+---+      +---+---+---+---+---+---+---+---+
//
// Blocks that wait for one another must run at the same time, so K is never split into more blocks than there are SMs.
//
// Where C has fewer rows than a tile, TMA would fill the rest of the tile with zeros, but a box that reaches beyond an
// operand takes about twice as long. So a box has as many rows as A. If A has more rows than a tile, and only a few in
// the last tile, boxes have 64 rows, and boxes beyond the end are not fetched. Whatever is in their place is multiplied
// as well, but it only affects rows and columns beyond C.
//
// Bound by memory where C is narrow, and where the problem is small by the time it takes to launch and to add up the
// parts.

#include "main_loop.cuh"
#include "pad.cuh"

constexpr int kCounterBytes = 4096;  // at the start of the workspace; the copies follow, then the sums
constexpr int kSmallBox = 64;        // rows, where little of the last tile exists
static_assert(kSmallBox == kDepth, "a tile has as many small boxes as chunks");
constexpr int kThreadsOfSums = 128 * kGroups;
static_assert(kParts == 1, "a group has 64 rows of a tile");

// What a block fetches of an operand: the boxes of a tile that are not empty.
template <int EXTENT, bool ALONG_K> struct TileFetcher {
    const CUtensorMap* map;
    int origin, size, boxes;  // a box has `size` rows of an operand that runs along K, or columns of one that does not

    // `all` is the size of the whole operand along M or N.
    __device__ TileFetcher(const CUtensorMap* map, int origin, int all) : map(map), origin(origin) {
        const int rest = all % EXTENT;
        size = !ALONG_K ? kDepth : all <= EXTENT ? all : rest == 0 || rest > kSmallBox ? EXTENT : kSmallBox;
        boxes = (min(EXTENT, all - origin) + size - 1) / size;
    }

    __device__ int bytes() const { return boxes * size * kRowBytes; }

    __device__ void fetch_to(unsigned tile, int k, unsigned barrier) const {
#pragma unroll
        for (int box = 0; box < EXTENT / kSmallBox; ++box) {
            const int at = origin + box * size;
            if (box < boxes) fetch(tile + box * size * kRowBytes, map, ALONG_K ? at : k, ALONG_K ? k : at, barrier);
        }
    }
};

// Adds up the sums of a tile whose K is split. Each part has room for BM x BN sums in the workspace: the four sums of
// thread t that belong to columns 8 i to 8 i + 7 are quad i * kThreadsOfSums + t. Two counters hold how many parts
// have left their sums and how many have read those that they add up.
struct Exchange {
    static constexpr int kAtOnce = 8;  // parts from which a thread loads a quad before it adds them
    int count, mine;
    int* counters;
    float4* quads;  // of part 0

    // `rows` and `columns` are those of the tile that C has.
    __device__ void leave(const float (&sum)[BN / 2], int rows, int columns) const {
        if (int(threadIdx.x) / 32 * 16 >= rows) return;
        float4* const to = quads + size_t(mine) * (BM * BN / 4) + threadIdx.x;
#pragma unroll
        for (int i = 0; i < BN / 8; ++i)
            if (8 * i < columns)
                store_past_l1(to + i * kThreadsOfSums, {sum[4 * i], sum[4 * i + 1], sum[4 * i + 2], sum[4 * i + 3]});
    }

    __device__ void await_all() const {
        publish_to_device();
        meet_groups<kThreadsOfSums>();
        if (threadIdx.x == 0) {
            count_arrival(counters);
            await_arrivals(counters, count);
        }
        meet_groups<kThreadsOfSums>();
    }

    // Add up this part's share of the tile and pass on two sums at a time: `store(sum, next, row, column)`.
    template <typename STORE> __device__ void add_up(int rows, int columns, STORE store) const {
        const int threads = (rows + 15) / 16 * 32;  // that have left something
        const int all = (columns + 7) / 8 * threads;
        for (int i = mine * kThreadsOfSums + threadIdx.x; i < all; i += count * kThreadsOfSums) {
            const int thread = i % threads, row = thread / 32 * 16 + thread % 32 / 4;
            const int column = i / threads * 8 + thread % 4 * 2;
            const float4* const from = quads + i / threads * kThreadsOfSums + thread;
            float4 total = {0, 0, 0, 0};
            for (int part = 0; part < count; part += kAtOnce) {
                float4 v[kAtOnce];
#pragma unroll
                for (int u = 0; u < kAtOnce; ++u)
                    if (part + u < count) v[u] = load_past_l1(from + size_t(part + u) * (BM * BN / 4));
#pragma unroll
                for (int u = 0; u < kAtOnce; ++u)
                    if (part + u < count) total.x += v[u].x, total.y += v[u].y, total.z += v[u].z, total.w += v[u].w;
            }
            store(total.x, total.y, row, column);
            store(total.z, total.w, row + 8, column);
        }
    }

    __device__ void reset() const {  // once all have read
        meet_groups<kThreadsOfSums>();
        if (threadIdx.x == 0 && count_arrival(counters + 1) == count - 1) counters[0] = counters[1] = 0;
    }
};

extern "C" __global__ void __launch_bounds__(kPadThreads, kPadBlocks)
    pad(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias, void* workspace,
        const __grid_constant__ Maps<4> maps) {
    copy_operands(M, N, K, A, B, static_cast<char*>(workspace) + kCounterBytes);
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias,
         void* workspace, const __grid_constant__ Maps<4> maps) {
    extern __shared__ __align__(1024) char shared[];
    using Block = Member<1, 1>;
    const Ring<0> ring{uniform(address(shared))};
    const int down = (M + BM - 1) / BM, tiles = down * ((N + BN - 1) / BN), steps = (K + kDepth - 1) / kDepth;
    const int split = gridDim.x / tiles, tile = blockIdx.x / split, part = blockIdx.x % split;
    const int begin = steps * part / split, end = steps * (part + 1) / split;
    const int row0 = tile % down * BM, column0 = tile / down * BN;
    const int group = uniform(threadIdx.x / 128), thread = threadIdx.x % 128;
    const Sources<> sources(M, N, K);
    const CUtensorMap *const map_a = sources.map_a(maps.map, 2), *const map_b = sources.map_b(maps.map, 2);
    if (threadIdx.x == kFetcher) prefetch(map_a), prefetch(map_b);
    if (threadIdx.x == 0) ring.initialize_barriers(kGroups);
    __syncthreads();
    start_next_launch();

    Place place;
    if (group == kGroups) {
        if (thread != 0) return;
        const TileFetcher<BM, ROWS_ALONG_K> a(map_a, row0, M);
        const TileFetcher<BN, COLUMNS_ALONG_K> b(map_b, column0, N);
        await_launch_before();  // the other groups wait for what this thread fetches
        for (int step = begin; step < end; ++step, place.advance()) {
            const unsigned filled = ring.filled(place.stage);
            await(ring.emptied(place.stage), place.parity ^ 1);  // a fresh barrier lets the first round pass
            arrive_and_expect(filled, a.bytes() + b.bytes());
            a.fetch_to(ring.a(place.stage), step * kDepth, filled);
            b.fetch_to(ring.b(place.stage), step * kDepth, filled);
        }
        return;
    }

    float sum[kParts][BN / 2];
    multiply_stages<Block>(ring, place, end - begin, group, thread == 0 ? 0 : -1, sum);
    if (split == 1) {
        store_sums<BN>(sum[0], M, N, row0 + group * 64, column0, alpha, beta, C, bias);
        return;
    }
    int* const counters = static_cast<int*>(workspace) + 2 * tile;
    void* const sums = sources.end(static_cast<char*>(workspace) + kCounterBytes);
    float4* const quads = static_cast<float4*>(sums) + size_t(tile) * split * (BM * BN / 4);
    const Exchange exchange{split, part, counters, quads};
    const int rows = min(BM, M - row0), columns = min(BN, N - column0);
    exchange.leave(sum[0], rows, columns);
    exchange.await_all();
    exchange.add_up(rows, columns, [=](float first, float next, int row, int column) {
        store_neighbours(first, next, M, N, row0 + row, column0 + column, alpha, beta, C, bias);
    });
    exchange.reset();
}
