// How a warp stores rows of C that do not begin at multiples of 16 bytes, which TMA cannot store. They are in a box of
// 16 rows of 128 bytes, swizzled as TMA does it.

#pragma once

#include "tile.cuh"

constexpr int kPart = 16;  // bytes that a thread moves at once

// The 16 bytes that begin at byte `first` of `low`, which `high` follows.
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

// Store the elements from byte `begin` to `end` of the 16 bytes at `to`.
__device__ inline void store_some(char* to, uint4 bytes, int begin, int end) {
    const unsigned words[4] = {bytes.x, bytes.y, bytes.z, bytes.w};
#pragma unroll
    for (int j = 0; j < kPart; j += sizeof(TC)) {
        if (j < begin || j >= end) continue;
        if (sizeof(TC) == 4) *reinterpret_cast<unsigned*>(to + j) = words[j / 4];
        else *reinterpret_cast<unsigned short*>(to + j) = words[j / 4] >> j % 4 * 8;
    }
}

// Store the 16 lines of memory, 128 bytes each, that begin in the box `before` or at the first byte of `box`. They are
// whole lines, since L2 takes longer to store part of a 32-byte sector. `box` begins at (row0, column0) of C. The bytes
// stored are those from `begin` to `end`, counted from where a row of `box` begins, so the box `before` the first one
// does not matter.
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
