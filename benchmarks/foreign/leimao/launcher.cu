/*---
summary: leimao kernel 06 by its own launcher, which takes alpha and beta by pointer
order: 567
include: [../sources/CUDA-GEMM-Optimization/include, ../sources/CUDA-GEMM-Optimization/src]
host: run
precisions: [f32]
layouts: [nn]
require: [N % 4 == 0 and K % 4 == 0]
reads_c: true
source: https://github.com/leimao/CUDA-GEMM-Optimization
---*/

// The launcher and the function that it calls after a launch are in two files, which are used unchanged.
#include "06_2d_block_tiling_2d_warp_tiling_2d_thread_tiling_matrix_transpose_vectorized_memory_access.cu"
#include "cuda_gemm_utils.cu"

extern "C" int run(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C, void*,
                   cudaStream_t stream) {
    launch_gemm_kernel_v06_vectorized<float>(M, N, K, &alpha, A, K, B, N, &beta, C, N, stream);
    return cudaSuccess;
}
