/*---
summary: clusters of eight, and clusters of two on the SMs that eight do not fill; stream-K
order: 250
precisions: [bf16, f16, bf16_f32, f16_f32, e4m3_fast, e4m3, e5m2_fast, e5m2]
layouts: [nn, nt, tn, tt]
arch: [90a]                     # setmaxnreg
epilogue: [bias, relu]
params:
  BM: [256, 128]                # 256: each warpgroup has two blocks of 64 rows
  BN: [192, 256, 128]
  STAGES: [3, 4]
  LARGE: [15, 14, 16]           # clusters of eight that run at once; this depends on the wiring of a GPU, not on its
                                # number of SMs
  STREAM_K: [1, 0]              # 1: tiles beyond whole waves are cut along K
let:
  small: (SMS - 8 * LARGE) // 2
  wide: 128 // BYTES            # elements of a row of a tile
  partial: 1 if PROMOTED_EVERY else 0  # promotion needs the sums of 64 rows twice
  # A tile that runs along M or N comes in chunks of 64 columns; where they cannot be dealt evenly, they are also cut
  # along k.
  cuts_large: 1 if BN / 64 % 4 == 0 else 4
  cuts_small: 1 if BN / 64 % 2 == 0 else 2
require:
  - small >= 1
  - BYTES == 2 or TRANS_B and not TRANS_A  # fp8 has no transposed descriptors
  - (BM / 128 + partial) * BN <= 384  # else the sums do not fit in registers
  - STAGES * ((BM + BN) * 128 + 16) + 32768 <= SMEM
  - lda * BYTES % 16 == 0       # TMA needs rows that are multiples of 16 bytes
  - ldb * BYTES % 16 == 0
  - N * BYTES_C % 16 == 0
tile: [4 * BM, 2 * BN]
workspace: 4096 + SMS * BM * BN * 4 if STREAM_K else 0
zeroed: 4096 if STREAM_K else 0  # flags, which their readers reset
maps_by_value: true
tensor_maps:                    # of A and B for the large clusters, for the small ones, and of C
  - {operand: A, box: [wide, wide if TRANS_A else BM / 2], swizzle: 128}
  - {operand: B, box: [wide, BN / 4 if TRANS_B else wide / cuts_large], swizzle: 128}
  - {operand: A, box: [wide, wide if TRANS_A else BM], swizzle: 128}
  - {operand: B, box: [wide, BN / 2 if TRANS_B else wide / cuts_small], swizzle: 128}
  - {operand: C, box: [128 / BYTES_C, 16], swizzle: 128}
args: [M, N, K, alpha, A, B, beta, C, bias, workspace, small]
launches:
  - symbol: multiply_large
    grid: [8 * LARGE]
    block: [384]
    shared: STAGES * ((BM + BN) * 128 + 16) + 32768
    pdl: true
  - symbol: multiply_small
    grid: [2 * small]
    block: [384]
    shared: STAGES * ((BM + BN) * 128 + 16) + 32768
    pdl: true
sass:                           # of the main loop
  # ptxas may put waits and moves between products that it does not see through
  - 15 * tensor >= instructions or BYTES == 1
  - spills == 0
source: https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions
---*/

// Compared with wgmma_cluster, there is even less L2 traffic per product: a cluster of 4 x 2 blocks moves half as many
// bytes as one of 2 x 1. But clusters of eight must lie within a GPC, and most GPCs of an H200 have 16 or 18 SMs: 15
// such clusters fill 120 of the 132, which would leave 12 idle. A second launch puts clusters of two there, and both
// launches run at the same time.
//
//      a GPC of 18 SMs                                  a large cluster's tile       four small ones' tiles
//
//                                                           BN      BN                   BN      BN
//      +---------------+---------------+----+            +-------+-------+            +-------+-------+
//      |   large, 8    |   large, 8    | 2  |         BM |       |       |         BM | small | small |
//      +---------------+---------------+----+            |       |       |            |       |       |
//      a GPC of 16                                       | large |       |            +-------+-------+
//      +---------------+---------------+                 |       |       |            | small | small |
//      |   large, 8    |   large, 8    |                 |       |       |            |       |       |
//      +---------------+---------------+                 +-------+-------+            +-------+-------+
//
// Tiles of C are assigned in units of a large cluster's tile; the small clusters get a share in proportion to their
// SMs. The second launch starts while the first runs (pdl) and ends after it; otherwise the two are independent. The
// first launch of the next GEMM is prepared in parallel, and allows its second one to start only when all of this
// GEMM is done:
//
//     GEMM n         | large ------------------------|
//                       | small --------------------|---|
//     GEMM n + 1                               | barriers |  large -----------
//                                                            | small --------
//
// STREAM_K: the tiles that are left after whole waves are cut along K so that all clusters of a part end together. The
// partial sums of a tile are added in the workspace in a fixed order. A cluster first computes the piece that others
// wait for, so no cluster waits for a piece that will never come.
//
// In fp8 an element has half the bytes and is multiplied in half the time, so the traffic is the same and reducing it
// helps as much. Both operands run along K (nt); wgmma_fp8 explains the promotion of sums.
//
// Bound by the power limit of the GPU: even without its loads, the kernel cannot keep the full clock under a steady
// load.

#include "main_loop.cuh"

constexpr int kFlags = 1024;       // ints at the start of the workspace: one per block
constexpr int kLargeM = 4, kLargeN = 2, kSmallM = 2;
constexpr int kLargeBlocks = kLargeM * kLargeN, kSmallPerLarge = kLargeBlocks / kSmallM;
constexpr int kRasterRows = 2048;  // of C that are walked together

struct Work {
    int tile, begin, end;  // of the part; stages of K
    int first_piece;       // the cluster that has the first of the other pieces of this tile, or -1 if there are none
    bool hands_over;       // to the cluster that has the last piece
};

// The tiles of one part, for one of its clusters. Large tiles are numbered in the order in which they pass through L2.
template <bool IS_LARGE> struct Schedule {
    int rows, columns, steps;  // of large tiles; of K
    int mine, given;           // tiles of this part; large tiles that the small clusters take
    int clusters, cluster;

    __device__ Schedule(int M, int N, int K, int small, int cluster)
        : rows((M + kLargeM * BM - 1) / (kLargeM * BM)), columns((N + kLargeN * BN - 1) / (kLargeN * BN)),
          steps((K + kDepth - 1) / kDepth), clusters(IS_LARGE ? LARGE : small), cluster(cluster) {
        const int all = rows * columns, blocks = LARGE * kLargeBlocks + small * kSmallM;
        const int waves = (all * kLargeBlocks + blocks - 1) / blocks;
        given = (2 * all * small * kSmallM + blocks) / (2 * blocks);  // in proportion, rounded
        const int least = max(0, all - waves * LARGE), most = max(waves * small / kSmallPerLarge, least);
        given = min(max(given, least), most);
        mine = IS_LARGE ? all - given : given * kSmallPerLarge;
    }

    // Where the cut stages of a cluster begin.
    __device__ int bound(int cluster) const { return mine % clusters * steps * cluster / clusters; }

    __device__ bool work(int turn, Work& w) const {
        const int whole = STREAM_K ? mine / clusters * clusters : mine, tile = turn * clusters + cluster;
        w = {tile, 0, steps, -1, false};
        if (tile < whole) return true;
        if (!STREAM_K) return false;
        const int begin = bound(cluster), end = bound(cluster + 1);
        const int first = begin / steps, next = (first + 1) * steps;
        const int piece = turn - whole / clusters;
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

    __device__ int2 origin(int tile, int row, int column) const {  // of the block in this place of its cluster
        const int all = rows * columns, kept = all - given;
        const int unit = IS_LARGE ? tile : tile / kSmallPerLarge, part = tile % kSmallPerLarge;
        // At regular intervals a large tile goes to the small clusters: number `unit` of those that do not go to them,
        // or of those that do.
        const int number = IS_LARGE ? unit + unit * given / kept : ((unit + 1) * kept + given - 1) / given + unit;
        constexpr int kHeight = kRasterRows / (BM * kLargeM);
        const int band = number / (kHeight * columns), rest = number % (kHeight * columns);
        const int height = min(rows - band * kHeight, kHeight);
        const int m = band * kHeight + rest % height, n = band % 2 ? columns - 1 - rest / height : rest / height;
        if (!IS_LARGE) row += part % (kLargeM / kSmallM) * kSmallM, column += part / (kLargeM / kSmallM);
        return make_int2((m * kLargeM + row) * BM, (n * kLargeN + column) * BN);
    }
};

// Adds up the sums of a tile that is cut along K: a flag and BM x BN sums for each block.
struct Exchange {
    static constexpr int kThreadsOfSums = 128 * kGroups, kQuads = kParts * BN / 8;  // float4 of a thread
    int* flags;
    float4* sums;

    // `block` counts the blocks of both parts.
    __device__ float4* place(int block) const {
        return sums + size_t(block) * kQuads * kThreadsOfSums + threadIdx.x;
    }

    __device__ void hand_over(int block, const float (&sum)[kParts][BN / 2]) const {
        float4* const to = place(block);
#pragma unroll
        for (int i = 0; i < kQuads; ++i) {
            const float* v = sum[i / (BN / 8)] + i % (BN / 8) * 4;
            store_past_l1(to + i * kThreadsOfSums, {v[0], v[1], v[2], v[3]});
        }
        publish_to_device();
        meet_groups<kThreadsOfSums>();
        if (threadIdx.x == 0) raise_flag(flags + block);
    }

    __device__ void take_over(int block, float (&sum)[kParts][BN / 2]) const {
        if (threadIdx.x == 0) {
            await_flag(flags + block);
            flags[block] = 0;
        }
        meet_groups<kThreadsOfSums>();
        const float4* const from = place(block);
#pragma unroll
        for (int i = 0; i < kQuads; ++i) {
            float* v = sum[i / (BN / 8)] + i % (BN / 8) * 4;
            const float4 piece = load_past_l1(from + i * kThreadsOfSums);
            v[0] += piece.x, v[1] += piece.y, v[2] += piece.z, v[3] += piece.w;
        }
    }
};

template <bool IS_LARGE>
__device__ void multiply(int M, int N, int K, float alpha, float beta, TC* C, const TC* bias, void* workspace,
                         const CUtensorMap* maps, int small) {
    using Cluster = Member<IS_LARGE ? kLargeM : kSmallM, IS_LARGE ? kLargeN : 1>;
    extern __shared__ __align__(1024) char shared[];
    const Ring<kBoxes> ring{uniform(address(shared))};
    const Schedule<IS_LARGE> schedule(M, N, K, small, blockIdx.x / Cluster::BLOCKS);
    const int group = uniform(threadIdx.x / 128), thread = threadIdx.x % 128;
    const Cluster block = Cluster::find();
    const CUtensorMap* const map_a = maps + (IS_LARGE ? 0 : 2);
    if (threadIdx.x == kFetcher) prefetch_maps(map_a, map_a + 1, maps + 4, N);
    if (threadIdx.x == 0) ring.initialize_barriers(Cluster::SHARERS * kGroups);
    __syncthreads();
    Cluster::meet();
    if (!IS_LARGE) start_next_launch();

    Place place;
    Work w;
    if (group == kGroups) {
        if (kTakesRegisters) release_registers<40>();
        if (IS_LARGE && thread == 0) {
            await_launch_before();
            start_next_launch();
        }
        for (int turn = 0; thread == 0 && schedule.work(turn, w); ++turn) {
            const int2 at = schedule.origin(w.tile, block.row, block.column);
            for (int step = w.begin; step < w.end; ++step, place.advance()) {
                await(ring.emptied(place.stage), place.parity ^ 1);  // a fresh barrier lets the first round pass
                const int k = turn_back(step, w.begin, w.end, turn) * kDepth;
                block.fetch_stage(ring, place.stage, map_a, map_a + 1, at, k);
            }
        }
        if (!IS_LARGE && thread == 0) await_launch_before();  // this launch ends after the first one
        __syncwarp();
        Cluster::meet();  // so that no block writes to one that has ended
        return;
    }

    if (kTakesRegisters) take_registers<232>();
    const int fetcher = block.find_fetcher(thread);
    const int first_block = IS_LARGE ? 0 : LARGE * kLargeBlocks;
    const int rank = block.row + block.column * (IS_LARGE ? kLargeM : kSmallM);
    const auto find_block = [&](int cluster) { return first_block + cluster * Cluster::BLOCKS + rank; };
    const Exchange exchange{static_cast<int*>(workspace), reinterpret_cast<float4*>(static_cast<int*>(workspace) + kFlags)};
    const Boxes boxes{M, N, alpha, beta, C, bias};
    int stored = 0;  // boxes of this warp
    for (int turn = 0; schedule.work(turn, w); ++turn) {
        float sum[kParts][BN / 2];
        multiply_stages<Cluster>(ring, place, w.end - w.begin, group, fetcher, sum);
        if (STREAM_K && w.hands_over) {
            exchange.hand_over(find_block(schedule.cluster), sum);
            continue;
        }
        if (STREAM_K && w.first_piece >= 0)
            for (int cluster = w.first_piece; cluster < schedule.cluster; ++cluster)
                if (schedule.bound(cluster) < schedule.bound(cluster + 1))  // it has a piece
                    exchange.take_over(find_block(cluster), sum);
        const int2 at = schedule.origin(w.tile, block.row, block.column);
#pragma unroll
        for (int part = 0; part < kParts; ++part)
            boxes.store<false>(sum[part], ring, stored, maps + 4, at.x + (group * kParts + part) * 64, at.y);
    }
    wait_for_reads<0>();  // a block may end once its boxes are read
    __syncwarp();
    Cluster::meet();
}

extern "C" __global__ void __launch_bounds__(kThreads, 1) __cluster_dims__(kLargeBlocks, 1, 1)
    multiply_large(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias,
                   void* workspace, int small, const __grid_constant__ Maps<5> maps) {
    multiply<true>(M, N, K, alpha, beta, C, bias, workspace, maps.map, small);
}

extern "C" __global__ void __launch_bounds__(kThreads, 1) __cluster_dims__(kSmallM, 1, 1)
    multiply_small(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias,
                   void* workspace, int small, const __grid_constant__ Maps<5> maps) {
    multiply<false>(M, N, K, alpha, beta, C, bias, workspace, maps.map, small);
}
