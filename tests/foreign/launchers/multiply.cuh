// The kernel that most of these files launch: one thread for each element of C.
__global__ void multiply(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
    float* c = C + row * N + column;
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
