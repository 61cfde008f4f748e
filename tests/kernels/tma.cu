/*---
summary: tiles of 32 x 32 fetched by TMA; a transposed A is first transposed into the workspace
order: 2
precisions: [f32]
layouts: [nn, tn]
params:
  SWIZZLE: [128, 0]
require:
  - N % 4 == 0                          # rows of B begin at multiples of 16 bytes
workspace: 4 * M * cdiv(K, 4) * 4 if TRANS_A else 0
tensor_maps:
  - operand: A
    box: [32, 32]
    swizzle: SWIZZLE
    when: TRANS_A == 0
  - operand: workspace
    shape: [K, M]
    pitch: cdiv(K, 4) * 4
    box: [32, 32]
    swizzle: SWIZZLE
    when: TRANS_A
  - operand: B
    box: [32, 32]
launches:
  - symbol: turn
    grid:
      - cdiv(K, 16)
      - cdiv(M, 16)
    block: [16, 16]
    when: TRANS_A
  - symbol: gemm
    grid:
      - cdiv(N, 32)
      - cdiv(M, 32)
    block: [32, 32]
---*/
#include <cuda.h>
#include <stdint.h>

constexpr int kTile = 32, kTileBytes = kTile * kTile * 4;

__device__ uint32_t shared_address(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }

__device__ void load(void* tile, const CUtensorMap* map, int x, int y, uint64_t* barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(shared_address(tile)), "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier)) : "memory");
}

__device__ bool arrived(uint64_t* barrier, int phase) {
    uint32_t done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared_address(barrier)), "r"(phase) : "memory");
    return done;
}

extern "C" __global__ void turn(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                void* workspace, const CUtensorMap* maps) {
    const int k = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y, pitch = (K + 3) / 4 * 4;
    if (k < K && row < M) static_cast<TA*>(workspace)[row * pitch + k] = A[k * M + row];
}

extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C,
                                void* workspace, const CUtensorMap* maps) {
    __shared__ alignas(1024) float a[kTile][kTile];
    __shared__ alignas(1024) float b[kTile][kTile];
    __shared__ uint64_t barrier;
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
    const bool first = x == 0 && y == 0;
    if (first) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    TACC sum = 0;
    for (int k0 = 0, phase = 0; k0 < K; k0 += kTile, phase ^= 1) {
        if (first) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                         ::"r"(shared_address(&barrier)), "r"(2 * kTileBytes) : "memory");
            load(a, maps + TRANS_A, k0, blockIdx.y * kTile, &barrier);
            load(b, maps + 2, blockIdx.x * kTile, k0, &barrier);
        }
        while (!arrived(&barrier, phase)) {}
        // With a swizzle, 16-byte chunk i of row y lies at i xor (y modulo 8).
        for (int k = 0; k < kTile; ++k) sum += a[y][SWIZZLE ? k ^ y % 8 * 4 : k] * b[k][x];
        __syncthreads();
    }
    if (row >= M || column >= N) return;
    TC* c = C + row * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
