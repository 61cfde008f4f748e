/*---
summary: wgmma on tiles that TMA has put into shared memory, one pair of tiles at a time
order: 220
symbol: gemm
precisions: [bf16, f16, bf16_f32, f16_f32]
layouts: [nn, nt, tn, tt]
arch: [90a]
epilogue: [bias, relu]
params:
  BM: [128]
  BN: [256, 128, 64]
require:
  - lda % 8 == 0              # TMA needs rows that are multiples of 16 bytes
  - ldb % 8 == 0
tile: [BM, BN]
maps_by_value: true
tensor_maps:
  - {operand: A, box: [64, 64 if TRANS_A else BM], swizzle: 128}
  - {operand: B, box: [64, BN if TRANS_B else 64], swizzle: 128}
grid:
  - cdiv(N, BN)
  - cdiv(M, BM)
block:
  - BM * 2
shared: (BM + BN) * 128 + 8
source: https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions
---*/

// Compared with mma_sync: four warps, a warpgroup, multiply together, and they take both operands from shared memory.
// No register holds an element of A or B, so there are no fragments to load and no ldmatrix. One thread fetches both
// tiles with a few TMA instructions, which also swizzle the 16-byte parts of rows as wgmma requires.
//
//     thread 0        fetch A, B ----------+                     fetch A, B -----------+
//     barrier              filled after BM x 64 + 64 x BN elements      |
//     warpgroup 0                          |  4 wgmma, rows 0 to 63     |              |  4 wgmma
//     warpgroup 1                          |  4 wgmma, rows 64 to 127   |              |  4 wgmma
//                                                                    all are done
//
// Bound by the wait for memory in every step: the tensor cores idle while tiles arrive.

#include "epilogue.cuh"
#include "tile.cuh"

constexpr int kThreads = BM / 64 * 128;
using TileA = Tile<BM, !TRANS_A>;
using TileB = Tile<BN, TRANS_B>;

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias,
         const __grid_constant__ Maps<2> maps) {
    extern __shared__ __align__(1024) char shared[];
    const unsigned tile_a = uniform(address(shared)), tile_b = tile_a + TileA::BYTES, filled = tile_b + TileB::BYTES;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN, group = uniform(threadIdx.x / 128);
    if (threadIdx.x == 0) {
        initialize(filled, 1);
        publish_barriers();
        publish_writes();
    }
    __syncthreads();

    float sum[BN / 2];
    unsigned parity = 0;
    for (int k = 0; k < K; k += kDepth) {
        if (threadIdx.x == 0) {
            arrive_and_expect(filled, TileA::BYTES + TileB::BYTES);
            TileA::fetch_from(maps.map, tile_a, row0, k, filled);
            TileB::fetch_from(maps.map + 1, tile_b, column0, k, filled);
        }
        await(filled, parity);
        parity ^= 1;
        const uint64_t a = TileA::describe(tile_a, group * 64), b = TileB::describe(tile_b, 0);
        begin_products();
#pragma unroll
        for (int step = 0; step < kSteps; ++step)
            multiply_add<BN, TRANS_A, !TRANS_B>(sum, a + step * TileA::STEP, b + step * TileB::STEP, k + step);
        commit_products();
        wait_for_products<0>();
        __syncthreads();  // no thread reads the tiles any more
    }

    store_sums<BN>(sum, M, N, row0 + group * 64, column0, alpha, beta, C, bias);
}
