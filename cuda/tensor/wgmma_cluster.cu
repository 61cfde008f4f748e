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

#include "cluster.cuh"

using Cluster = Member<CLUSTER_M, CLUSTER_N>;
constexpr int kRasterRows = 2048;  // of C that are walked together

// What a cluster does, in order: tiles of CLUSTER_M x CLUSTER_N blocks.
struct Raster {
    int rows, columns;

    __device__ int2 origin(int tile, const Cluster& block) const {
        constexpr int kHeight = kRasterRows / (BM * CLUSTER_M);
        const int band = tile / (kHeight * columns), rest = tile % (kHeight * columns);
        const int height = min(rows - band * kHeight, kHeight), column = rest / height;
        const int row = band * kHeight + rest % height;
        return make_int2((row * CLUSTER_M + block.row) * BM,
                         ((band % 2 ? columns - 1 - column : column) * CLUSTER_N + block.column) * BN);
    }
};

extern "C" __global__ void __launch_bounds__(kThreads, 1) __cluster_dims__(Cluster::BLOCKS, 1, 1)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias,
         const CUtensorMap* maps) {
    extern __shared__ __align__(1024) char shared[];
    const Ring<kBoxes> ring{address(shared)};
    const Raster raster{(M + BM * CLUSTER_M - 1) / (BM * CLUSTER_M), (N + BN * CLUSTER_N - 1) / (BN * CLUSTER_N)};
    const int tiles = raster.rows * raster.columns, steps = (K + kDepth - 1) / kDepth;
    const int group = threadIdx.x / 128, thread = threadIdx.x % 128;
    const int first = blockIdx.x / Cluster::BLOCKS, stride = gridDim.x / Cluster::BLOCKS;
    const Cluster block = Cluster::find();
    if (threadIdx.x == 0) ring.initialize_barriers(Cluster::SHARERS * kGroups);
    __syncthreads();
    Cluster::meet();

    Place place;
    if (group == kGroups) {
        if (kParts > 1) release_registers<40>();
        for (int tile = first; thread == 0 && tile < tiles; tile += stride) {
            const int2 at = raster.origin(tile, block);
            for (int step = 0; step < steps; ++step, place.advance()) {
                await(ring.emptied(place.stage), place.parity ^ 1);  // a fresh barrier lets the first round pass
                block.fetch_stage(ring, place.stage, maps, at, step * kDepth);
            }
        }
        __syncwarp();
        Cluster::meet();  // nobody writes to a block that has ended
        return;
    }

    if (kParts > 1) take_registers<232>();
    const int fetcher = block.find_fetcher(thread);
    int stored = 0;  // boxes of this warp
    for (int tile = first; tile < tiles; tile += stride) {
        float sum[kParts][BN / 2];
        int last = 0;  // the stage before
        for (int step = 0; step < steps; ++step, place.advance()) {
            await(ring.filled(place.stage), place.parity);
            multiply_stage(ring, place.stage, group, sum, step > 0);
            wait_for_products<1>();
            if (step > 0) Cluster::release(ring.emptied(last), fetcher);
            last = place.stage;
        }
        wait_for_products<0>();
        Cluster::release(ring.emptied(last), fetcher);
        const int2 at = raster.origin(tile, block);
#pragma unroll
        for (int part = 0; part < kParts; ++part)
            store_boxes(sum[part], ring, stored, maps + 2, M, N, at.x + (group * kParts + part) * 64, at.y, alpha, beta,
                        C, bias);
    }
    wait_for_stores();
    __syncwarp();
    Cluster::meet();
}
