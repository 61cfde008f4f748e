#pragma once

// C = alpha A B + beta C for sizes that TILE divides.
template <int TILE>
__global__ void sgemm_tile(const float* A, int lda, const float* B, int ldb, float* C, int ldc,
                           int M, int N, int K, float alpha, float beta) {
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    const int i = threadIdx.y, j = threadIdx.x;
    A += blockIdx.x * TILE * lda;
    B += blockIdx.y * TILE;
    C += blockIdx.x * TILE * ldc + blockIdx.y * TILE;

    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        As[i][j] = A[i * lda + k0 + j];
        Bs[i][j] = B[(k0 + i) * ldb + j];
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += As[i][k] * Bs[k][j];
        __syncthreads();
    }
    C[i * ldc + j] = alpha * sum + beta * C[i * ldc + j];
}
