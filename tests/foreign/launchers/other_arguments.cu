/*---
summary: a C++ function of column-major matrices with arguments in an order of its own, which returns nothing
order: 2
precisions: [f32]
layouts: [nn]
storage: column
host: gemm::start
args: [stream, C, ldc, "&beta", B, ldb, A, lda, alpha, long(M*N), M, N, K]
---*/
namespace gemm {

// C = alpha A B + beta C, column-major: element (row, column) of C is at C[column * ldc + row].
__global__ void multiply(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb,
                         float beta, float* C, int ldc) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[k * lda + row] * B[column * ldb + k];
    float* c = C + column * ldc + row;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}

void start(cudaStream_t stream, float* C, int ldc, float* beta, float* B, int ldb, float* A, int lda, double alpha,
           long long elements, unsigned M, unsigned N, size_t K) {
    if (elements == 0) return;
    const dim3 grid((M + 15) / 16, (N + 15) / 16), block(16, 16);
    multiply<<<grid, block, 0, stream>>>(M, N, K, alpha, A, lda, B, ldb, *beta, C, ldc);
}

}  // namespace gemm
