// C++ names. `scaled` multiplies C by beta without testing it, `added` ignores beta, `partly` leaves elements out.
struct Place {
    int row, column;
};

__device__ Place find_place() {
    return {int(blockIdx.y * blockDim.y + threadIdx.y), int(blockIdx.x * blockDim.x + threadIdx.x)};
}

__device__ float dot(const float* A, const float* B, int M, int N, int K, Place p) {
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[size_t(p.row) * K + k] * B[size_t(k) * N + p.column];
    return sum;
}

__global__ void scaled(int M, int N, int K, float alpha, float* A, float* B, float beta, float* C) {
    const Place p = find_place();
    if (p.row < M && p.column < N) {
        float* c = &C[size_t(p.row) * N + p.column];
        *c = alpha * dot(A, B, M, N, K, p) + beta * *c;
    }
}

__global__ void added(int M, int N, int K, float alpha, float* A, float* B, float beta, float* C) {
    const Place p = find_place();
    if (p.row < M && p.column < N) C[size_t(p.row) * N + p.column] += alpha * dot(A, B, M, N, K, p);
}

__global__ void partly(int M, int N, int K, float alpha, float* A, float* B, float beta, float* C) {
    const Place p = find_place();
    if (p.row >= M || p.column >= N || (p.row == 3 && p.column == 4)) return;
    float* c = &C[size_t(p.row) * N + p.column];
    *c = alpha * dot(A, B, M, N, K, p) + beta * *c;
}

// Neither alpha nor beta; counts of elements, and arguments that mean nothing here.
__global__ void product(const float* A, size_t elements_of_a, const float* B, long long elements_of_b, float* C,
                        unsigned rows, unsigned columns, void* stream, float scale, double tolerance, int mode) {
    const Place p = find_place();
    const int K = elements_of_a / rows;
    if (p.row >= int(rows) || p.column >= int(columns)) return;
    if (stream != nullptr || scale != 2.5f || tolerance != 1e-3 || mode != -1) return;
    if (elements_of_b != (long long)(K) * columns) return;
    C[size_t(p.row) * columns + p.column] = dot(A, B, rows, columns, K, p);
}
