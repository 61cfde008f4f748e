/*---
summary: cannot say how much workspace it needs
order: 34
precisions: [f32]
layouts: [nn]
host: run
workspace: {host: bytes}
---*/
#include "multiply.cuh"

#include <stdexcept>

extern "C" size_t bytes(int M, int N, int K) { throw std::runtime_error("no workspace for this size"); }

extern "C" int run(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                   void* workspace, cudaStream_t stream) {
    const dim3 grid((N + 15) / 16, (M + 15) / 16), block(16, 16);
    multiply<<<grid, block, 0, stream>>>(M, N, K, alpha, A, B, beta, C);
    return cudaGetLastError();
}
