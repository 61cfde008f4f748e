// Bytes that move together, whatever the elements are.

#pragma once

// The type of BYTES that one instruction loads or stores.
template <int BYTES> struct Word;
template <> struct Word<2> { using type = unsigned short; };
template <> struct Word<4> { using type = unsigned; };
template <> struct Word<8> { using type = uint2; };
template <> struct Word<16> { using type = uint4; };

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
