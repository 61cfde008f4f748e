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

// 16 bytes of an array that ends at `end`; what lies outside of it is 0.
template <typename T> __device__ uint4 load_inside(const char* at, const T* array, const T* end) {
    using Unit = std::conditional_t<sizeof(T) == 1, unsigned char, unsigned short>;
    const char *const low = reinterpret_cast<const char*>(array), *const high = reinterpret_cast<const char*>(end);
    if (at >= low && at + kPart <= high) return *reinterpret_cast<const uint4*>(at);
    unsigned words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        words[i] = 0;
#pragma unroll
        for (int j = 4 * i; j < 4 * i + 4; j += sizeof(Unit))
            if (at + j >= low && at + j < high) words[i] |= *reinterpret_cast<const Unit*>(at + j) << j % 4 * 8;
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

// Copy rows x columns elements, 16 bytes to a thread at a time, several times at once. A thread loads the aligned 16
// bytes in which its elements begin; those that follow are what the next lane has loaded, also where a row ends.
template <typename T> __device__ void pad_matrix(const T* from, T* to, int rows, int columns, int first, int threads) {
    constexpr int kInFlight = 4;
    const unsigned parts = padded(columns) / kWide, all = rows * parts, lane = threadIdx.x % 32;
    const T* const end = from + size_t(rows) * columns;
    for (unsigned begin = first; begin - lane < all; begin += kInFlight * threads) {
        uint4 low[kInFlight], high[kInFlight];
        int skew[kInFlight];
#pragma unroll
        for (int u = 0; u < kInFlight; ++u) {
            const unsigned part = begin + u * threads, row = part / parts;
            if (part >= all) continue;
            const char* const start =
                reinterpret_cast<const char*>(from + size_t(row) * columns) + (part - row * parts) * kPart;
            skew[u] = reinterpret_cast<size_t>(start) % kPart;
            low[u] = load_inside(start - skew[u], from, end);
            if (lane == 31 || part + 1 == all) high[u] = load_inside(start - skew[u] + kPart, from, end);
        }
#pragma unroll
        for (int u = 0; u < kInFlight; ++u) {
            const unsigned part = begin + u * threads;
            const uint4 next =
                make_uint4(__shfl_down_sync(0xffffffffu, low[u].x, 1), __shfl_down_sync(0xffffffffu, low[u].y, 1),
                           __shfl_down_sync(0xffffffffu, low[u].z, 1), __shfl_down_sync(0xffffffffu, low[u].w, 1));
            if (part >= all) continue;
            if (lane < 31 && part + 1 < all) high[u] = next;
            reinterpret_cast<uint4*>(to)[part] = take_bytes(low[u], high[u], skew[u]);
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
