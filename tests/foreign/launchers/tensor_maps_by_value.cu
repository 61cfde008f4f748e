/*---
summary: tensor maps that the host function encodes and passes by value
order: 4
precisions: [f32]
layouts: [nn]
min_sm: 90
params:
  TILE: [32, 16]
require:
  - N % 4 == 0 and K % 4 == 0   # TMA needs rows that are multiples of 16 bytes
tile: [TILE, TILE]
host: run
---*/
#include <cuda.h>
#include <stdint.h>

constexpr int TILE_BYTES = TILE * TILE * 4;

__device__ uint32_t shared_address(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }

__device__ void load(void* tile, const CUtensorMap* map, int x, int y, uint64_t* barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(shared_address(tile)), "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier)) : "memory");
}

__device__ bool arrived(uint64_t* barrier, int phase) {
    uint32_t done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared_address(barrier)), "r"(phase) : "memory");
    return done;
}

__global__ void multiply(int M, int N, int K, float alpha, const __grid_constant__ CUtensorMap map_a,
                         const __grid_constant__ CUtensorMap map_b, float beta, float* C) {
    __shared__ alignas(128) float a[TILE][TILE];
    __shared__ alignas(128) float b[TILE][TILE];
    __shared__ uint64_t barrier;
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    const bool first = x == 0 && y == 0;
    if (first) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    float sum = 0;
    for (int k0 = 0, phase = 0; k0 < K; k0 += TILE, phase ^= 1) {
        if (first) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                         ::"r"(shared_address(&barrier)), "r"(2 * TILE_BYTES) : "memory");
            load(a, &map_a, k0, blockIdx.y * TILE, &barrier);
            load(b, &map_b, blockIdx.x * TILE, k0, &barrier);
        }
        while (!arrived(&barrier, phase)) {}
        for (int k = 0; k < TILE; ++k) sum += a[y][k] * b[k][x];  // TMA fills what lies outside with zeros
        __syncthreads();
    }
    if (row >= M || column >= N) return;
    float* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}

// The driver's function, without linking the driver.
static decltype(&cuTensorMapEncodeTiled) find_encoder() {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
    return result == cudaDriverEntryPointSuccess ? reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found) : nullptr;
}

static int encode(CUtensorMap* map, const float* matrix, int rows, int columns) {
    static const auto encoder = find_encoder();
    if (encoder == nullptr) return cudaErrorSymbolNotFound;
    const cuuint64_t shape[] = {cuuint64_t(columns), cuuint64_t(rows)}, pitch[] = {cuuint64_t(columns) * 4};
    const cuuint32_t box[] = {TILE, TILE}, steps[] = {1, 1};
    return encoder(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, const_cast<float*>(matrix), shape, pitch, box, steps,
                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

extern "C" int run(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C, void*,
                   cudaStream_t stream) {
    CUtensorMap map_a, map_b;
    if (const int fault = encode(&map_a, A, M, K)) return fault;
    if (const int fault = encode(&map_b, B, K, N)) return fault;
    const dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE), block(TILE, TILE);
    multiply<<<grid, block, 0, stream>>>(M, N, K, alpha, map_a, map_b, beta, C);
    return cudaGetLastError();
}
