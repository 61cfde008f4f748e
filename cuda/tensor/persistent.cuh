// The work of a persistent cluster's blocks: one thread fetches stage after stage of tile after tile, and the
// other warpgroups multiply and store.

#pragma once

#include "main_loop.cuh"
#include "pad.cuh"
#include "raster.cuh"

// Compute C with all clusters of the grid. `maps` has the tensor maps of A, B and C, and those of the copies of
// A and B. ANY_N: the row length of C need not be a multiple of 16 bytes.
template <int CM, int CN, bool ANY_N>
__device__ void multiply_tiles(int M, int N, int K, float alpha, float beta, TC* C, const TC* bias,
                               const CUtensorMap* maps, char* shared) {
    using Cluster = Member<CM, CN>;
    const Ring<kBoxes> ring{uniform(address(shared))};
    const Raster<CM, CN> raster(M, N);
    const int tiles = raster.rows * raster.columns, steps = (K + kDepth - 1) / kDepth;
    const int group = uniform(threadIdx.x / 128), thread = threadIdx.x % 128;
    const int first = blockIdx.x / Cluster::BLOCKS, stride = gridDim.x / Cluster::BLOCKS;
    const Cluster block = Cluster::find();
    const Sources<> sources(M, N, K);
    const CUtensorMap *const map_a = sources.map_a(maps, 3), *const map_b = sources.map_b(maps, 3);
    if (threadIdx.x == kFetcher) prefetch_maps(map_a, map_b, maps + 2, N);
    if (threadIdx.x == 0) ring.initialize_barriers(Cluster::SHARERS * kGroups);
    __syncthreads();
    Cluster::meet();
    start_next_launch();

    Place place;
    if (group == kGroups) {
        if (kTakesRegisters) release_registers<40>();
        const int bytes = Cluster::count_bytes(M, N);
        if (thread == 0) await_launch_before();  // the other groups wait for what this thread fetches
        for (int tile = first, turn = 0; thread == 0 && tile < tiles; tile += stride, ++turn) {
            const int2 at = raster.origin(tile, block);
            for (int step = 0; step < steps; ++step, place.advance()) {
                await(ring.emptied(place.stage), place.parity ^ 1);  // a fresh barrier lets the first round pass
                const int k = turn_back(step, 0, steps, turn) * kDepth;
                block.fetch_stage(ring, place.stage, map_a, map_b, at, k, bytes);
            }
        }
        __syncwarp();
        Cluster::meet();  // so that no block writes to one that has ended
        return;
    }

    if (kTakesRegisters) take_registers<232>();
    const int fetcher = block.find_fetcher(thread);
    const Boxes boxes{M, N, alpha, beta, C, bias};
    int stored = 0;  // boxes of this warp
    for (int tile = first; tile < tiles; tile += stride) {
        float sum[kParts][BN / 2];
        multiply_stages<Cluster>(ring, place, steps, group, fetcher, sum);
        const int2 at = raster.origin(tile, block);
#pragma unroll
        for (int part = 0; part < kParts; ++part)
            boxes.store<ANY_N>(sum[part], ring, stored, maps + 2, at.x + (group * kParts + part) * 64, at.y);
    }
    wait_for_reads<0>();  // a block may end once its boxes are read
    __syncwarp();
    Cluster::meet();
}
