// Two templates: one thread for each element, with tiles in shared memory, in two namespaces.
#pragma once
#include <cassert>
#ifdef __CUDACC__
#include <cuda_runtime.h>
#endif

#include "bounds.cuh"
#include <rows.cuh>

namespace shop {

template <int BM, int BN, int BK, typename T>
__global__ void __launch_bounds__(BM* BN) tiled(const T* __restrict__ A, const T* __restrict__ B, T* C, T alpha,
                                                T beta, int M, int N, int K, int lda, int ldb, int ldc) {
    __shared__ T As[BM][BK], Bs[BK][BN];
    const int row = blockIdx.y * BM + threadIdx.y, column = blockIdx.x * BN + threadIdx.x;
    const int thread = threadIdx.y * BN + threadIdx.x;
    T sum = 0;
    for (int first = 0; first < K; first += BK) {
        for (int i = thread; i < BM * BK; i += BM * BN) {
            const int m = blockIdx.y * BM + i / BK, k = first + i % BK;
            As[i / BK][i % BK] = inside(m, k, M, K) ? A[at(m, k, lda)] : T(0);
        }
        for (int i = thread; i < BK * BN; i += BM * BN) {
            const int k = first + i / BN, n = blockIdx.x * BN + i % BN;
            Bs[i / BN][i % BN] = inside(k, n, K, N) ? B[at(k, n, ldb)] : T(0);
        }
        __syncthreads();
        for (int k = 0; k < BK; ++k) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    if (!inside(row, column, M, N)) return;
    T* c = C + at(row, column, ldc);
    *c = beta == T(0) ? alpha * sum : alpha * sum + beta * *c;
}

// Another instantiation in the same file, which must not be taken for the one that is launched.
template __global__ void tiled<4, 8, 4, double>(const double*, const double*, double*, double, double, int, int, int,
                                                int, int, int);

}  // namespace shop
