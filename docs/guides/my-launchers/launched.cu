/*---
summary: a kernel with a host function that launches it
order: 61
precisions: [f32]
layouts: [nn]
params:
  THREADS: [256, 128]
host: run
---*/

__global__ void multiply(int M, int N, int K, float alpha, const float* A, const float* B,
                         float beta, float* C) {
    const int row = blockIdx.y, column = blockIdx.x * THREADS + threadIdx.x;
    if (column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(row) * K + k] * B[size_t(k) * N + column];
    float* c = C + size_t(row) * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}

extern "C" int run(int M, int N, int K, float alpha, const float* A, const float* B, float beta,
                   float* C, void* workspace, cudaStream_t stream) {
    const dim3 grid((N + THREADS - 1) / THREADS, M);
    multiply<<<grid, THREADS, 0, stream>>>(M, N, K, alpha, A, B, beta, C);
    return cudaGetLastError();
}
