/*---
summary: names a host function that is not there
order: 35
precisions: [f32]
layouts: [nn]
host: start
---*/
#include "multiply.cuh"

extern "C" int run(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                   void* workspace, cudaStream_t stream) {
    const dim3 grid((N + 15) / 16, (M + 15) / 16), block(16, 16);
    multiply<<<grid, block, 0, stream>>>(M, N, K, alpha, A, B, beta, C);
    return cudaGetLastError();
}
