// Copies of operands that TMA or the tensor cores cannot take as they are. Rows whose length is not a multiple of 16
// bytes are copied with longer rows, and operands that a kernel needs along K are transposed. The copies are in the
// workspace.

#pragma once

#include "unaligned.cuh"

constexpr int kPadThreads = 256, kPadBlocks = 4;  // of an SM
constexpr int kWide = kPart / sizeof(TA);         // elements of 16 bytes
constexpr int kTurnedRows = 16, kTurnedColumns = 32;  // of the copy, that a warp transposes at once: 4 x 4 for each lane

__device__ constexpr int padded(int columns) { return (columns + kWide - 1) / kWide * kWide; }

// The value of the next lane; the last lane gets `wrapped` of the first lane.
__device__ inline uint4 take_next(uint4 mine, uint4 wrapped) {
    const int lane = threadIdx.x % 32, next = (lane + 1) % 32;
    const uint4 v = lane == 0 ? wrapped : mine;
    constexpr unsigned kAll = 0xffffffffu;
    return make_uint4(__shfl_sync(kAll, v.x, next), __shfl_sync(kAll, v.y, next), __shfl_sync(kAll, v.z, next),
                      __shfl_sync(kAll, v.w, next));
}

// The elements before `end` in the 16 bytes that it divides, and zeros.
template <typename T> __device__ uint4 load_end(const uint4* at, const T* end) {
    union {
        uint4 all;
        T each[kWide];
    } part = {};
#pragma unroll
    for (int i = 0; i < kWide; ++i)
        if (reinterpret_cast<const T*>(at) + i < end) part.each[i] = reinterpret_cast<const T*>(at)[i];
    return part.all;
}

// Copy rows x columns elements. Each warp copies a segment of a row at a time, with 16 bytes per lane. The lane loads
// the aligned 16 bytes in which its elements begin; the next lane has those that follow. The first row is aligned. A
// warp begins with segment `item`. Returns the segment with which it begins in the next matrix.
template <typename T> __device__ int pad_matrix(const T* from, T* to, int rows, int columns, int item, int warps) {
    constexpr int kAtOnce = 8, kSegment = 32 * kAtOnce;
    const int parts = padded(columns) / kWide, segments = (parts + kSegment - 1) / kSegment, lane = threadIdx.x % 32;
    const T* const end = from + size_t(rows) * columns;
    const uint4* const whole = reinterpret_cast<const uint4*>(reinterpret_cast<size_t>(end) / kPart * kPart);  // up to here
#pragma unroll 1
    for (; item < rows * segments; item += warps) {
        const int row = item / segments, begin = item % segments * kSegment, first = begin + lane;
        const T* const start = from + size_t(row) * columns;
        const int skew = reinterpret_cast<size_t>(start) % kPart, left = parts - first;  // of the row
        const uint4* const aligned = reinterpret_cast<const uint4*>(reinterpret_cast<const char*>(start) - skew);
        uint4* const copy = reinterpret_cast<uint4*>(to) + size_t(row) * parts + first;
        uint4 v[kAtOnce + 1];  // the last one is for the last lane, which takes it from the first
#pragma unroll
        for (int u = 0; u <= kAtOnce; ++u) {
            v[u] = make_uint4(0, 0, 0, 0);
            const uint4* const at = aligned + first + u * 32;
            if (u * 32 <= left && at < whole && (u < kAtOnce || lane == 0)) v[u] = __ldcs(at);  // read once
        }
        if (aligned + min(begin + kSegment, parts) >= whole) {  // the end of the matrix
            const uint4 part = load_end(whole, end);
#pragma unroll
            for (int u = 0; u <= kAtOnce; ++u)
                if (aligned + first + u * 32 == whole) v[u] = part;
        }
#pragma unroll
        for (int u = 0; u < kAtOnce; ++u) {
            const uint4 next = take_next(v[u], v[u + 1]);
            if (u * 32 < left) copy[u * 32] = take_bytes(v[u], next, skew);
        }
    }
    return item - rows * segments;
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
