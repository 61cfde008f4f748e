/*---
summary: writes more workspace than its host function returns
order: 33
precisions: [f32]
layouts: [nn]
host: run
workspace: {host: bytes}
---*/
#include "multiply.cuh"

__global__ void fill(float* workspace, int count) {
    for (int i = threadIdx.x; i < count; i += blockDim.x) workspace[i] = 0;
}

extern "C" size_t bytes(int M, int N, int K) { return size_t(M) * sizeof(float); }

extern "C" int run(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                   void* workspace, cudaStream_t stream) {
    const dim3 grid((N + 15) / 16, (M + 15) / 16), block(16, 16);
    fill<<<1, 128, 0, stream>>>(static_cast<float*>(workspace), M + 1);
    multiply<<<grid, block, 0, stream>>>(M, N, K, alpha, A, B, beta, C);
    return cudaGetLastError();
}
