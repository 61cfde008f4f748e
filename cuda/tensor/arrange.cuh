// Copies of operands that TMA or the tensor cores cannot take as they are: rows whose length is not a multiple of 16
// bytes are copied with longer rows, and 32-bit operands that run along M or N are transposed, because wgmma reads these
// along K only. The copies are in the workspace.

#pragma once

#include "pad.cuh"

constexpr bool kTurnsA = sizeof(TA) == 4 && TRANS_A, kTurnsB = sizeof(TB) == 4 && !TRANS_B;
constexpr int kTurnedRows = 16, kTurnedColumns = 32;  // of the copy, that a warp transposes at once: 4 x 4 for each lane

// The operands as they are fetched, and their copies.
struct Arranged {
    int rows_a, columns_a, rows_b, columns_b;
    bool copies_a, copies_b;

    __device__ Arranged(int M, int N, int K)
        : rows_a(kTurnsA || !TRANS_A ? M : K), columns_a(kTurnsA || !TRANS_A ? K : M),
          rows_b(kTurnsB || TRANS_B ? N : K), columns_b(kTurnsB || TRANS_B ? K : N),
          copies_a(kTurnsA || columns_a % kWide != 0), copies_b(kTurnsB || columns_b % kWide != 0) {}

    __device__ TB* copy_of_b(void* copies) const {
        return static_cast<TB*>(copies) + (copies_a ? size_t(rows_a) * padded(columns_a) : 0);
    }
};

template <typename T> struct alignas(4 * sizeof(T)) Four {
    T v[4];
};

// Transpose a matrix into one of rows x columns elements. A warp begins with part `item`. Returns the part with which it
// begins in the next matrix.
template <typename T> __device__ int turn_matrix(const T* from, T* to, int rows, int columns, int item, int warps) {
    const int lane = threadIdx.x % 32, across = (rows + kTurnedRows - 1) / kTurnedRows;
    const int all = across * ((columns + kTurnedColumns - 1) / kTurnedColumns);
#pragma unroll 1
    for (; item < all; item += warps) {
        const int row = item % across * kTurnedRows + lane % 4 * 4, column = item / across * kTurnedColumns + lane / 4 * 4;
        Four<T> turned[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j)
                turned[j].v[i] = column + i < columns && row + j < rows ? from[size_t(column + i) * rows + row + j] : T{};
#pragma unroll
        for (int j = 0; j < 4; ++j)
            if (row + j < rows && column < columns)
                reinterpret_cast<Four<T>&>(to[size_t(row + j) * padded(columns) + column]) = turned[j];
    }
    return item - all;
}

// Make the copies; the whole grid takes part.
__device__ inline void arrange_operands(int M, int N, int K, const TA* A, const TB* B, void* copies) {
    start_next_launch();
    await_launch_before();
    const Arranged arranged(M, N, K);
    const int warps = gridDim.x * (kPadThreads / 32);
    int item = threadIdx.x / 32 * gridDim.x + blockIdx.x;  // neighbours in memory go to different blocks
    if (arranged.copies_a) {
        TA* const to = static_cast<TA*>(copies);
        if constexpr (kTurnsA) item = turn_matrix(A, to, arranged.rows_a, arranged.columns_a, item, warps);
        else item = pad_matrix(A, to, arranged.rows_a, arranged.columns_a, item, warps);
    }
    if (arranged.copies_b) {
        TB* const to = arranged.copy_of_b(copies);
        if constexpr (kTurnsB) turn_matrix(B, to, arranged.rows_b, arranged.columns_b, item, warps);
        else pad_matrix(B, to, arranged.rows_b, arranged.columns_b, item, warps);
    }
}
