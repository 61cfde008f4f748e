// Copies of operands whose rows are no multiples of 16 bytes: TMA cannot fetch those. A copy has longer rows.

#pragma once

constexpr int kPadThreads = 256;
constexpr int kWide = 16 / sizeof(TA);  // elements of 16 bytes

__device__ constexpr int padded(int columns) { return (columns + kWide - 1) / kWide * kWide; }

// Two elements from any address on; the second is 0 from `end` on.
__device__ inline unsigned load_pair(const TA* from, const TA* end) {
    const unsigned short* const bits = reinterpret_cast<const unsigned short*>(from);
    return bits[0] | (from + 1 < end ? bits[1] << 16 : 0);
}

// Copy rows x columns elements, 16 bytes to a thread at a time. Rows begin at odd places, so a thread loads the
// words of 4 bytes in which its elements lie, and shifts them.
__device__ inline void pad_matrix(const TA* from, TA* to, int rows, int columns, int first, int threads) {
    const int parts = padded(columns) / kWide;
    const TA* const end = from + size_t(rows) * columns;
    for (size_t i = first; i < size_t(rows) * parts; i += threads) {
        const int row = i / parts, column = i % parts * kWide;
        const TA* const start = from + size_t(row) * columns + column;
        const bool odd = reinterpret_cast<size_t>(start) % 4 != 0;
        const TA* const aligned = start - odd;
        unsigned words[kWide / 2 + 1];
#pragma unroll
        for (int j = 0; j <= kWide / 2; ++j) {
            const TA* const at = aligned + 2 * j;
            words[j] = 0;
            if (at + 2 <= end) words[j] = *reinterpret_cast<const unsigned*>(at);
            else if (at < end) words[j] = load_pair(at, end);
        }
        unsigned out[kWide / 2];
#pragma unroll
        for (int j = 0; j < kWide / 2; ++j) out[j] = odd ? words[j] >> 16 | words[j + 1] << 16 : words[j];
        *reinterpret_cast<uint4*>(to + size_t(row) * padded(columns) + column) = make_uint4(out[0], out[1], out[2], out[3]);
    }
}
