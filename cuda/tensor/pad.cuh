// Copies of operands whose rows are no multiples of 16 bytes: TMA cannot fetch those. A copy has longer rows.

#pragma once

constexpr int kPadThreads = 256;
constexpr int kWide = 16 / sizeof(TA);  // elements of 16 bytes

__device__ constexpr int padded(int columns) { return (columns + kWide - 1) / kWide * kWide; }

constexpr int kWords = kWide / 2 + 1;  // of 4 bytes, in which 16 bytes lie that begin at any element
constexpr int kInFlight = 4;

// Load the words from `at` on; what lies beyond `end` is 0.
__device__ inline void load_words(const TA* at, const TA* end, unsigned (&words)[kWords]) {
    if (at + 2 * kWords <= end) {
#pragma unroll
        for (int j = 0; j < kWords; ++j) words[j] = reinterpret_cast<const unsigned*>(at)[j];
    } else {
        const unsigned short* const bits = reinterpret_cast<const unsigned short*>(at);
#pragma unroll
        for (int j = 0; j < kWords; ++j)
            words[j] = (at + 2 * j < end ? bits[2 * j] : 0) | (at + 2 * j + 1 < end ? bits[2 * j + 1] << 16 : 0);
    }
}

// Copy rows x columns elements, 16 bytes to a thread at a time, kInFlight times at once. Rows begin at odd places, so a
// thread loads the words of 4 bytes in which its elements lie, and shifts them.
__device__ inline void pad_matrix(const TA* from, TA* to, int rows, int columns, int first, int threads) {
    const unsigned parts = padded(columns) / kWide, all = rows * parts;
    const TA* const end = from + size_t(rows) * columns;
    for (unsigned begin = first; begin < all; begin += kInFlight * threads) {
        unsigned words[kInFlight][kWords];
        bool odd[kInFlight];
#pragma unroll
        for (int u = 0; u < kInFlight; ++u) {
            const unsigned part = begin + u * threads, row = part / parts;
            if (part >= all) continue;
            const TA* const start = from + size_t(row) * columns + (part - row * parts) * kWide;
            odd[u] = reinterpret_cast<size_t>(start) % 4 != 0;
            load_words(start - odd[u], end, words[u]);
        }
#pragma unroll
        for (int u = 0; u < kInFlight; ++u) {
            unsigned out[kWords - 1];
#pragma unroll
            for (int j = 0; j < kWords - 1; ++j)
                out[j] = odd[u] ? words[u][j] >> 16 | words[u][j + 1] << 16 : words[u][j];
            const unsigned part = begin + u * threads;
            if (part < all) reinterpret_cast<uint4*>(to)[part] = make_uint4(out[0], out[1], out[2], out[3]);
        }
    }
}
