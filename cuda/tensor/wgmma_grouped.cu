/*---
summary: groups of rows in one launch; at a group's end, the blocks of a cluster lie side by side
order: 280
precisions: [bf16, f16, bf16_f32, f16_f32]
layouts: [nn, nt]
kinds: [one, groups]
arch: [90a]                     # wgmma
epilogue: [bias, relu]
params:
  BM: [128, 64]                 # 64: for groups of few rows
  BN: [256, 128]
  STAGES: [4, 3, 6, 8]
  STREAM_K: [1, 0]              # 1: tiles beyond whole waves are cut along K
let:
  planes: max(groups, 1)
  shared: STAGES * ((BM + BN) * 128 + 16) + BM // 64 * 16384
require:
  - shared <= SMEM
  - lda * BYTES % 16 == 0       # TMA needs rows that are multiples of 16 bytes
  - ldb * BYTES % 16 == 0
  - N * BYTES_C % 16 == 0
tile: [BM * 2, BN]
workspace: 4096 + SMS * BM * BN * 4 if STREAM_K else 0
zeroed: 4096 if STREAM_K else 0  # flags, which their readers reset
args: [M, N, K, alpha, A, B, beta, C, bias, offsets, workspace, planes]
symbol: gemm
maps_by_value: true
tensor_maps:
  - {operand: A, box: [64, BM / 2], swizzle: 128}
  - operand: B                  # a plane for each group
    shape: [K if TRANS_B else N, N if TRANS_B else K, planes]
    box: [64, BN / 2 if TRANS_B else 64, 1]
    swizzle: 128
  - {operand: C, box: [128 / BYTES_C, 16], swizzle: 128}
grid:
  - 2 * min(SMS // 2, (cdiv(M, 2 * BM) + planes) * cdiv(N, BN))
block: [BM * 2 + 128]
shared: shared
pdl: true
sass:                           # of the main loop
  - 12 * tensor >= instructions # ptxas may put waits and moves between products that it does not see through
  - spills == 0
source: https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions
---*/

// Compared with wgmma_cluster, the rows belong to groups, each of which has a B of its own. Groups have any number of
// rows, which only `offsets` tells. Every cluster walks through the groups and counts tiles, so that each finds its own
// in the same launch. A group without rows costs a step of that walk.
//
// The two blocks of a cluster lie below one another and share B, of which each fetches half. But the last rows of a
// group may fit in one block. There, the blocks lie side by side and share A, so that neither is without rows:
//
//          columns 0 to 255    to 511
//         +----------------+----------------+
//         | 0  tile 0      | 0  tile 1      |
//     256 +- - - - - - - - +- - - - - - - - +      0 and 1: the blocks of a cluster
//    rows | 1              | 1              |
//         +----------------+----------------+
//      90 | 0           tile 2            1 |
//    rows +----------------+----------------+
//
// Columns are walked in pairs of tiles, and in each pair all rows of the group (up to 2048), so that B is fetched from
// memory once. Boxes of A without rows of the group are not fetched, and a warpgroup without rows does not multiply.
//
// A tile may reach beyond its group. What it multiplies there are rows of the next group, which it does not store: each
// warp has 16 rows, and if some of them belong to the next group, the warp stores the others itself, without TMA. B is
// an array of three dimensions, so that k beyond K reads as zero and not as the B of the next group, where there may be
// infinities.
//
// STREAM_K: the tiles that are left after whole waves are cut along K, and their partial sums are added in the
// workspace, in a fixed order. Every second tile of a cluster goes through K backwards. Which tiles these are depends
// on all groups. With STREAM_K=0, every sum adds the same products in the same order whatever the other groups are, so
// the bits of a group do not depend on them.
//
// Bound by the power limit where groups are large, and by memory where they have few rows: it takes 250 to multiply a B
// as long as it takes to fetch it.

#ifndef GROUPS  // one product is a group of all rows
#define GROUPS 0
#endif
#define WARPGROUPS (BM / 64)

#include "main_loop.cuh"
#include "planes.cuh"

using Cluster = Member<2, 1>;
constexpr bool kMovesRegisters = STREAM_K && BM == 128 && BN == 256;  // from the group that fetches to the others
constexpr int kHigh = 2 * BM, kRasterStrips = 2048 / kHigh;  // rows of a tile; tiles below one another in a band
constexpr int kBlocks = 2;  // of a cluster
constexpr int kBoxRows = BM / 2, kHalf = BN / 2;  // of a box of A; columns of half a tile of B

// The part of a tile that one block computes.
struct Part {
    int group, row, column;  // of all groups together
    int end;                 // of the rows of the group
    bool high;               // the blocks lie below one another, otherwise side by side
};

// The tiles of all groups in order.
struct Walk {
    const int* offsets;
    int columns;             // tiles side by side
    int group, first, next;  // the group of the last tile; its first row, and that of the group after it
    int before;              // tiles of the groups before it

    __device__ Walk(const int* offsets, int M, int N)
        : offsets(offsets), columns((N + BN - 1) / BN) {
        begin(M);
    }

    __device__ void begin(int M) { group = 0, first = 0, next = GROUPS ? offsets[1] : M, before = 0; }

    // Tiles of a group of this many rows below one another: those that are two blocks high, and at its end perhaps one
    // that is one block high.
    static __device__ int count_strips(int rows) { return (rows + BM - 1) / kHigh; }
    static __device__ bool has_low(int rows) { return rows > count_strips(rows) * kHigh; }
    __device__ int count_tiles(int rows) const {
        return count_strips(rows) * columns + has_low(rows) * ((columns + 1) / 2);
    }

    // The tiles of all groups. All lanes of a warp call this.
    __device__ int count_all(int M, int groups) const {
        if (!GROUPS) return count_tiles(M);
        int tiles = 0;
        for (int number = threadIdx.x % 32; number < groups; number += 32)
            tiles += count_tiles(offsets[number + 1] - offsets[number]);
        return __reduce_add_sync(~0u, tiles);
    }

    // This block's part of a tile.
    __device__ Part find(int tile, int M, const Cluster& block) {
        if (tile < before) begin(M);
        for (int tiles; tile >= before + (tiles = count_tiles(next - first)); next = offsets[++group + 1])
            before += tiles, first = next;
        const int strips = count_strips(next - first), low = has_low(next - first), number = tile - before;
        const int band = min(number / (kRasterStrips * columns), max(strips - 1, 0) / kRasterStrips);
        const int left = strips - band * kRasterStrips, height = min(left, kRasterStrips);
        const int each = 2 * height + (left <= kRasterStrips ? low : 0);  // tiles of two columns
        const int rest = number - band * kRasterStrips * columns, column = rest / each * 2, turn = rest % each;
        const bool high = turn < min(columns - column, 2) * height;
        const int strip = band * kRasterStrips + (high ? turn % height : height);
        const int row = first + strip * kHigh + (high ? block.row * BM : 0);
        return {group, row, (column + (high ? turn / height : block.row)) * BN, next, high};
    }
};

// What a cluster does in one turn: a whole tile, or a piece of one.
struct Work {
    int tile, begin, end;  // stages of K
    int first_piece;       // the cluster that has the first of the other pieces of this tile, or -1 if there are none
    bool hands_over;       // to the cluster that has the last piece
};

// The turns of a cluster. Tiles beyond whole waves are cut along K into at most four pieces each, if that saves more
// time than it takes to add them up.
struct Schedule {
    static constexpr int kMostPieces = 4, kAddedSteps = 8;  // stages of K in the time of adding up
    int steps, clusters, cluster;
    int whole, cut, sharers;  // tiles that are not cut, and tiles that are; clusters that have pieces

    __device__ Schedule(int tiles, int K)
        : steps((K + kDepth - 1) / kDepth), clusters(gridDim.x / kBlocks), cluster(blockIdx.x / kBlocks), whole(tiles),
          cut(0), sharers(0) {
        const int rest = tiles % clusters;
        if (!STREAM_K || steps * (clusters - rest) <= kAddedSteps * clusters) return;
        cut = rest, whole -= rest, sharers = min(clusters, rest * kMostPieces);
    }

    // Where the cut stages of a cluster begin.
    __device__ int bound(int cluster) const { return cut * steps * cluster / sharers; }

    __device__ bool find(int turn, Work& w) const {
        const int tile = turn * clusters + cluster;
        w = {tile, 0, steps, -1, false};
        if (tile < whole) return true;
        if (!STREAM_K || cluster >= sharers) return false;
        const int begin = bound(cluster), end = bound(cluster + 1);
        const int first = begin / steps, next = (first + 1) * steps, piece = turn - whole / clusters;
        const bool two = end > next;  // the end of one tile and the beginning of the next, which others wait for
        if (begin == end || piece > two) return false;
        if (two && piece == 0) {
            w = {whole + first + 1, 0, end - next, -1, true};
            return true;
        }
        w = {whole + first, begin - first * steps, min(end, next) - first * steps, -1, end < next};
        if (w.begin > 0 && !w.hands_over)
            for (w.first_piece = cluster - 1; bound(w.first_piece) > first * steps;) --w.first_piece;
        return true;
    }
};

// Adds up the sums of a tile that is cut along K: a flag and 64 x BN sums for each warpgroup of the clusters.
struct Exchange {
    static constexpr int kFlags = 1024, kQuads = BN / 8;  // ints at the start of the workspace; float4 of a thread
    int* workspace;
    int number;  // of the warpgroup in its cluster

    __device__ int* flag(int cluster) const { return workspace + cluster * kBlocks * kGroups + number; }
    __device__ float4* sums(int cluster) const {
        float4* const all = reinterpret_cast<float4*>(workspace + kFlags);
        return all + size_t(cluster * kBlocks * kGroups + number) * kQuads * 128 + threadIdx.x % 128;
    }

    __device__ void hand_over(int cluster, int group, const float (&sum)[BN / 2]) const {
        float4* const to = sums(cluster);
#pragma unroll
        for (int i = 0; i < kQuads; ++i)
            store_past_l1(to + i * 128, {sum[4 * i], sum[4 * i + 1], sum[4 * i + 2], sum[4 * i + 3]});
        publish_to_device();
        meet_group(group);
        if (threadIdx.x % 128 == 0) raise_flag(flag(cluster));
    }

    __device__ void take_over(int cluster, int group, float (&sum)[BN / 2]) const {
        if (threadIdx.x % 128 == 0) {
            await_flag(flag(cluster));
            *flag(cluster) = 0;
        }
        meet_group(group);
        const float4* const from = sums(cluster);
#pragma unroll
        for (int i = 0; i < kQuads; ++i) {
            const float4 piece = load_past_l1(from + i * 128);
            sum[4 * i] += piece.x, sum[4 * i + 1] += piece.y, sum[4 * i + 2] += piece.z, sum[4 * i + 3] += piece.w;
        }
    }
};

// Fetch half number `half` of a tile of B for these blocks of the cluster, or for this one only if there are none.
__device__ inline void fetch_half(uint16_t blocks, int half, const CUtensorMap* map, int group, unsigned tile,
                                  int column, int k, unsigned barrier) {
    constexpr int kBoxColumns = COLUMNS_ALONG_K ? kHalf : 64;
#pragma unroll
    for (int i = 0; i < kHalf / kBoxColumns; ++i) {
        const int begin = half * kHalf + i * kBoxColumns;
        const unsigned to = tile + begin * kRowBytes;
        const int row = COLUMNS_ALONG_K ? column + begin : k, at = COLUMNS_ALONG_K ? k : column + begin;
        if (blocks) fetch_plane_for(blocks, to, map, group, row, at, barrier);
        else fetch_plane(to, map, group, row, at, barrier);
    }
}

// Fetch a stage for a block's part of a tile: this block's share of what several blocks need, for all of them. Boxes of
// A without rows of the group are left out.
template <typename RING>
__device__ void fetch_stage(const RING& ring, int stage, const CUtensorMap* maps, const Part& part,
                            const Cluster& block, int k) {
    constexpr uint16_t kBoth = 0b11;
    const int boxes = min((part.end - part.row + kBoxRows - 1) / kBoxRows, 2);
    const unsigned barrier = ring.filled(stage);
    const auto fetch_box = [&](uint16_t blocks, int box) {
        const unsigned to = ring.a(stage) + box * kBoxRows * kRowBytes;
        if (box >= boxes) return;
        if (blocks) fetch_for(blocks, to, maps, part.row + box * kBoxRows, k, barrier);
        else fetch(to, maps, part.row + box * kBoxRows, k, barrier);
    };
    arrive_and_expect(barrier, boxes * kBoxRows * kRowBytes + TileB::BYTES);
    if (part.high) {
        fetch_box(0, 0);
        fetch_box(0, 1);
        fetch_half(kBoth, block.row, maps + 1, part.group, ring.b(stage), part.column, k, barrier);
    } else {
        fetch_box(kBoth, block.row);
        fetch_half(0, 0, maps + 1, part.group, ring.b(stage), part.column, k, barrier);
        fetch_half(0, 1, maps + 1, part.group, ring.b(stage), part.column, k, barrier);
    }
}

// Like Boxes::store, but rows from `end` on belong to the next group.
template <typename RING>
__device__ void store_part_of_group(float (&sum)[BN / 2], const RING& ring, int& stored, const CUtensorMap* map, int N,
                                    int row0, int column0, int end, float alpha, float beta, TC* C, const TC* bias) {
    const int warp = uniform(threadIdx.x / 32), lane = threadIdx.x % 32, row = row0 + warp % 4 * 16;
    if (row >= end) return;
    const bool whole = row + 16 <= end;
    finish_sums<BN>(sum, end, N, row0, column0, alpha, beta, C, bias);
#pragma unroll
    for (int box = 0; box < BN / Boxes::kColumns; ++box) {
        const int column = column0 + box * Boxes::kColumns;
        if (column >= N) break;
        const unsigned to = ring.box(warp, stored++);
        if (lane == 0 && whole) wait_for_reads<kBoxes - 1>();
        if (lane == 0 && !whole) wait_for_reads<0>();  // boxes that TMA does not store are not counted
        __syncwarp();
        Box<Boxes::kColumns>::write(to, sum + box * Boxes::kColumns / 2);
        if (whole) publish_writes();
        __syncwarp();
        if (!whole) Box<Boxes::kColumns>::store(C, end, N, row, column, to, 0, 16);
        else if (lane == 0) store_box(map, row, column, to);
    }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1) __cluster_dims__(kBlocks, 1, 1)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias,
         const int* offsets, void* workspace, int groups, const __grid_constant__ Maps<3> maps) {
    extern __shared__ __align__(1024) char shared[];
    const Ring<kBoxes> ring{uniform(address(shared))};
    const int group = uniform(threadIdx.x / 128), thread = threadIdx.x % 128;
    const Cluster block = Cluster::find();
    if (threadIdx.x == kFetcher) prefetch_maps(maps.map, maps.map + 1, maps.map + 2, N);
    if (threadIdx.x == 0) ring.initialize_barriers(kBlocks * kGroups);
    __syncthreads();
    Cluster::meet();
    start_next_launch();
    await_launch_before();  // it may write the offsets

    Walk walk(offsets, M, N);
    const Schedule schedule(walk.count_all(M, groups), K);
    Place place;
    Work w;
    if (group == kGroups) {
        if (kMovesRegisters) release_registers<56>();
        for (int turn = 0; thread == 0 && schedule.find(turn, w); ++turn) {
            const Part part = walk.find(w.tile, M, block);
            for (int step = w.begin; step < w.end; ++step, place.advance()) {
                await(ring.emptied(place.stage), place.parity ^ 1);  // a fresh barrier lets the first round pass
                const int k = (STREAM_K ? turn_back(step, w.begin, w.end, turn) : step) * kDepth;
                fetch_stage(ring, place.stage, maps.map, part, block, k);
            }
        }
        __syncwarp();
        Cluster::meet();  // so that no block writes to one that has ended
        return;
    }

    if (kMovesRegisters) take_registers<224>();
    const int fetcher = thread < kBlocks ? thread : -1;  // each block fetches for both
    const Exchange exchange{static_cast<int*>(workspace), block.row * kGroups + group};
    int stored = 0;  // boxes of this warp
    for (int turn = 0; schedule.find(turn, w); ++turn) {
        const Part part = walk.find(w.tile, M, block);
        const int row = part.row + group * 64;
        if (row >= part.end) {  // nothing to multiply
            for (int step = w.begin; step < w.end; ++step, place.advance()) {
                await(ring.filled(place.stage), place.parity);
                meet_group(group);  // a warp that still stores must not miss a stage
                Cluster::release(ring.emptied(place.stage), fetcher);
            }
            continue;
        }
        float sum[kParts][BN / 2];
        multiply_stages<Cluster>(ring, place, w.end - w.begin, group, fetcher, sum);
        if (STREAM_K && w.hands_over) {
            exchange.hand_over(schedule.cluster, group, sum[0]);
            continue;
        }
        if (STREAM_K && w.first_piece >= 0)
            for (int cluster = w.first_piece; cluster < schedule.cluster; ++cluster)
                if (schedule.bound(cluster) < schedule.bound(cluster + 1))  // it has a piece
                    exchange.take_over(cluster, group, sum[0]);
        store_part_of_group(sum[0], ring, stored, maps.map + 2, N, row, part.column, part.end, alpha, beta, C,
                            BIAS ? bias + size_t(part.group) * N : bias);
    }
    wait_for_reads<0>();  // a block may end once its boxes are read
    __syncwarp();
    Cluster::meet();
}
