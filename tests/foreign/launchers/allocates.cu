/*---
summary: allocates memory for every launch
order: 22
precisions: [f32]
layouts: [nn]
host: run
---*/
#include "multiply.cuh"

extern "C" int run(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                   void* workspace, cudaStream_t stream) {
    const dim3 grid((N + 15) / 16, (M + 15) / 16), block(16, 16);
    void* memory = nullptr;
    if (const cudaError_t fault = cudaMalloc(&memory, 1 << 20)) return fault;
    multiply<<<grid, block, 0, stream>>>(M, N, K, alpha, A, B, beta, C);
    return cudaFree(memory);
}
