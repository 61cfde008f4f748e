// Barriers, and the functions with which the threads of a warp exchange values.
#pragma once
#include "abi.h"

namespace gb {

extern const unsigned thread;  // the index of this thread in its block

inline unsigned lane() { return thread % kWarp; }

// The `value` of lane `source`; all ones (a NaN) if that lane is not in `mask`.
template <class T> T exchange(unsigned mask, T value, unsigned source) {
    static_assert(sizeof(T) <= sizeof(uint64_t), "a shuffle carries at most 8 bytes");
    uint64_t word = 0;
    memcpy(&word, &value, sizeof value);
    word = publish(mask, word)[source];
    if (!(mask >> source & 1)) word = kExited;
    sync_warp(mask);  // before the slots are reused
    memcpy(&value, &word, sizeof value);
    return value;
}

}  // namespace gb

inline void __syncthreads() { gb::sync_block(); }
inline void __syncwarp(unsigned mask = 0xffffffff) { gb::sync_warp(mask); }

// Shuffles work in segments of `width` lanes. A source outside the segment means the lane itself.
template <class T> T __shfl_sync(unsigned mask, T value, int source, int width = gb::kWarp) {
    return gb::exchange(mask, value, (gb::lane() & ~(width - 1)) | (source & (width - 1)));
}
template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = gb::kWarp) {
    const unsigned lane = gb::lane(), place = lane & (width - 1);
    return gb::exchange(mask, value, place >= delta ? lane - delta : lane);
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = gb::kWarp) {
    const unsigned lane = gb::lane(), place = lane & (width - 1);
    return gb::exchange(mask, value, place + delta < unsigned(width) ? lane + delta : lane);
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int flip, int width = gb::kWarp) {
    const unsigned lane = gb::lane(), source = lane ^ flip;
    return gb::exchange(mask, value, source < (lane & ~(width - 1)) + width ? source : lane);
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
    const uint64_t* votes = gb::publish(mask, predicate != 0);
    unsigned ballot = 0;
    for (unsigned lane = 0; lane < gb::kWarp; ++lane)
        if (mask >> lane & 1) ballot |= unsigned(votes[lane] == 1) << lane;
    gb::sync_warp(mask);
    return ballot;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }
