// Stores the sums of a warpgroup as elements of C.

#pragma once

#include "finish.cuh"
#include "wgmma.cuh"

// Store two neighbouring elements of a row, which begin at a multiple of their size.
__device__ inline void store_pair(TC* c, float first, float second) {
    if constexpr (sizeof(TC) == 4) *reinterpret_cast<float2*>(c) = make_float2(first, second);
    else *reinterpret_cast<unsigned*>(c) = pack(first, second);
}

// Store whichever of two neighbouring elements of a row are in C; the first is in an even column.
__device__ inline void store_neighbours(float sum, float next, int M, int columns, int m, int n, float alpha,
                                        float beta, TC* C, const TC* bias) {
    if (m >= M || n >= columns) return;
    TC* const c = C + size_t(m) * columns + n;
    const float first = finish(sum, alpha, beta, c, bias, n);
    if (columns % 2 == 0) {
        store_pair(c, first, finish(next, alpha, beta, c + 1, bias, n + 1));
    } else {
        *c = TC(first);
        if (n + 1 < columns) c[1] = TC(finish(next, alpha, beta, c + 1, bias, n + 1));
    }
}

// Turn the sums of a warpgroup into elements of C: those of a product of 64 x N that begins at (row0, column0) of C, or
// of its transpose. Nothing outside C is read. Where alpha is all there is to apply, few instructions run, which
// matters because the first launch after other work fetches its code from memory.
template <int N, bool TRANSPOSED = false>
__device__ void finish_sums(float (&sum)[N / 2], int M, int columns, int row0, int column0, float alpha, float beta,
                            const TC* C, const TC* bias) {
    if (beta == 0 && !BIAS) {
#pragma unroll
        for (int i = 0; i < N / 2; ++i) sum[i] = finish(sum[i], alpha, 0, nullptr, nullptr, 0);
        return;
    }
    const int lane = threadIdx.x % 32, row = row0 + threadIdx.x % 128 / 32 * 16 + lane / 4, column = column0 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
        const int r = row + i / 2 % 2 * 8, c = column + i / 4 * 8 + i % 2, m = TRANSPOSED ? c : r, n = TRANSPOSED ? r : c;
        if (m < M && n < columns) sum[i] = finish(sum[i], alpha, beta, C + size_t(m) * columns + n, bias, n);
    }
}

// Store the sums of a warpgroup: 64 x N of C, starting at (row0, column0). Each thread stores its own sums, which are
// pairs of neighbours: see multiply_add.
template <int N>
__device__ void store_sums(float (&sum)[N / 2], int M, int columns, int row0, int column0, float alpha, float beta,
                           TC* C, const TC* bias) {
    finish_sums<N>(sum, M, columns, row0, column0, alpha, beta, C, bias);
    const int lane = threadIdx.x % 32, row = row0 + threadIdx.x % 128 / 32 * 16 + lane / 4, column = column0 + lane % 4 * 2;
    const bool pairs = columns % 2 == 0;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        if (row + half * 8 >= M) return;
        TC* const c = C + size_t(row + half * 8) * columns + column;
#pragma unroll
        for (int i = half * 2; i < N / 2; i += 4) {
            if (column + i / 4 * 8 >= columns) break;
            TC* const to = c + i / 4 * 8;
            if (pairs) {
                store_pair(to, sum[i], sum[i + 1]);
            } else {
                *to = TC(sum[i]);
                if (column + i / 4 * 8 + 1 < columns) to[1] = TC(sum[i + 1]);
            }
        }
    }
}
