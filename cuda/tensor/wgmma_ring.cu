/*---
summary: one warpgroup fetches tiles into a ring, the others only multiply; blocks stay and take tile after tile
order: 230
symbol: gemm
precisions: [bf16, f16, bf16_f32, f16_f32]
layouts: [nn, nt, tn, tt]
arch: [90a]                     # setmaxnreg
epilogue: [bias, relu]
params:
  BM: [128, 256]                # 256: each warpgroup has two blocks of 64 rows
  BN: [256, 192, 128, 64]
  STAGES: [4, 3, 6]
require:
  - BM * BN <= 49152            # else the sums do not fit in registers
  - STAGES * ((BM + BN) * 128 + 16) <= SMEM
  - lda % 8 == 0              # TMA needs rows that are multiples of 16 bytes
  - ldb % 8 == 0
tile: [BM, BN]
maps_by_value: true
tensor_maps:
  - {operand: A, box: [64, 64 if TRANS_A else BM], swizzle: 128}
  - {operand: B, box: [64, BN if TRANS_B else 64], swizzle: 128}
grid:
  - min(SMS, cdiv(M, BM) * cdiv(N, BN))
block:
  - 384
shared: STAGES * ((BM + BN) * 128 + 16)
sass:                           # of the main loop
  - 15 * tensor >= instructions # ptxas may put waits and moves between products that it does not see through
  - spills == 0
source: https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions
---*/

// Compared with wgmma: STAGES pairs of tiles instead of one. Different warpgroups fetch and multiply, and they
// synchronise only at the barriers of the ring. The products of a stage are queued before those of the previous stage
// are done, so the tensor cores never run dry.
//
//     group 2, one thread   fetch 0 | fetch 1 | fetch 2 | fetch 3 | waits for stage 0 | fetch 4 ...
//                             | filled                                  ^ emptied
//     groups 0 and 1          +--> multiply 0 | multiply 1 | multiply 2 | ...      | store a tile | multiply ...
//
// At most one block runs per SM. Each takes every gridDim.x-th tile of C and fetches the next tiles while it stores
// the current one. A thread that multiplies needs more registers than one that waits, so with BM = 256 the groups
// exchange them (setmaxnreg).
//
// Bound on large problems by the clock of the tensor cores, which the power limit lowers, and by L2: each block reads
// its tiles by itself.

#include "epilogue.cuh"
#include "ring.cuh"

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias,
         const __grid_constant__ Maps<2> maps) {
    extern __shared__ __align__(1024) char shared[];
    const Ring<0> ring{uniform(address(shared))};
    const int columns = (N + BN - 1) / BN, tiles = (M + BM - 1) / BM * columns, steps = (K + kDepth - 1) / kDepth;
    const int group = uniform(threadIdx.x / 128);
    if (threadIdx.x == 0) ring.initialize_barriers(kGroups);
    __syncthreads();

    Place place;
    if (group == kGroups) {
        if (kParts > 1) release_registers<40>();
        if (threadIdx.x % 128 != 0) return;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int row0 = tile / columns * BM, column0 = tile % columns * BN;
            for (int step = 0; step < steps; ++step, place.advance()) {
                const unsigned filled = ring.filled(place.stage);
                await(ring.emptied(place.stage), place.parity ^ 1);  // a fresh barrier lets the first round pass
                arrive_and_expect(filled, kStageBytes);
                TileA::fetch_from(maps.map, ring.a(place.stage), row0, step * kDepth, filled);
                TileB::fetch_from(maps.map + 1, ring.b(place.stage), column0, step * kDepth, filled);
            }
        }
        return;
    }

    if (kParts > 1) take_registers<232>();
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        float sum[kParts][BN / 2];
        int last = 0;  // the stage before
        for (int step = 0; step < steps; ++step, place.advance()) {
            await(ring.filled(place.stage), place.parity);
            multiply_stage(ring, place.stage, group, sum, step > 0);
            wait_for_products<1>();
            if (step > 0 && threadIdx.x % 128 == 0) arrive(ring.emptied(last));
            last = place.stage;
        }
        wait_for_products<0>();
        if (threadIdx.x % 128 == 0) arrive(ring.emptied(last));
        const int row0 = tile / columns * BM + group * kParts * 64, column0 = tile % columns * BN;
#pragma unroll
        for (int part = 0; part < kParts; ++part)
            store_sums<BN>(sum[part], M, N, row0 + part * 64, column0, alpha, beta, C, bias);
    }
}
