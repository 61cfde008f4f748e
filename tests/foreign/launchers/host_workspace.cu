/*---
summary: parts of K summed in a workspace whose size a host function returns; its first bytes count blocks
order: 3
precisions: [f32]
layouts: [nn, nt]
params:
  PARTS: [4, 3]
host: run
workspace: {host: bytes}
zeroed: 256
---*/

// Each block sums a part of K for one element per thread; the last block of a column of blocks adds the parts up and
// leaves the counter at zero.

constexpr int COUNTERS = 64;

__global__ void multiply(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C,
                         unsigned* counters, float* parts) {
    const int first = K * blockIdx.z / PARTS, end = K * (blockIdx.z + 1) / PARTS;
    for (int element = blockIdx.x * blockDim.x + threadIdx.x; element < M * N; element += gridDim.x * blockDim.x) {
        const int row = element / N, column = element % N;
        float sum = 0;
        for (int k = first; k < end; ++k) sum += A[row * K + k] * (TRANS_B ? B[column * K + k] : B[k * N + column]);
        parts[size_t(blockIdx.z) * M * N + element] = sum;
    }
    __threadfence();
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(counters + blockIdx.x, 1) == PARTS - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (int element = blockIdx.x * blockDim.x + threadIdx.x; element < M * N; element += gridDim.x * blockDim.x) {
        float sum = 0;
        for (int part = 0; part < PARTS; ++part) sum += parts[size_t(part) * M * N + element];
        C[element] = beta == 0 ? alpha * sum : alpha * sum + beta * C[element];
    }
    if (threadIdx.x == 0) counters[blockIdx.x] = 0;
}

extern "C" size_t bytes(int M, int N, int K) { return COUNTERS * 4 + size_t(PARTS) * M * N * 4; }

extern "C" int run(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C, void* workspace,
                   cudaStream_t stream) {
    auto* counters = static_cast<unsigned*>(workspace);
    auto* parts = static_cast<float*>(workspace) + COUNTERS;
    multiply<<<dim3(COUNTERS, 1, PARTS), 256, 0, stream>>>(M, N, K, alpha, A, B, beta, C, counters, parts);
    return cudaGetLastError();
}
