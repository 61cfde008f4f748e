/*---
summary: groups of rows in one launch; a tile is two blocks high or, at a group's end, two blocks wide
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
let:
  planes: max(groups, 1)
  shared: STAGES * ((BM + BN) * 128 + 16) + BM // 64 * 16384
require:
  - shared <= SMEM
  - lda * BYTES % 16 == 0       # TMA needs rows that are multiples of 16 bytes
  - ldb * BYTES % 16 == 0
  - N * BYTES_C % 16 == 0
tile: [BM * 2, BN]
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
// rows, which only `offsets` tells. All clusters walk through the groups side by side and count tiles, so each finds its
// next one in the same launch, and a group without rows costs a step of that walk.
//
// A cluster is two blocks. Below one another, they share B; side by side, they share A. Either way each fetches half of
// what they share. Most tiles of a group are two blocks high, but its last rows may fit in one block. There, the two
// blocks lie side by side, so that no block is without rows:
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
// Columns are walked in pairs, and in each pair all rows of the group (up to 2048), so that B is fetched from memory
// once. If a block has 64 rows of its group or fewer, the others are neither fetched nor multiplied.
//
// A tile may reach beyond its group. What it multiplies there are rows of the next group, which it does not store: each
// warp has 16 rows, and those of a warp at the end of a group leave by ordinary stores instead of TMA. B is an array of
// three dimensions, so that k beyond K reads as zero and not as the B of the next group, which may hold infinities.
//
// Every sum adds the same products in the same order, whatever the other groups are. So the bits of a group do not
// depend on them.
//
// Bound by the power limit where groups are large, and by memory where they have fewer rows than it takes to multiply a
// B in the time of fetching it: some 250.

#ifndef GROUPS  // one product is a group of all rows
#define GROUPS 0
#endif
#define WARPGROUPS (BM / 64)

#include "main_loop.cuh"
#include "planes.cuh"

using Cluster = Member<2, 1>;
constexpr int kHigh = 2 * BM, kRasterStrips = 2048 / kHigh;  // rows of a tile; tiles below one another in a band
constexpr int kHalfA = BM / 2, kHalfB = BN / 2;              // rows and columns that a block fetches of what it shares

// The part of a tile that one block computes.
struct Part {
    int group, row, column;  // of all groups together
    int end;                 // of the rows of the group
    bool high;               // the blocks lie below one another
};

// The tiles of all groups in order, for a cluster that visits some of them in that order.
struct Walk {
    const int* offsets;
    int M, columns;          // rows of all groups; blocks side by side
    int group, first, next;  // the group of the last tile; its first row, and that of the group after it
    int before;              // tiles of the groups before it

    __device__ Walk(const int* offsets, int M, int N)
        : offsets(offsets), M(M), columns((N + BN - 1) / BN), group(0), first(0), next(GROUPS ? offsets[1] : M), before(0) {}

    // Find this block's part of a tile; false if there is no such tile. Tiles are asked for in ascending order.
    __device__ bool find(int tile, int rank, Part& part) {
        int strips, low;  // tiles below one another that are two blocks high; whether there is one of one block
        for (int tiles;; before += tiles, first = next, next = offsets[++group + 1]) {
            strips = (next - first + BM - 1) / kHigh;
            low = first + strips * kHigh < next;
            tiles = strips * columns + low * ((columns + 1) / 2);
            if (tile < before + tiles) break;
            if (next == M) return false;
        }
        const int number = tile - before, band = min(number / (kRasterStrips * columns), max(strips - 1, 0) / kRasterStrips);
        const int left = strips - band * kRasterStrips, height = min(left, kRasterStrips);
        const int each = 2 * height + (left <= kRasterStrips ? low : 0);  // tiles of two columns
        const int rest = number - band * kRasterStrips * columns, column = rest / each * 2, turn = rest % each;
        part.group = group, part.end = next;
        part.high = turn < min(columns - column, 2) * height;
        const int strip = band * kRasterStrips + (part.high ? turn % height : height);
        part.row = first + strip * kHigh + (part.high ? rank * BM : 0);
        part.column = (column + (part.high ? turn / height : rank)) * BN;
        return true;
    }
};

// Fetch half number `half` of a tile of B, for this block or for both.
template <bool FOR_BOTH>
__device__ void fetch_half(int half, const CUtensorMap* map, int group, unsigned tile, int column, int k, unsigned barrier) {
    constexpr int kBoxColumns = COLUMNS_ALONG_K ? kHalfB : 64;
#pragma unroll
    for (int i = 0; i < kHalfB / kBoxColumns; ++i) {
        const int begin = half * kHalfB + i * kBoxColumns;
        const unsigned to = tile + begin * kRowBytes;
        const int row = COLUMNS_ALONG_K ? column + begin : k, at = COLUMNS_ALONG_K ? k : column + begin;
        if (FOR_BOTH) fetch_plane_for(3, to, map, group, row, at, barrier);
        else fetch_plane(to, map, group, row, at, barrier);
    }
}

// Fetch a stage of a block's part of a tile, and its half of what the other block needs as well.
template <typename RING>
__device__ void fetch_stage(const RING& ring, int stage, const CUtensorMap* maps, const Part& part, int rank, int k) {
    const int halves = part.end - part.row > kHalfA ? 2 : 1;  // of A that have rows of the group
    const unsigned barrier = ring.filled(stage);
    arrive_and_expect(barrier, halves * kHalfA * kRowBytes + TileB::BYTES);
    if (part.high) {
        for (int half = 0; half < halves; ++half)
            fetch(ring.a(stage) + half * kHalfA * kRowBytes, maps, part.row + half * kHalfA, k, barrier);
        fetch_half<true>(rank, maps + 1, part.group, ring.b(stage), part.column, k, barrier);
    } else {
        if (rank < halves)
            fetch_for(3, ring.a(stage) + rank * kHalfA * kRowBytes, maps, part.row + rank * kHalfA, k, barrier);
        fetch_half<false>(0, maps + 1, part.group, ring.b(stage), part.column, k, barrier);
        fetch_half<false>(1, maps + 1, part.group, ring.b(stage), part.column, k, barrier);
    }
}

// Store the rows of a box up to `rows`, 16 bytes at a time.
__device__ inline void store_rows(TC* C, int N, int row0, int column0, unsigned box, int rows) {
    const int lane = threadIdx.x % 32, part = lane % 8, column = column0 + part * (kPart / int(sizeof(TC)));
#pragma unroll
    for (int row = lane / 8; row < 16; row += 4)
        if (row < rows && column < N)
            *reinterpret_cast<uint4*>(C + size_t(row0 + row) * N + column) =
                load_part(box + row * kRowBytes + ((part ^ row) & 7) * kPart);
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
        if constexpr (sizeof(TC) == 4) Boxes::write_words(to, sum + box * Boxes::kColumns / 2);
        else Boxes::write_halves(to, sum + box * Boxes::kColumns / 2);
        if (whole) publish_writes();
        __syncwarp();
        if (!whole) store_rows(C, N, row, column, to, end - row);
        else if (lane == 0) store_box(map, row, column, to);
    }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1) __cluster_dims__(2, 1, 1)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias, const int* offsets,
         const __grid_constant__ Maps<3> maps) {
    extern __shared__ __align__(1024) char shared[];
    const Ring<kBoxes> ring{uniform(address(shared))};
    const int steps = (K + kDepth - 1) / kDepth;
    const int group = uniform(threadIdx.x / 128), thread = threadIdx.x % 128;
    const int first = blockIdx.x / 2, stride = gridDim.x / 2;
    const Cluster block = Cluster::find();
    if (threadIdx.x == kFetcher) prefetch_maps(maps.map, maps.map + 1, maps.map + 2, N);
    if (threadIdx.x == 0) ring.initialize_barriers(Cluster::SHARERS * kGroups);
    __syncthreads();
    Cluster::meet();
    start_next_launch();
    await_launch_before();  // it may write the offsets

    Walk walk(offsets, M, N);
    Part part;
    Place place;
    if (group == kGroups) {
        for (int tile = first; thread == 0 && walk.find(tile, block.row, part); tile += stride) {
            for (int step = 0; step < steps; ++step, place.advance()) {
                await(ring.emptied(place.stage), place.parity ^ 1);  // a fresh barrier lets the first round pass
                fetch_stage(ring, place.stage, maps.map, part, block.row, step * kDepth);
            }
        }
        __syncwarp();
        Cluster::meet();  // so that no block writes to one that has ended
        return;
    }

    const int fetcher = block.find_fetcher(thread);
    int stored = 0;  // boxes of this warp
    for (int tile = first; walk.find(tile, block.row, part); tile += stride) {
        const int row = part.row + group * 64;
        if (row >= part.end) {  // nothing to multiply
            for (int step = 0; step < steps; ++step, place.advance()) {
                await(ring.filled(place.stage), place.parity);
                Cluster::release(ring.emptied(place.stage), fetcher);
            }
            continue;
        }
        float sum[kParts][BN / 2];
        multiply_stages<Cluster>(ring, place, steps, group, fetcher, sum);
        store_part_of_group(sum[0], ring, stored, maps.map + 2, N, row, part.column, part.end, alpha, beta, C,
                            BIAS ? bias + size_t(part.group) * N : bias);
    }
    wait_for_reads<0>();  // a block may end once its boxes are read
    __syncwarp();
    Cluster::meet();
}
