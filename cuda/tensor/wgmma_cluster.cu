/*---
summary: blocks of a cluster share the tiles that they fetch; C leaves through shared memory by TMA
order: 240
symbol: gemm
precisions: [bf16, f16]
layouts: [nn, nt, tn, tt]
arch: [90a]                     # setmaxnreg
epilogue: [bias, relu]
params:
  BM: [128, 256]                # 256: each warp group has two blocks of 64 rows
  BN: [256, 192, 128, 64]
  STAGES: [4, 3, 6]
  CLUSTER_M: [2, 1]             # blocks below one another: they have the same tile of B
  CLUSTER_N: [1, 2]             # side by side: the same tile of A
let:
  cluster: CLUSTER_M * CLUSTER_N
  # A tile that runs along M or N comes in pieces of 64 columns; where there are too few for all, also cut along k.
  pieces_a: CLUSTER_N if BM / 64 % CLUSTER_N != 0 else 1
  pieces_b: CLUSTER_M if BN / 64 % CLUSTER_M != 0 else 1
require:
  - cluster <= 2                # larger ones leave multiprocessors without work
  - BM * BN <= 49152            # else the sums do not fit in registers
  - STAGES * ((BM + BN) * 128 + 16) + 32768 <= SMEM
  - (M if TRANS_A else K) % 8 == 0   # TMA needs rows that are multiples of 16 bytes
  - (K if TRANS_B else N) % 8 == 0
  - N % 8 == 0
tile: [BM * CLUSTER_M, BN * CLUSTER_N]
tensor_maps:
  - {operand: A, box: [64, 64 / pieces_a if TRANS_A else BM / CLUSTER_N], swizzle: 128}
  - {operand: B, box: [64, BN / CLUSTER_M if TRANS_B else 64 / pieces_b], swizzle: 128}
  - {operand: C, box: [64, 16], swizzle: 128}
grid:
  - cluster * min(SMS // cluster, cdiv(M, BM * CLUSTER_M) * cdiv(N, BN * CLUSTER_N))
block:
  - 384
shared: STAGES * ((BM + BN) * 128 + 16) + 32768
source: https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions
---*/

// Against wgmma_ring: less traffic. What bounds a large product is the energy of moving tiles from L2 to shared
// memory, so the blocks of a cluster move each tile once: every block fetches a part of it, and TMA writes that
// part into the shared memory of all that need it.
//
//         columns 0 to 255
//       +----------------+         A of block 0  ------------------------> block 0
//       |    block 0     |         A of block 1  ------------------------> block 1
//       +----------------+         B, left half,  fetched by block 0 ----> both
//       |    block 1     |         B, right half, fetched by block 1 ----> both
//       +----------------+
//
// A stage may be filled again once the groups of all these blocks have read it, so they arrive at the `emptied`
// barrier of each block that fetches for them.
//
// The tiles of C are dealt in groups of rows, up one column and down the next, so that tiles that are worked on at
// the same time share rows of A and columns of B in L2. Each warp writes its rows of C to shared memory with
// stmatrix, whose banks the swizzle keeps apart, and TMA stores them while the warp goes on: 128 bytes of a row at
// a time instead of the 16 that four lanes hold.
//
// Bound by the power limit: the tensor cores run at 1.5 GHz instead of 1.98 GHz at 8192 on an H200.

#include "epilogue.cuh"
#include "tile.cuh"

constexpr int kGroups = 2, kThreads = 384;   // warp groups that multiply
constexpr int kParts = BM / (64 * kGroups);  // of 64 rows for each group
constexpr int kCluster = CLUSTER_M * CLUSTER_N;
constexpr int kSharers = CLUSTER_M + CLUSTER_N - 1;  // blocks that fetch for a block, itself included
constexpr int kRasterRows = 2048;                    // of C that are walked together
using TileA = Tile<BM, !TRANS_A>;
using TileB = Tile<BN, TRANS_B>;
constexpr int kStageBytes = TileA::BYTES + TileB::BYTES;
constexpr int kBoxBytes = 16 * kRowBytes, kBoxes = 2;  // 16 rows x 64 columns of C; boxes of a warp

// The place in the ring: a stage, and the parity of the phase of its barriers that is waited for.
struct Place {
    int stage = 0;
    unsigned parity = 0;

    __device__ void advance() {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    }
};

struct Ring {
    unsigned tiles;

    __device__ unsigned a(int stage) const { return tiles + stage * kStageBytes; }
    __device__ unsigned b(int stage) const { return a(stage) + TileA::BYTES; }
    __device__ unsigned box(int warp, int turn) const {
        return tiles + STAGES * kStageBytes + (warp * kBoxes + turn % kBoxes) * kBoxBytes;
    }
    __device__ unsigned filled(int stage) const { return box(kGroups * 4, 0) + 16 * stage; }
    __device__ unsigned emptied(int stage) const { return filled(stage) + 8; }
};

// What a cluster does, in order: tiles of CLUSTER_M x CLUSTER_N blocks.
struct Raster {
    int rows, columns;

    __device__ int2 origin(int tile, int block_m, int block_n) const {
        constexpr int kHeight = kRasterRows / (BM * CLUSTER_M);
        const int band = tile / (kHeight * columns), rest = tile % (kHeight * columns);
        const int height = min(rows - band * kHeight, kHeight), column = rest / height;
        const int row = band * kHeight + rest % height;
        return make_int2((row * CLUSTER_M + block_m) * BM,
                         ((band % 2 ? columns - 1 - column : column) * CLUSTER_N + block_n) * BN);
    }
};

// Fetch a part of a tile, number `part` of PARTS, for all `blocks` that share the tile.
template <typename T, int EXTENT, bool ALONG_K, int PARTS>
__device__ void fetch_part(uint16_t blocks, int part, const CUtensorMap* map, unsigned tile, int origin, int k,
                           unsigned barrier) {
    if (PARTS == 1) {
        T::fetch_from(map, tile, origin, k, barrier);
    } else if (ALONG_K) {
        constexpr int kRows = EXTENT / PARTS;
        fetch_for(blocks, tile + part * kRows * kRowBytes, map, origin + part * kRows, k, barrier);
    } else {
        constexpr int kChunks = EXTENT / 64, kCuts = kChunks % PARTS ? PARTS : 1, kRows = 64 / kCuts;
#pragma unroll
        for (int i = 0; i < kChunks * kCuts / PARTS; ++i) {
            const int piece = part * (kChunks * kCuts / PARTS) + i, chunk = piece / kCuts, row = piece % kCuts * kRows;
            fetch_for(blocks, tile + chunk * kChunkBytes + row * kRowBytes, map, k + row, origin + chunk * 64, barrier);
        }
    }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1) __cluster_dims__(kCluster, 1, 1)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias,
         const CUtensorMap* maps) {
    extern __shared__ __align__(1024) char shared[];
    const Ring ring{address(shared)};
    const Raster raster{(M + BM * CLUSTER_M - 1) / (BM * CLUSTER_M), (N + BN * CLUSTER_N - 1) / (BN * CLUSTER_N)};
    const int tiles = raster.rows * raster.columns, steps = (K + kDepth - 1) / kDepth;
    const int group = threadIdx.x / 128, thread = threadIdx.x % 128;
    const int rank = kCluster > 1 ? rank_in_cluster() : 0, block_m = rank % CLUSTER_M, block_n = rank / CLUSTER_M;
    const int first = blockIdx.x / kCluster, stride = gridDim.x / kCluster;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            initialize(ring.filled(stage), 1);
            initialize(ring.emptied(stage), kSharers * kGroups);
        }
        publish_barriers();
    }
    __syncthreads();
    if (kCluster > 1) meet_cluster();

    Place place;
    if (group == kGroups) {
        if (kParts > 1) release_registers<40>();
        if (thread == 0) {
            uint16_t with_a = 0, with_b = 0;  // the blocks with the same tile of A, and of B
            for (int n = 0; n < CLUSTER_N; ++n) with_a |= 1 << (n * CLUSTER_M + block_m);
            for (int m = 0; m < CLUSTER_M; ++m) with_b |= 1 << (block_n * CLUSTER_M + m);
            for (int tile = first; tile < tiles; tile += stride) {
                const int2 at = raster.origin(tile, block_m, block_n);
                for (int step = 0; step < steps; ++step, place.advance()) {
                    const unsigned filled = ring.filled(place.stage);
                    await(ring.emptied(place.stage), place.parity ^ 1);  // a fresh barrier lets the first round pass
                    arrive_and_expect(filled, kStageBytes);
                    fetch_part<TileA, BM, !TRANS_A, CLUSTER_N>(with_a, block_n, maps, ring.a(place.stage), at.x,
                                                               step * kDepth, filled);
                    fetch_part<TileB, BN, TRANS_B, CLUSTER_M>(with_b, block_m, maps + 1, ring.b(place.stage), at.y,
                                                              step * kDepth, filled);
                }
            }
        }
        __syncwarp();
        if (kCluster > 1) meet_cluster();  // nobody writes to a block that has ended
        return;
    }

    if (kParts > 1) take_registers<232>();
    // One thread for each block that fetches for this one: those with its row of tiles, then those with its column.
    int fetcher = -1;
    if (thread < CLUSTER_N) fetcher = thread * CLUSTER_M + block_m;
    else if (thread < kSharers) fetcher = block_n * CLUSTER_M + (block_m + 1 + thread - CLUSTER_N) % CLUSTER_M;
    const auto release = [&](int stage) {
        if (fetcher < 0) return;
        if (kCluster > 1) arrive_at(ring.emptied(stage), fetcher);
        else arrive(ring.emptied(stage));
    };
    int stored = 0;  // boxes of this warp
    for (int tile = first; tile < tiles; tile += stride) {
        float sum[kParts][BN / 2];
        int last = 0;  // the stage before
        for (int step = 0; step < steps; ++step, place.advance()) {
            await(ring.filled(place.stage), place.parity);
            const uint64_t a = TileA::describe(ring.a(place.stage), group * kParts * 64);
            const uint64_t b = TileB::describe(ring.b(place.stage), 0);
            begin_products();
#pragma unroll
            for (int i = 0; i < kSteps; ++i)
#pragma unroll
                for (int part = 0; part < kParts; ++part)
                    multiply_add<BN, TRANS_A, !TRANS_B>(sum[part], a + part * (kChunkBytes / 16) + i * TileA::STEP,
                                                        b + i * TileB::STEP, step + i);
            commit_products();
            wait_for_products<1>();
            if (step > 0) release(last);
            last = place.stage;
        }
        wait_for_products<0>();
        release(last);

        const int2 at = raster.origin(tile, block_m, block_n);
        const bool plain = beta == 0 && !BIAS;  // what lies outside of C is not read
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
            const int row0 = at.x + (group * kParts + part) * 64;
            const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warp_row = row0 + warp % 4 * 16;
            const int row = lane % 16, half = lane / 16;  // of the matrices that the lane names
#pragma unroll
            for (int box = 0; box < BN / 64; ++box) {
                const unsigned to = ring.box(warp, stored++);
                if (lane == 0) wait_for_reads<kBoxes - 1>();
                __syncwarp();
#pragma unroll
                for (int j = 0; j < 8; j += 2) {  // 16 columns
                    unsigned v[4];
#pragma unroll
                    for (int i = 0; i < 4; ++i) {
                        float pair[2];
#pragma unroll
                        for (int e = 0; e < 2; ++e) {
                            const int m = warp_row + i % 2 * 8 + lane / 4;
                            const int n = at.y + (box * 8 + j + i / 2) * 8 + lane % 4 * 2 + e;
                            const bool readable = plain || (m < M && n < N);
                            const float value = sum[part][(box * 8 + j) * 4 + 2 * i + e];
                            pair[e] = readable ? finish(value, alpha, beta, C + size_t(m) * N + n, bias, n) : 0;
                        }
                        v[i] = pack(pair[0], pair[1]);
                    }
                    store_matrices(to + row * kRowBytes + (((j + half) ^ (row % 8)) * 16), v);
                }
                publish_writes();
                __syncwarp();
                if (lane == 0) store_box(maps + 2, warp_row, at.y + box * 64, to);
            }
        }
    }
    wait_for_stores();
    __syncwarp();
    if (kCluster > 1) meet_cluster();
}
