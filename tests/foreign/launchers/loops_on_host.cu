/*---
summary: never returns
order: 31
precisions: [f32]
layouts: [nn]
host: run
---*/
#include "multiply.cuh"

extern "C" int run(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                   void* workspace, cudaStream_t stream) {
    for (volatile int turns = 0;; turns = 1) {}
}
