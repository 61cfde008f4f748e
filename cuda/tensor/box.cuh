// A box of C in shared memory, from which rows leave that TMA cannot store, because they do not begin at multiples of
// 16 bytes. It has rows of up to 128 bytes, swizzled as TMA does it.

#pragma once

#include "tile.cuh"

constexpr int kLineColumns = kRowBytes / sizeof(TC);  // elements of C in 128 bytes

template <int COLUMNS> struct Box {
    static constexpr int kPitch = COLUMNS * sizeof(TC), kRows = kRowBytes / kPitch;  // that share 128 bytes

    // The 16 bytes `part` of a row.
    static __device__ unsigned find_part(unsigned box, int row, int part) {
        return box + row * kPitch + (part ^ (row / kRows % (kPitch / 16))) * 16;
    }

    // Write 16 rows of a warp. `sum` begins with the sums of COLUMNS columns of a product; see multiply_add.
    static __device__ void write(unsigned box, const float* sum) {
        static_assert(COLUMNS >= 16 && COLUMNS <= kLineColumns, "a row has two matrices or more, up to 128 bytes");
        const int lane = threadIdx.x % 32;
        if constexpr (sizeof(TC) == 2) {
#pragma unroll
            for (int j = 0; j < COLUMNS / 8; j += 2) {  // matrices; lanes supply the addresses of their rows
                unsigned v[4];
#pragma unroll
                for (int i = 0; i < 4; ++i) v[i] = pack(sum[j * 4 + 2 * i], sum[j * 4 + 2 * i + 1]);
                store_matrices(find_part(box, lane % 16, j + lane / 16), v);
            }
        } else {  // pairs; rows 0 and 1 share banks, and orders without such conflicts need more registers
#pragma unroll
            for (int i = 0; i < COLUMNS / 4; ++i) {
                const int row = i % 2 * 8 + lane / 4, column = i / 2 * 8 + lane % 4 * 2;
                store_shared(find_part(box, row, column / 4) + column % 4 * 4, sum[2 * i], sum[2 * i + 1]);
            }
        }
    }

    // Store rows `begin` to `end` of a box that begins at (row0, column0) of C, except for what is outside C. All lanes
    // of a warp store neighbouring words of 4 bytes, since L2 takes as long for part of a 32-byte sector as for all of
    // it. The elements of 16 bits of a row that begins within a word are shifted, and its ends are stored alone.
    static __device__ void store(TC* C, int M, int N, int row0, int column0, unsigned box, int begin, int end) {
        constexpr int kWords = kPitch / 4, kInWord = 4 / sizeof(TC);
        const int lane = threadIdx.x % 32, word = lane % kWords, column = column0 + word * kInWord;
        end = min(end, M - row0);
#pragma unroll 4
        for (int i = begin; i < end; i += 32 / kWords) {
            const int row = i + lane / kWords;
            const unsigned v = load_shared(find_part(box, row, word / 4) + word % 4 * 4);
            const unsigned next = sizeof(TC) == 2 ? __shfl_sync(~0u, v, (lane + 1) % 32) : 0;
            if (row >= end || column >= N) continue;
            TC* const to = C + size_t(row0 + row) * N + column;
            if constexpr (sizeof(TC) == 4) {
                *reinterpret_cast<unsigned*>(to) = v;
            } else {
                unsigned short* const halves = reinterpret_cast<unsigned short*>(to);
                const bool shifted = reinterpret_cast<size_t>(to) % 4 != 0;
                const int left = N - column;
                const bool ends = word == kWords - 1;
                if (!shifted && left > 1) *reinterpret_cast<unsigned*>(to) = v;
                if (shifted && left > 2 && !ends) *reinterpret_cast<unsigned*>(to + 1) = __funnelshift_r(v, next, 16);
                if (shifted ? word == 0 : left == 1) halves[0] = v;
                if (shifted && (left == 2 || left > 2 && ends)) halves[1] = v >> 16;
            }
        }
    }
};
