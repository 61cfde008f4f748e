/*---
summary: small tiles, with K split among the warps of a block, the blocks of a cluster or all blocks, for small results
order: 47
precisions: [f32]
layouts: [nn, nt, tn, tt]
arch: [90a]                     # setmaxnreg
params:
  BM: [64]
  BN: [64, 128]
  STAGES: [6, 4]
  SLICES: [4, 8]                # of K in a block: 8 k of each stage per slice
  CLUSTER: [1, 2, 4, 8]         # blocks that share a tile and add their sums through distributed shared memory
  SPLIT: [1, 2, 3, 4, 8, 16]    # clusters that share a tile and add their sums through the workspace
  STREAM_K: [0, 1]              # 1: one wave of blocks with 4 stages; tiles beyond whole waves are cut along K
let:
  tiles: max(1, (M + BM - 5) // BM) * max(1, (N + BN - 5) // BN)  # see edges.cuh
  edge_rows: M > BM and 1 <= M % BM <= 4  # what tiles leave out
  edge_columns: N > BN and 1 <= N % BN <= 4
  ring: STAGES * 32 * SLICES * (BM + BN)  # bytes in shared memory
  sums: 4 * SLICES * BM * (BN + 4)
  blocks: SMS * (512 // (SLICES * BN))  # that run at once, with STREAM_K if their ring has 4 stages
  height_a: K if TRANS_A else M  # rows of A as it is stored, each of lda elements
  copy_a: lda % 4 != 0          # TMA needs rows that are multiples of 16 bytes: others are copied and padded
  copy_b: TRANS_B or (N % 4 != 0 and M > BM)
  bytes_a: 16 * height_a * cdiv(lda, 4) if copy_a else 0  # of the copies
  bytes_b: 16 * K * cdiv(N, 4) if copy_b else 0
  bytes_sums: 4 * BM * BN * (2 * blocks if STREAM_K else SPLIT * tiles if SPLIT > 1 else 0)
require:
  - SLICES * BN <= 512          # threads, and shared memory
  - SPLIT == 1 or tiles * CLUSTER <= 8192
  - not STREAM_K or CLUSTER * SPLIT == 1
workspace: 32768 + bytes_a + bytes_b + bytes_sums
zeroed: 32768 if SPLIT > 1 or STREAM_K else 0  # counters, which the last part of a tile resets
tensor_maps:                    # of A, of its copy, of B, of its copy as K x N
  - operand: A
    shape: [lda, height_a]
    box: [BM if TRANS_A else 32, 8 * SLICES if TRANS_A else BM]
    swizzle: 0 if TRANS_A else 128
    when: not copy_a
  - operand: workspace
    offset: 32768
    shape: [lda, height_a]
    pitch: cdiv(lda, 4) * 4
    box: [BM if TRANS_A else 32, 8 * SLICES if TRANS_A else BM]
    swizzle: 0 if TRANS_A else 128
    when: copy_a
  - {operand: B, shape: [N, K], box: [BN, 8 * SLICES], when: not TRANS_B and N % 4 == 0}
  - operand: workspace
    offset: 32768 + bytes_a
    shape: [N, K]
    pitch: cdiv(N, 4) * 4
    box: [BN, 8 * SLICES]
    when: copy_b
launches:
  - symbol: edges               # first: `arrange` finds in L2 what it has read
    grid:
      - (cdiv(N, 8) if edge_rows else 0) + (cdiv(M, 8) if edge_columns else 0)
    block: [256]
    pdl: true
    when: edge_rows or edge_columns
  - symbol: arrange
    grid:
      - (cdiv(M, 64) * cdiv(K, 64) if copy_a else 0) + (cdiv(N, 64) * cdiv(K, 64) if copy_b else 0)
    block: [256]
    pdl: true
    when: copy_a or copy_b
  - symbol: gemm
    grid:
      - blocks if STREAM_K else tiles * CLUSTER * SPLIT
    block: [SLICES * BN // 2 + 128]
    shared: (ring + sums // 2 if STREAM_K else max(ring, sums)) + 16 * STAGES
    pdl: true
sass:                           # of the main loop: what ptxas must keep as written
  - 100 * ffma >= 92 * instructions
  - 20 * conflicts <= ffma
  - load_distance >= 100
  - spills == 0
source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#distributed-shared-memory
---*/

// Compared with sgemm_tma: 1024 x 1024 has only 32 of its tiles, for 132 SMs. It is 256 tiles of 64 x 64, but each of
// those keeps a single warp busy, and a scheduler needs two warps to hide waits. So the warps of a block split the k of
// a stage among themselves, and each covers the whole tile:
//
//      stage:  A 64 x 32, B 32 x 64        warp 0: k 0 .. 7    warp 1: k 8 .. 15    warp 2: k 16 .. 23    warp 3: k 24 .. 31
//
//      once, at the end:                   tile      +         tile       +         tile        +         tile  -> C
//                                               through shared memory, where the ring was
//
// Four slices of 64 x 64 make blocks of 4 such warps, two per SM. Where there are few tiles, more blocks share one:
// CLUSTER of them add their sums through distributed shared memory, which takes a few microseconds less than through
// global memory. But a cluster has at most 8 blocks and its SMs must be neighbours, so SPLIT serves a long K.
//
// Where no number of parts fills the waves, STREAM_K gives each block the same number of stages:
//
//      3 tiles of 8 stages, 4 blocks:   tile 0         | tile 1         | tile 2
//                                       block 0    | block 1    | block 2    | block 3
//
// A block then adds up and stores more than once. The ring also fills for its next tile: the sums have separate memory,
// half as much, since the slices add theirs in two steps.
//
// Up to four rows or columns beyond whole tiles get no extra tiles, which would be at most one-sixteenth full and, at
// 1025, would add a second wave. A launch of matrix-vector products computes them from A and B as stored.
//
// The next launch does not begin before the blocks of this one have ended (launch.cuh).
//
// The loop is that of sgemm_tma, which explains its order. It has the same bound as sgemm_tma; at 1024, a fifth of the
// time goes to the launch, the first fetch and the reduction.

#include "../common/hopper.cuh"

#include "../common/arrange.cuh"
#include "../common/edges.cuh"
#include "in_order.cuh"

constexpr int kSliceWarps = (BM / WM) * (BN / WN);
constexpr int kMathThreads = kSliceWarps * SLICES * 32, kFetchThreads = 128;
constexpr int kBlocks = 256 / kMathThreads;                       // per SM
constexpr int kUnroll = 8, BK = kUnroll * SLICES;                 // k of one slice in a stage, and of all
constexpr int kSwizzled = 32;                                     // k of a row of A under the swizzle: 128 bytes
constexpr int kBytesA = 4 * BM * BK, kBytesB = 4 * BK * BN;       // of a stage
constexpr int kRowA = TRANS_A ? 4 * BM : 4 * kSwizzled, kRowB = 4 * BN;  // bytes of a row of a tile in shared memory
constexpr int kPitch = BN + 4;                                    // of a tile of sums: 16-byte stores without conflicts
constexpr int kRing = STAGES * (kBytesA + kBytesB);               // bytes
constexpr int kSumSlices = STREAM_K ? SLICES / 2 : SLICES;        // whose sums are in shared memory at once
constexpr int kSums = 4 * kSumSlices * BM * kPitch;
constexpr int kSumsAt = STREAM_K ? kRing : 0;                     // in place of the ring, or after it where it fills again
constexpr int kBarriers = kRing > kSumsAt + kSums ? kRing : kSumsAt + kSums;  // after both, as threads may arrive late
constexpr int kFlags = 8192;                                      // ints at the start of the workspace, to count parts
constexpr int kMostParts = 16;                                    // of a tile that STREAM_K cuts: one block adds them up

__device__ void store4(unsigned to, float4 v) {
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
}

struct Stages {
    int begin, end;
};

// A block's share of a tile of C: some rows with CLUSTER, some k with SPLIT and STREAM_K.
struct Work {
    int tile, rank;
    int2 at;
    Stages stages;
    int part, parts;  // which part of its k, of how many
    int first;        // the block that has part 0, of a tile that is cut
};

// What a block does, in order. With STREAM_K, first its share of the tiles that are cut (the end of one, the beginning
// of the next, or the middle of one), then whole tiles. No block waits for another: whichever block brings the last
// part of a tile finishes the tile.
struct Schedule {
    int columns, count, stages;  // of tiles; of K
    int cut, share;              // tiles that are cut, and the stages of them per block

    __device__ Schedule(int M, int N, int K)
        : columns(tiles(N, BN)), count(tiles(M, BM) * columns), stages((K + BK - 1) / BK), cut(0), share(0) {
        if (!STREAM_K || stages == 0) return;
        const int blocks = gridDim.x;
        cut = count % blocks;
        if (8 * cut >= 7 * blocks) cut = 0;  // an almost full wave of whole tiles takes no longer
        share = max((cut * stages + blocks - 1) / blocks, (stages + kMostParts - 1) / kMostParts);
    }

    // False if there is no work for turn `turn`.
    __device__ bool work(int turn, Work& w) const {
        const int block = blockIdx.x;
        if (!STREAM_K) {
            constexpr int PARTS = CLUSTER * SPLIT;
            const int part = block % PARTS;
            w.tile = block / PARTS, w.rank = block % CLUSTER, w.part = part / CLUSTER, w.parts = SPLIT;
            w.stages = {int((long long)stages * part / PARTS), int((long long)stages * (part + 1) / PARTS)};
            locate(w);
            return turn == 0;
        }
        w.rank = w.first = 0;
        const int begin = block * share, end = min(begin + share, cut * stages);
        if (begin < end) {
            const int tile = begin / stages, next = (tile + 1) * stages;
            if (turn-- == 0) return take(w, tile, begin, min(end, next));
            if (next < end && turn-- == 0) return take(w, tile + 1, next, end);
        }
        w.tile = cut + block + turn * gridDim.x, w.part = 0, w.parts = 1, w.stages = {0, stages};
        locate(w);
        return w.tile < count;
    }

    // Where part `part` of the k of a tile lies in the workspace: each block has room for two, the end of one tile and
    // the beginning of the next.
    __device__ int find_slot(const Work& w, int part) const {
        const int block = w.first + part;
        return 2 * block + (block * share < w.tile * stages);
    }

  private:
    // Stages begin to end, counted over all tiles that are cut.
    __device__ bool take(Work& w, int tile, int begin, int end) const {
        const int from = tile * stages;
        w.tile = tile, w.stages = {begin - from, end - from};
        w.first = from / share, w.part = blockIdx.x - w.first, w.parts = (from + stages - 1) / share - w.first + 1;
        locate(w);
        return true;
    }

    __device__ void locate(Work& w) const { w.at = make_int2(w.tile / columns * BM, w.tile % columns * BN); }
};

// Which operands are copied first. B is not copied where one row of tiles reads all of it, because the copy would cost
// more than the product.
__device__ Arranged arrange_operands(int M, int N, int K) { return {M, N, K, TRANS_B || (N % 4 != 0 && M > BM)}; }

// TMA cannot fetch B, and it is not copied, so all fetching threads bring it to the ring as it is stored.
__device__ bool fetched_by_threads(const Arranged& arranged, int N) { return N % 4 != 0 && !arranged.b; }

extern "C" __global__ void __launch_bounds__(256)
    arrange(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C, void* workspace,
            const CUtensorMap* maps) {
    await_launch_before();
    arrange_operands(M, N, K).copy_tile(M, K, A, B, static_cast<float*>(workspace) + kFlags);
}

extern "C" __global__ void __launch_bounds__(kEdgeThreads, 2)
    edges(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C, void* workspace,
          const CUtensorMap* maps) {
    await_launch_before();
    multiply_edges(M, N, K, alpha, A, B, beta, C);
}

struct Ring {
    unsigned a, b;             // STAGES tiles
    unsigned filled, emptied;  // STAGES mbarriers
};

__device__ void fetch_a(unsigned tile, const CUtensorMap* map, int m, int k, unsigned barrier) {
    if (TRANS_A) fetch(tile, map, k, m, barrier);
    else
        for (int part = 0; part < BK / kSwizzled; ++part)
            fetch(tile + part * BM * kRowA, map, m, k + part * kSwizzled, barrier);
}

__device__ void fetch_all(const Schedule& schedule, const Ring& ring, const CUtensorMap* map_a, const CUtensorMap* map_b) {
    int stage = 0, parity = 1;
    Work w;
    for (int turn = 0; schedule.work(turn, w); ++turn)
        for (int s = w.stages.begin; s < w.stages.end; ++s) {
            const unsigned filled = ring.filled + 8 * stage;
            await(ring.emptied + 8 * stage, parity);
            arrive_and_expect(filled, kBytesA + kBytesB);
            fetch_a(ring.a + stage * kBytesA, map_a, w.at.x, s * BK, filled);
            fetch(ring.b + stage * kBytesB, map_b, s * BK, w.at.y, filled);
            if (++stage == STAGES) stage = 0, parity ^= 1;
        }
    // The readers look one stage ahead, even past the last one.
    await(ring.emptied + 8 * stage, parity);
    arrive(ring.filled + 8 * stage);
}

// Copies a tile of B, with zeros outside B. A warp takes 32 neighbouring elements of a row.
__device__ void copy_b(unsigned tile, const float* B, int k0, int n0, int N, int K) {
    constexpr int ROWS = kFetchThreads / BN;  // that the threads copy at once
    const int thread = threadIdx.x - kMathThreads, k = k0 + thread / BN, n = n0 + thread % BN;
    const float* from = B + size_t(k) * N + n;
    const unsigned to = tile + 4 * thread;
    if (k0 + BK <= K && n0 + BN <= N) {
#pragma unroll
        for (int row = 0; row < BK; row += ROWS, from += ROWS * size_t(N))
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to + row * kRowB), "l"(from) : "memory");
    } else {
#pragma unroll 1
        for (int row = 0; row < BK; row += ROWS, from += ROWS * size_t(N)) {
            const bool inside = k + row < K && n < N;
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to + row * kRowB), "l"(inside ? from : B),
                         "r"(inside ? 4 : 0)
                         : "memory");
        }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Like fetch_all, but threads copy B. A thread reports its part of a stage as done after starting kLag more.
__device__ void copy_all(const Schedule& schedule, const Ring& ring, const CUtensorMap* map_a, const float* B, int N, int K) {
    constexpr int kLag = STAGES / 2;  // STAGES - 1 would deadlock: readers release a stage after reading the next one
    const bool first = threadIdx.x == kMathThreads;
    int stage = 0, parity = 1, behind = 0;  // stages that have not been announced yet
    const auto arrive_back = [&](int back) { arrive(ring.filled + 8 * ((stage + STAGES - back) % STAGES)); };
    Work w;
    for (int turn = 0; schedule.work(turn, w); ++turn)
        for (int s = w.stages.begin; s < w.stages.end; ++s) {
            await(ring.emptied + 8 * stage, parity);
            if (first) {
                arrive_and_expect(ring.filled + 8 * stage, kBytesA);
                fetch_a(ring.a + stage * kBytesA, map_a, w.at.x, s * BK, ring.filled + 8 * stage);
            }
            __syncwarp();
            copy_b(ring.b + stage * kBytesB, B, s * BK, w.at.y, N, K);
            if (behind == kLag) {
                asm volatile("cp.async.wait_group %0;" ::"n"(kLag) : "memory");
                arrive_back(kLag);
            } else ++behind;
            if (++stage == STAGES) stage = 0, parity ^= 1;
        }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    for (; behind > 0; --behind) arrive_back(behind);
    await(ring.emptied + 8 * stage, parity);
    if (first) arrive(ring.filled + 8 * stage);
    arrive_back(0);
}

__device__ void add(float4& to, float4 v) { to.x += v.x, to.y += v.y, to.z += v.z, to.w += v.w; }

__device__ float4 load4_at(unsigned from) {
    float v[4];
    load4(v, from);
    return make_float4(v[0], v[1], v[2], v[3]);
}

// Four sums at the same address in block `rank` of the cluster.
__device__ float4 load4_of(int rank, unsigned from) {
    float4 v;
    asm volatile(
        "{ .reg .u32 there; mapa.shared::cluster.u32 there, %4, %5;"
        " ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there]; }"
        : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
        : "r"(from), "r"(rank)
        : "memory");
    return v;
}

// Adds up the slices of the block into the tile of the first; then the blocks of the cluster, each of which finishes
// ROWS rows; then the parts of k, which the last block to arrive adds up for all. The order of the additions does not
// depend on which block arrives first.
__device__ void reduce_and_store(unsigned sums, const Schedule& schedule, const Work& w, int M, int N, int K, float beta,
                                 TC* C, void* workspace) {
    constexpr int FOURS = BN / 4, ROWS = BM / CLUSTER;
    const auto place = [=](int e) { return sums + 4 * (e / FOURS * kPitch + e % FOURS * 4); };
    const auto of_block = [=](int e) {
        float4 total = load4_at(place(e));
#pragma unroll
        for (int s = 1; s < kSumSlices; ++s) add(total, load4_at(place(e) + s * 4 * BM * kPitch));
        return total;
    };
    const auto store = [=](int e, float4 v) {
        const int m = w.at.x + w.rank * ROWS + e / FOURS, n = w.at.y + e % FOURS * 4;
        if (m >= M || n >= N) return;
        TC* const c = C + size_t(m) * N + n;
        if (N % 4 == 0) {
            float4* const c4 = reinterpret_cast<float4*>(c);
            if (beta != 0) add(v, make_float4(beta * c4->x, beta * c4->y, beta * c4->z, beta * c4->w));
            *c4 = v;
        } else {
            const float each[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int x = 0; x < 4; ++x)
                if (n + x < N) c[x] = beta == 0 ? each[x] : each[x] + beta * c[x];
        }
    };
    const Arranged arranged = arrange_operands(M, N, K);
    const int number = w.tile * CLUSTER + w.rank, parts = STREAM_K ? w.parts : SPLIT;
    int* const counter = static_cast<int*>(workspace) + number;
    float4* const sums_of_parts = reinterpret_cast<float4*>(static_cast<float*>(workspace) + kFlags + arranged.floats_a() +
                                                          arranged.floats_b(N, K));
    const auto part = [=](int p) {
        return sums_of_parts + size_t(STREAM_K ? schedule.find_slot(w, p) : number * SPLIT + p) * (ROWS * FOURS);
    };

    if (CLUSTER > 1) {
#pragma unroll 4
        for (int e = threadIdx.x; e < BM * FOURS; e += kMathThreads) store4(place(e), of_block(e));
        sync_cluster();
    }
    float4* const own = part(w.part);
#pragma unroll 4
    for (int e = threadIdx.x; e < ROWS * FOURS; e += kMathThreads) {
        const unsigned from = place(w.rank * ROWS * FOURS + e);
        float4 v = CLUSTER == 1 ? of_block(e) : load4_of(0, from);
#pragma unroll
        for (int block = 1; block < CLUSTER; ++block) add(v, load4_of(block, from));
        if (parts == 1) store(e, v);
        else __stcg(own + e, v);
    }
    if (CLUSTER > 1) sync_cluster();  // no block may exit while another reads from it
    if (parts == 1) return;

    __shared__ int before;
    __threadfence();
    meet_groups<kMathThreads>();
    if (threadIdx.x == 0) {
        before = atomicAdd(counter, 1);
        if (before == parts - 1) *counter = 0;  // reset for the next launch
        __threadfence();
    }
    meet_groups<kMathThreads>();
    if (before < parts - 1) return;
    if (STREAM_K) {
        const float4 *const head = part(0), *const rest = part(1);  // from part 1 on, one block has room for two
#pragma unroll 1
        for (int e = threadIdx.x; e < ROWS * FOURS; e += kMathThreads) {
            float4 total = __ldcg(head + e);
#pragma unroll 4
            for (int p = 1; p < parts; ++p) add(total, __ldcg(rest + size_t(p - 1) * (2 * ROWS * FOURS) + e));
            store(e, total);
        }
        return;
    }
#pragma unroll 1
    for (int e = threadIdx.x; e < ROWS * FOURS; e += kMathThreads) {
        float4 v[SPLIT];
#pragma unroll
        for (int s = 0; s < SPLIT; ++s) v[s] = __ldcg(part(s) + e);
#pragma unroll
        for (int s = 1; s < SPLIT; ++s) add(v[0], v[s]);
        store(e, v[0]);
    }
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(kMathThreads + kFetchThreads, kBlocks)
    gemm(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C, void* workspace,
         const CUtensorMap* maps) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const unsigned base = address(shared), barriers = base + kBarriers;
    const Ring ring = {base, base + STAGES * kBytesA, barriers, barriers + 8 * STAGES};
    const Schedule schedule(M, N, K);
    const Arranged arranged = arrange_operands(M, N, K);
    const CUtensorMap *const map_a = maps + arranged.a, *const map_b = maps + 2 + arranged.b;

    if (threadIdx.x == kMathThreads) {
        prefetch(map_a);
        if (!fetched_by_threads(arranged, N)) prefetch(map_b);
    }
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            initialize(ring.filled + 8 * s, fetched_by_threads(arranged, N) ? 1 + kFetchThreads : 1);
            initialize(ring.emptied + 8 * s, kMathThreads / 32);
        }
        publish_barriers();
    }
    __syncthreads();

    // Move registers from the fetching threads (TMA needs only one of them) to those that multiply.
    if (threadIdx.x >= kMathThreads) {
        release_registers<kBlocks == 1 ? 40 : 24>();
        await_launch_before();  // the others wait for what these threads fetch
        if (fetched_by_threads(arranged, N)) copy_all(schedule, ring, map_a, B, N, K);
        else if (threadIdx.x == kMathThreads) fetch_all(schedule, ring, map_a, map_b);
        return;
    }
    take_registers<232>();

    // A lane has rows lane_m + { 0, 8, 16 ... } of its warp's tile (4 * lane_m + { 0 .. 3, 32 .. 35 } if A is
    // transposed) and columns 4 * lane_n + { 0 .. 3, 16 .. 19, 32 .. 35, 48 .. 51 }. Neighbouring lanes differ in both,
    // so no load is broadcast to two lanes: such loads return two registers per cycle and take register-file ports from
    // the multiply-adds.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int lane_n = lane % 4, lane_m = lane / 4 ^ 2 * lane_n;
    const int slice = warp / kSliceWarps, k0 = slice * kUnroll;
    const int row = warp % kSliceWarps / (BN / WN) * WM + (TRANS_A ? 4 : 1) * lane_m;
    const int col = warp % (BN / WN) * WN + 4 * lane_n;
    const unsigned from_a = opaque(ring.a + (TRANS_A ? k0 * kRowA + 4 * row : (k0 / kSwizzled * BM + row) * kRowA), lane);
    const unsigned from_b = opaque(ring.b + k0 * kRowB + 4 * col, lane);
    const unsigned swizzle = opaque(16 * lane_m ^ 4 * (k0 % kSwizzled), lane);

    float sum[TM][TN], b[2][TN];
    float a[TRANS_A ? 2 : TM][TRANS_A ? TM : 4];  // two k of all rows, or four k
    const auto load_a = [&](int k, unsigned from) {
#pragma unroll
        for (int h = 0; h < TM / 4; ++h) load4(a[k % 2] + (TRANS_A ? 4 * h : 0), from + h * 128);
    };
    // Loads four k of row i.
    const auto load_row = [&](int i, unsigned from) { load4(a[TRANS_A ? 0 : i], from + 8 * i * kRowA); };
    const auto load_b = [&](int k, unsigned from) {
#pragma unroll
        for (int q = 0; q < TN / 4; ++q) load4(b[k % 2] + 4 * q, from + 64 * q);
    };

    int stage = 0;
    unsigned parity = 0, at_a = from_a, at_b = from_b, used = 0;
    await(ring.filled, 0);
    if (TRANS_A) load_a(0, at_a);
#pragma unroll
    for (int i = 0; i < TM; ++i)
        if (!TRANS_A) load_row(i, at_a ^ swizzle);
    load_b(0, at_b);

    Work w;
    for (int turn = 0; schedule.work(turn, w); ++turn) {
#pragma unroll
        for (int i = 0; i < TM; ++i)
#pragma unroll
            for (int j = 0; j < TN; ++j) sum[i][j] = 0;

#pragma unroll 1
        for (int left = w.stages.end - w.stages.begin; left > 0; --left) {
            unsigned chunk = 0;
#pragma unroll
            for (int k = 0; k < kUnroll; ++k) {
                const int ahead = (k + 1) % kUnroll;
                if (ahead == 0) {  // the next k is the first of the next iteration
                    // Release the stage before the one just read, whose loads may still be in flight.
                    if (used != 0) arrive_once(used, lane);
                    used = ring.emptied + 8 * stage;
                    if (++stage == STAGES) stage = 0, parity ^= 1;
                    await(ring.filled + 8 * stage, parity);
                    at_a = from_a + stage * kBytesA;
                    at_b = from_b + stage * kBytesB;
                }
                load_b(ahead, at_b + ahead * kRowB);
                if (TRANS_A) load_a(ahead, at_a + ahead * kRowA);
                if (ahead % 4 == 0) chunk = (at_a + 4 * ahead) ^ swizzle;
#pragma unroll
                for (int i = 0; i < TM; ++i) {
#pragma unroll
                    for (int step = 0; step < TN; ++step) {
                        const int j = column(i, k, step);
                        multiply_add(sum[i][j], a[TRANS_A ? k % 2 : i][TRANS_A ? i : k % 4], b[k % 2][j]);
                    }
                    if (!TRANS_A && ahead % 4 == 0) load_row(i, chunk);
                    fence(M);
                }
            }
        }

        const unsigned sums = base + kSumsAt, own = sums + 4 * ((slice % kSumSlices * BM + row) * kPitch + col);
        const auto store_sums = [&](bool adds) {
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int q = 0; q < TN / 4; ++q) {
                    const unsigned to = own + 4 * ((TRANS_A ? i % 4 + i / 4 * 32 : 8 * i) * kPitch + 16 * q);
                    float4 v = scaled(alpha, sum[i] + 4 * q);
                    if (adds) add(v, load4_at(to));
                    store4(to, v);
                }
        };
        meet_groups<kMathThreads>();  // the memory for the sums is free
        if (!STREAM_K || slice >= kSumSlices) store_sums(false);
        meet_groups<kMathThreads>();
        if (STREAM_K) {
            if (slice < kSumSlices) store_sums(true);
            meet_groups<kMathThreads>();
        }
        reduce_and_store(sums, schedule, w, M, N, K, beta, C, workspace);
    }
}
