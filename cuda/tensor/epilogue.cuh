// What becomes of a sum before it is stored: alpha, beta, bias and ReLU.

#pragma once

// The value of an element of C in column n. C is read only where beta is not 0.
__device__ inline float finish(float sum, float alpha, float beta, const TC* c, const TC* bias, int n) {
    float value = alpha * sum;
    if (beta != 0) value += beta * float(*c);
    if (BIAS) value += float(bias[n]);
    if (RELU && value < 0) value = 0;  // a NaN stays
    return value;
}

// Store the sums of a warpgroup, 64 x N of C from (row0, column0) on, each thread its own: see multiply_add.
template <int N>
__device__ void store_sums(const float (&sum)[N / 2], int M, int columns, int row0, int column0, float alpha, float beta,
                           TC* C, const TC* bias) {
    const int lane = threadIdx.x % 32, row = row0 + threadIdx.x % 128 / 32 * 16 + lane / 4;
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
        const int m = row + i / 2 % 2 * 8, n = column0 + i / 4 * 8 + lane % 4 * 2 + i % 2;
        if (m >= M || n >= columns) continue;
        TC* c = C + size_t(m) * columns + n;
        *c = TC(finish(sum[i], alpha, beta, c, bias, n));
    }
}

// As store_sums, for C in f32: both neighbours at once where rows of C begin at even elements.
template <int N>
__device__ void store_sums_in_pairs(const float (&sum)[N / 2], int M, int columns, int row0, int column0, float alpha,
                                    float beta, float* C, const float* bias) {
    if (columns % 2 != 0) return store_sums<N>(sum, M, columns, row0, column0, alpha, beta, C, bias);
    const int lane = threadIdx.x % 32, row = row0 + threadIdx.x % 128 / 32 * 16 + lane / 4;
#pragma unroll
    for (int i = 0; i < N / 2; i += 2) {
        const int m = row + i / 2 % 2 * 8, n = column0 + i / 4 * 8 + lane % 4 * 2;
        if (m >= M || n >= columns) continue;
        float* c = C + size_t(m) * columns + n;
        const float first = finish(sum[i], alpha, beta, c, bias, n);
        *reinterpret_cast<float2*>(c) = make_float2(first, finish(sum[i + 1], alpha, beta, c + 1, bias, n + 1));
    }
}
