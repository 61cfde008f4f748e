/*---
summary: allocates memory for every launch, in the order of the stream
order: 23
precisions: [f32]
layouts: [nn]
host: run
---*/
__global__ void multiply(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
    float* c = C + row * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}

extern "C" int run(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                   void* workspace, cudaStream_t stream) {
    const dim3 grid((N + 15) / 16, (M + 15) / 16), block(16, 16);
    void* memory = nullptr;
    if (const cudaError_t fault = cudaMallocAsync(&memory, 1 << 20, stream)) return fault;
    multiply<<<grid, block, 0, stream>>>(M, N, K, alpha, A, B, beta, C);
    return cudaFreeAsync(memory, stream);
}
