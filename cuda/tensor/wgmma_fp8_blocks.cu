/*---
summary: wgmma in fp8 with scales of blocks, which multiply the sum of 128 products as it is promoted
order: 265
precisions: [e4m3_blocks]
layouts: [nt]                   # both operands along K: fp8 has no transposed descriptors
arch: [90a]                     # setmaxnreg
epilogue: [bias, relu]
params:
  BM: [256, 128]                # 256: each warpgroup has two blocks of 64 rows
  BN: [128, 192, 64]
  STAGES: [4, 3, 6]
  CLUSTER_M: [1, 2]             # blocks below one another: they have the same tile of B
  CLUSTER_N: [1, 2]             # side by side: the same tile of A
let:
  any_n: N * BYTES_C % 16 != 0  # C does not leave by TMA
  cluster: CLUSTER_M * CLUSTER_N
  # Boxes that no other block shares have no more rows than C, because TMA takes twice as long if a box reaches beyond
  # it.
  rows_a: min(BM, M) if CLUSTER_N == 1 else BM / CLUSTER_N
  rows_b: min(BN, N) if CLUSTER_M == 1 else BN / CLUSTER_M
  copies: K % 16 != 0           # TMA needs rows that are multiples of 16 bytes: others are copied and padded
  pitch: cdiv(K, 16) * 16       # of the copies
  bytes: STAGES * ((BM + BN) * 128 + 16) + 32768
require:
  - cluster <= 2                # larger ones leave SMs without work
  - (BM / 128 + 1) * BN <= 384  # else the sums do not fit in registers
  - bytes <= SMEM
tile: [BM * CLUSTER_M, BN * CLUSTER_N]
maps_by_value: true
tensor_maps:
  - {operand: A, box: [128, rows_a], swizzle: 128, when: not copies}
  - {operand: B, box: [128, rows_b], swizzle: 128, when: not copies}
  - {operand: C, box: [64, 16], swizzle: 128, when: N % 8 == 0}
  - {operand: workspace, shape: [K, M], pitch: pitch, box: [128, rows_a], swizzle: 128, when: copies}
  - operand: workspace
    offset: M * pitch
    shape: [K, N]
    pitch: pitch
    box: [128, rows_b]
    swizzle: 128
    when: copies
workspace: (M + N) * pitch if copies else 0
launches:
  - symbol: pad
    grid:
      - min(4 * SMS, cdiv((M + N) * pitch, 512))
    block: [256]
    when: copies
    pdl: true
  - symbol: gemm<any_n>
    grid:
      - cluster * min(SMS // cluster, cdiv(M, BM * CLUSTER_M) * cdiv(N, BN * CLUSTER_N))
    block: [384]
    shared: bytes
    pdl: true
sass:
  - spills == 0                 # in the main loop
source: https://docs.nvidia.com/cuda/cublas/#scaling-factors-layouts
---*/

// Compared with wgmma_fp8: one row of A has a scale for every 128 k, and 128 columns of B have one for every 128 k. That
// is a stage of the ring, after which partial sums are promoted anyway. So the addition becomes a multiply-add, and the
// scales cost no more than loading them:
//
//     partial = A B over 128 k, on tensor cores                 sum += partial      (wgmma_fp8)
//     factor  = scale_a[row] * scale_b[128 columns]             sum += partial * factor
//
// A lane has the sums of two rows of each block of 64, as have the three beside it. So each of the four loads the scale
// of one row, and shuffles give it to the others. They load those of B for four steps, which lie side by side: a number
// that all lanes load alike would be kept in a uniform register, for which ptxas waits at once. Loads are issued a step
// ahead, behind the products of this one, so that nothing waits for them.
//
//                 scale_b[0]   scale_b[1]                    BN = 192
//                +------------+------                    column0 = 0:    128 columns | 64
//     scale_a[0] |            |                          column0 = 192:   64 | 128
//     scale_a[1] |  128 x 128 |
//     ...        |            |                          so each 64 columns have a factor of their own
//                +------------+------
//
// Bound by the power limit on large problems, and by shared memory, as wgmma_fp8 is.

#include "persistent.cuh"

static_assert(SCALE_M == 1 && SCALE_K == kDepth && kPromotes, "a stage of the ring has the scales of one step along K");

constexpr int kFactors = BN % SCALE_N ? BN / 64 : BN / SCALE_N, kWidth = BN / kFactors;  // of B; columns of each

// The scales of one step in a tile, spread over the lanes of a warp: each has that of a row, and of one of four steps
// of B.
struct Scales {
    const float *a, *b;
    int M, N, pitch;  // of b
    int row, columns[kFactors];
    unsigned step;
    float of_row, of_columns[kFactors];

    // Rows and columns outside C get the scales of the last one.
    __device__ void move_to(int2 tile, int row_in_tile) {
        row = min(tile.x + row_in_tile, M - 1);
#pragma unroll
        for (int i = 0; i < kFactors; ++i) columns[i] = min(tile.y + i * kWidth, N - 1) / SCALE_N * pitch + threadIdx.x % 4;
    }

    __device__ void load(int at) {
        step = at;
        of_row = a[at * M + row];
#pragma unroll
        for (int i = 0; i < kFactors; ++i) of_columns[i] = b[columns[i] + (step & ~3u)];
    }

    // The product of the scales of A and B for each row of the lane, and each kWidth columns.
    __device__ void multiply(float (&factor)[2 * kParts][kFactors]) const {
        float column[kFactors];
#pragma unroll
        for (int j = 0; j < kFactors; ++j) column[j] = __shfl_sync(~0u, of_columns[j], step % 4);
#pragma unroll
        for (int i = 0; i < 2 * kParts; ++i) {
            const float of_one = __shfl_sync(~0u, of_row, threadIdx.x % 32 / 4 * 4 + i);
#pragma unroll
            for (int j = 0; j < kFactors; ++j) factor[i][j] = of_one * column[j];
        }
    }
};

// Add the products of a stage, times their scales, to the sums of a group, and load the scales of step `next`.
template <typename RING>
__device__ void promote_stage(const RING& ring, int stage, int group, Scales& scales, int next, float (&sum)[kParts][BN / 2]) {
    const uint64_t b = TileB::describe(ring.b(stage), 0);
    float factor[2 * kParts][kFactors];
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
        const uint64_t a = TileA::describe(ring.a(stage), (group * kParts + part) * 64);
        float partial[BN / 2];
        begin_products();
#pragma unroll
        for (int i = 0; i < kSteps; ++i) multiply_add<BN>(partial, a + i * TileA::STEP, b + i * TileB::STEP, i > 0);
        commit_products();
        if (part == 0) {
            scales.multiply(factor);
            scales.load(next);
        }
        wait_for_products<0>();
#pragma unroll
        for (int i = 0; i < BN / 2; ++i) sum[part][i] += partial[i] * factor[2 * part + i / 2 % 2][i / 4 * 8 / kWidth];
    }
}

extern "C" __global__ void __launch_bounds__(kPadThreads, kPadBlocks)
    pad(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias,
        const float* scale_a, const float* scale_b, void* workspace, const __grid_constant__ Maps<5> maps) {
    copy_operands(M, N, K, A, B, workspace);
}

template <bool ANY_N>
__global__ void __launch_bounds__(kThreads, 1) __cluster_dims__(CLUSTER_M * CLUSTER_N, 1, 1)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias,
         const float* scale_a, const float* scale_b, void* workspace, const __grid_constant__ Maps<5> maps) {
    extern __shared__ __align__(1024) char shared[];
    using Cluster = Member<CLUSTER_M, CLUSTER_N>;
    const Ring<kBoxes> ring{uniform(address(shared))};
    const Raster<CLUSTER_M, CLUSTER_N> raster(M, N);
    const int tiles = raster.rows * raster.columns, steps = (K + kDepth - 1) / kDepth;
    const int group = uniform(threadIdx.x / 128), thread = threadIdx.x % 128;
    const int first = blockIdx.x / Cluster::BLOCKS, stride = gridDim.x / Cluster::BLOCKS;
    const Cluster block = Cluster::find();
    const Sources<> sources(M, N, K);
    const CUtensorMap *const map_a = sources.map_a(maps.map, 3), *const map_b = sources.map_b(maps.map, 3);
    if (threadIdx.x == kFetcher) prefetch_maps(map_a, map_b, maps.map + 2, N);
    if (threadIdx.x == 0) ring.initialize_barriers(Cluster::SHARERS * kGroups);
    __syncthreads();
    Cluster::meet();
    start_next_launch();

    Place place;
    if (group == kGroups) {
        if (kTakesRegisters) release_registers<40>();
        const int bytes = Cluster::count_bytes(M, N);
        if (thread == 0) await_launch_before();
        for (int tile = first, turn = 0; thread == 0 && tile < tiles; tile += stride, ++turn) {
            const int2 at = raster.origin(tile, block);
            for (int step = 0; step < steps; ++step, place.advance()) {
                await(ring.emptied(place.stage), place.parity ^ 1);  // a fresh barrier lets the first round pass
                block.fetch_stage(ring, place.stage, map_a, map_b, at, turn_back(step, 0, steps, turn) * kDepth, bytes);
            }
        }
        __syncwarp();
        Cluster::meet();  // so that no block writes to one that has ended
        return;
    }

    if (kTakesRegisters) take_registers<232>();
    const int fetcher = block.find_fetcher(thread), lane = thread % 32;
    const int row = (group * kParts + lane % 4 / 2 % kParts) * 64 + thread / 32 * 16 + lane % 2 * 8 + lane / 4;
    const Boxes boxes{M, N, alpha, beta, C, bias};
    Scales scales{scale_a, scale_b, M, N, (steps + 3) / 4 * 4};
    await_launch_before();  // the scales may be new
    int2 at = raster.origin(first, block);
    scales.move_to(at, row);
    scales.load(0);
    int stored = 0;  // boxes of this warp
    for (int tile = first, turn = 0; tile < tiles; tile += stride, ++turn) {
        float sum[kParts][BN / 2] = {};
        for (int step = 0; step < steps; ++step, place.advance()) {
            const int next = turn_back(min(step + 1, steps - 1), 0, steps, turn);
            await(ring.filled(place.stage), place.parity);
            promote_stage(ring, place.stage, group, scales, next, sum);
            Cluster::release(ring.emptied(place.stage), fetcher);
        }
        const int2 here = at;
        if (tile + stride < tiles) {
            at = raster.origin(tile + stride, block);
            scales.move_to(at, row);
            scales.load(turn_back(0, 0, steps, turn + 1));
        }
#pragma unroll
        for (int part = 0; part < kParts; ++part)
            boxes.store<ANY_N>(sum[part], ring, stored, maps.map + 2, here.x + (group * kParts + part) * 64, here.y);
    }
    wait_for_reads<0>();  // a block may end once its boxes are read
    __syncwarp();
    Cluster::meet();
}
