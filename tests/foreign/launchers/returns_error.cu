/*---
summary: asks for a block that no GPU has, and returns the error
order: 24
precisions: [f32]
layouts: [nn]
host: run
---*/
#include "multiply.cuh"

extern "C" int run(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                   void* workspace, cudaStream_t stream) {
    const dim3 grid((N + 63) / 64, (M + 63) / 64), block(64, 64);
    multiply<<<grid, block, 0, stream>>>(M, N, K, alpha, A, B, beta, C);
    return cudaGetLastError();
}
