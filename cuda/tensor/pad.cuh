// Copies of operands that TMA or the tensor cores cannot take as they are. Rows whose length is not a multiple of 16
// bytes are copied with longer rows, and operands that a kernel needs along K are transposed. The copies are in the
// workspace.

#pragma once

#include "../common/bytes.cuh"
#include "tile.cuh"

constexpr int kPart = 16;  // bytes that a thread moves at once
constexpr int kPadThreads = 256, kPadBlocks = 4;  // of an SM
constexpr int kWide = kPart / sizeof(TA);         // elements of 16 bytes
constexpr int kTurnedRows = 16, kTurnedColumns = 32;  // of the copy, that a warp transposes at once: 4 x 4 for each lane

__device__ constexpr int padded(int columns) { return (columns + kWide - 1) / kWide * kWide; }

// Copy rows x columns elements. A thread copies 16 bytes at a time, which begin anywhere in the two aligned ones that
// it loads; the second are also the next thread's first. `from` begins at a multiple of 16 bytes. A warp begins with
// the 512 bytes `item` of the copy. Returns the item with which it begins in the next matrix.
template <typename T>
__device__ int pad_matrix(const T* __restrict__ from, T* __restrict__ to, int rows, int columns, int item, int warps) {
    const int parts = padded(columns) / kWide, all = (rows * parts + 31) / 32;
    const T* const end = from + size_t(rows) * columns;
#pragma unroll 4
    for (; item < all; item += warps) {
        const int part = item * 32 + threadIdx.x % 32, row = part / parts;
        const T* const start = from + size_t(row) * columns + (part - row * parts) * kWide;
        const uint4* const aligned = reinterpret_cast<const uint4*>(reinterpret_cast<size_t>(start) / kPart * kPart);
        T* const copy = to + size_t(part) * kWide;
        if (reinterpret_cast<const T*>(aligned + 2) <= end) {
            *reinterpret_cast<uint4*>(copy) = take_bytes(__ldg(aligned), __ldg(aligned + 1), size_t(start) % kPart);
        } else {  // the end of the matrix
#pragma unroll 1
            for (int i = 0; i < kWide && start + i < end; ++i) copy[i] = start[i];
        }
    }
    return item - all;
}

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

// What TMA fetches: the operands or their copies, starting with A. An operand that is turned is transposed first.
template <bool TURNS_A = false, bool TURNS_B = false> struct Sources {
    static constexpr bool A_ALONG_M = TRANS_A && !TURNS_A, B_ALONG_N = !TRANS_B && !TURNS_B;
    int rows_a, columns_a, rows_b, columns_b;  // as they are fetched
    bool copies_a, copies_b;

    __device__ Sources(int M, int N, int K)
        : rows_a(A_ALONG_M ? K : M), columns_a(A_ALONG_M ? M : K), rows_b(B_ALONG_N ? K : N), columns_b(B_ALONG_N ? N : K),
          copies_a(TURNS_A || columns_a % kWide != 0), copies_b(TURNS_B || columns_b % kWide != 0) {}

    // The maps: first those of A and B; those of the copies begin at number `copies`.
    __device__ const CUtensorMap* map_a(const CUtensorMap* maps, int copies) const {
        return maps + (copies_a ? copies : 0);
    }
    __device__ const CUtensorMap* map_b(const CUtensorMap* maps, int copies) const {
        return maps + 1 + (copies_b ? copies : 0);
    }

    // Where the copy of B begins, and what follows it, if the copies begin at `copies`.
    __device__ TB* copy_of_b(void* copies) const {
        return static_cast<TB*>(copies) + (copies_a ? size_t(rows_a) * padded(columns_a) : 0);
    }
    __device__ void* end(void* copies) const {
        return copy_of_b(copies) + (copies_b ? size_t(rows_b) * padded(columns_b) : 0);
    }
};

// Copy a matrix, or transpose it if TURNED. See pad_matrix.
template <bool TURNED, typename T>
__device__ int copy_matrix(const T* from, T* to, int rows, int columns, int item, int warps) {
    if constexpr (TURNED) return turn_matrix(from, to, rows, columns, item, warps);
    else return pad_matrix(from, to, rows, columns, item, warps);
}

// Make the copies; the whole grid takes part.
template <bool TURNS_A = false, bool TURNS_B = false>
__device__ void copy_operands(int M, int N, int K, const TA* A, const TB* B, void* copies) {
    start_next_launch();
    await_launch_before();
    const Sources<TURNS_A, TURNS_B> sources(M, N, K);
    constexpr int kWarps = kPadThreads / 32;  // of a block; neighbours in memory go to different blocks
    const int warps = gridDim.x * kWarps;
    int item = threadIdx.x / 32 * gridDim.x + blockIdx.x;
    if (sources.copies_a)
        item = copy_matrix<TURNS_A>(A, static_cast<TA*>(copies), sources.rows_a, sources.columns_a, item, warps);
    if (sources.copies_b) copy_matrix<TURNS_B>(B, sources.copy_of_b(copies), sources.rows_b, sources.columns_b, item, warps);
}
