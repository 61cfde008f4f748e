// What moves rows that begin anywhere and not at a multiple of 16 bytes, which TMA cannot: operands are copied to rows
// that are longer, and a warp stores C itself.

#pragma once

#include <type_traits>

#include "tile.cuh"

constexpr int kPart = 16;  // bytes that a thread moves at once

// The 16 bytes from byte `first` of `low` on, where `high` follows it.
__device__ inline uint4 take_bytes(uint4 low, uint4 high, int first) {
    unsigned words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int i = 0; i < 6; ++i) words[i] = first & 8 ? words[i + 2] : words[i];
#pragma unroll
    for (int i = 0; i < 5; ++i) words[i] = first & 4 ? words[i + 1] : words[i];
    const int bits = first % 4 * 8;
    return make_uint4(__funnelshift_r(words[0], words[1], bits), __funnelshift_r(words[1], words[2], bits),
                      __funnelshift_r(words[2], words[3], bits), __funnelshift_r(words[3], words[4], bits));
}

// ---- Copies of operands.

constexpr int kPadThreads = 256, kPadBlocks = 4;  // of a multiprocessor
constexpr int kWide = kPart / sizeof(TA);         // elements of 16 bytes

__device__ constexpr int padded(int columns) { return (columns + kWide - 1) / kWide * kWide; }

// 16 bytes at a multiple of 16 in an array that ends at `end`; what lies beyond is 0.
template <typename T> __device__ uint4 load_before(const char* at, const T* end) {
    using Unit = std::conditional_t<sizeof(T) == 1, unsigned char, unsigned short>;
    constexpr int kUp = 32 - 8 * sizeof(Unit);
    const char* last = reinterpret_cast<const char*>(end);
    if (at + kPart <= last) return *reinterpret_cast<const uint4*>(at);
    uint4 v = make_uint4(0, 0, 0, 0);
#pragma unroll 1
    while (last > at) {  // from the end on, each element moves up those behind it
        last -= sizeof(Unit);
        v.w = __funnelshift_r(v.z, v.w, kUp), v.z = __funnelshift_r(v.y, v.z, kUp);
        v.y = __funnelshift_r(v.x, v.y, kUp), v.x = v.x << (32 - kUp) | *reinterpret_cast<const Unit*>(last);
    }
    return v;
}

// What the lane behind this one has; the last lane gets `wrapped` of the first one.
__device__ inline uint4 take_next(uint4 mine, uint4 wrapped) {
    const int lane = threadIdx.x % 32, next = (lane + 1) % 32;
    const uint4 v = lane == 0 ? wrapped : mine;
    constexpr unsigned kAll = 0xffffffffu;
    return make_uint4(__shfl_sync(kAll, v.x, next), __shfl_sync(kAll, v.y, next), __shfl_sync(kAll, v.z, next),
                      __shfl_sync(kAll, v.w, next));
}

// Copy rows x columns elements, a segment of a row to a warp at a time, 16 bytes to a lane. The lane loads the aligned
// 16 bytes in which its elements begin; those that follow are what the next lane has. The first row is aligned.
template <typename T> __device__ void pad_matrix(const T* from, T* to, int rows, int columns, int warp, int warps) {
    constexpr int kAtOnce = 8, kSegment = 32 * kAtOnce;
    const int parts = padded(columns) / kWide, segments = (parts + kSegment - 1) / kSegment, lane = threadIdx.x % 32;
    const T* const end = from + size_t(rows) * columns;
#pragma unroll 1
    for (int item = warp; item < rows * segments; item += warps) {
        const int row = item / segments, first = item % segments * kSegment + lane;
        const char* const start = reinterpret_cast<const char*>(from + size_t(row) * columns);
        const int skew = reinterpret_cast<size_t>(start) % kPart;
        const char* const aligned = start - skew + first * kPart;
        uint4* const copy = reinterpret_cast<uint4*>(to) + size_t(row) * parts + first;
        const int left = parts - first;  // of the row
        uint4 v[kAtOnce + 1];  // the last one is for the last lane, which takes it from the first
#pragma unroll
        for (int u = 0; u <= kAtOnce; ++u) {
            v[u] = make_uint4(0, 0, 0, 0);
            if (u * 32 <= left && (u < kAtOnce || lane == 0)) v[u] = load_before(aligned + u * 32 * kPart, end);
        }
#pragma unroll
        for (int u = 0; u < kAtOnce; ++u) {
            const uint4 next = take_next(v[u], v[u + 1]);
            if (u * 32 < left) copy[u * 32] = take_bytes(v[u], next, skew);
        }
    }
}

// ---- Rows of C, which a warp has in a box: 16 rows of 128 bytes, swizzled as TMA wants them.

// Store those elements of 16 bytes at `to` that lie at `begin` to `end`, in bytes from `to`.
__device__ inline void store_some(char* to, uint4 bytes, int begin, int end) {
    const unsigned words[4] = {bytes.x, bytes.y, bytes.z, bytes.w};
#pragma unroll
    for (int j = 0; j < kPart; j += sizeof(TC)) {
        if (j < begin || j >= end) continue;
        if (sizeof(TC) == 4) *reinterpret_cast<unsigned*>(to + j) = words[j / 4];
        else *reinterpret_cast<unsigned short*>(to + j) = words[j / 4] >> j % 4 * 8;
    }
}

// Store the 16 lines of memory, 128 bytes each, that begin in the box `before` or at the first byte of `box`: whole
// lines, since L2 takes longer over parts of its 32 bytes. `box` begins at (row0, column0) of C. What is stored lies at
// `begin` to `end`, in bytes from where a row of `box` begins; so the box `before` the first one counts for nothing.
__device__ inline void store_lines(TC* C, int M, int N, int row0, int column0, unsigned before, unsigned box, int begin,
                                   int end) {
    const int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int i = 0; i < 16; i += 4) {
        const int row = i + lane / 8;
        char* const start = reinterpret_cast<char*>(C + size_t(row0 + row) * N + column0);
        const int at = lane % 8 * kPart - int(reinterpret_cast<size_t>(start) % kRowBytes);  // from `start`
        const auto load = [&](int part) {
            return load_part((part < 0 ? before : box) + row * kRowBytes + ((part ^ row) & 7) * kPart);
        };
        const int first = at >> 4;
        const uint4 bytes = take_bytes(load(first), load(first + 1), at & 15);
        if (row0 + row >= M) continue;
        if (at >= begin && at + kPart <= end) *reinterpret_cast<uint4*>(start + at) = bytes;
        else store_some(start + at, bytes, begin - at, end - at);
    }
}
