// A GPU of tests: clusters of blocks whose threads are coroutines, with shared memory, barriers and tensor maps.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <type_traits>
#include <vector>

#include "coroutine.h"

#define __device__
#define __global__
#define __shared__
#define __align__(bytes)
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
using std::max;
using std::min;

struct int2 {
    int x, y;
};
struct uint2 {
    unsigned x, y;
};
struct uint4 {
    unsigned x, y, z, w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
struct float4 {
    float x, y, z, w;
};
struct float2 {
    float x, y;
};
inline float __uint_as_float(unsigned bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}
inline unsigned __float_as_uint(float value) {
    unsigned bits;
    memcpy(&bits, &value, 4);
    return bits;
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned bits) {
    return (uint64_t(high) << 32 | low) >> bits % 32;
}
inline int2 make_int2(int x, int y) { return {x, y}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
struct Index {
    unsigned x = 0, y = 0, z = 0;
};
extern Index threadIdx, blockIdx, gridDim;
extern char shared[];  // the start of shared memory; its address is 0

// Types of 16 bits; the kernels do not compute with them.
struct __half {  // zero and what is not small
    uint16_t bits = 0;
    __half() = default;
    explicit __half(float value) {
        int exponent;
        const int fraction = std::nearbyint(2048 * std::frexp(std::abs(value), &exponent));
        if (value != 0) bits = (value < 0) << 15 | ((exponent + 13) << 10) + fraction;
    }
    operator float() const {
        const float size = bits & 0x7fff ? std::ldexp(1024 + (bits & 1023), (bits >> 10 & 31) - 25) : 0;
        return bits >> 15 ? -size : size;
    }
};
struct __nv_bfloat16 {
    uint16_t bits = 0;
    __nv_bfloat16() = default;
    explicit __nv_bfloat16(float value) {
        uint32_t word;
        memcpy(&word, &value, 4);
        bits = (word + 0x7fff + (word >> 16 & 1)) >> 16;
    }
    operator float() const {
        const uint32_t word = uint32_t(bits) << 16;
        float value;
        memcpy(&value, &word, 4);
        return value;
    }
};

// A type of 8 bits, EXPONENT of them for the exponent; without infinities and NaN.
template <int EXPONENT> struct Tiny {
    uint8_t bits = 0;
    operator float() const {
        static const std::array<float, 256> kValues = list_values();
        return kValues[bits];
    }
    static std::array<float, 256> list_values() {
        constexpr int kFraction = 7 - EXPONENT, kBias = (1 << (EXPONENT - 1)) - 1;
        std::array<float, 256> values;
        for (int bits = 0; bits < 256; ++bits) {
            const int exponent = bits >> kFraction & ((1 << EXPONENT) - 1), fraction = bits & ((1 << kFraction) - 1);
            const int whole = exponent ? fraction | 1 << kFraction : fraction;
            values[bits] = (bits & 0x80 ? -1 : 1) * std::ldexp(float(whole), max(exponent, 1) - kBias - kFraction);
        }
        return values;
    }
};
struct __nv_fp8_e4m3 : Tiny<4> {};
struct __nv_fp8_e5m2 : Tiny<5> {};

struct CUtensorMap {
    char* base;
    int64_t width, height, planes;  // elements
    int64_t pitch, plane_pitch;     // bytes
    int box_width, box_height, swizzle;  // swizzle: bytes, 128, 64, 32 or 0
};

struct Barrier {
    int arrivals, missing;
    long bytes = 0;
    unsigned phase = 0;

    void change(int arrived, long expected) {
        missing -= arrived;
        bytes += expected;
        if (missing < 0) {
            printf("more arrivals than a barrier expects\n");
            exit(2);
        }
        if (missing == 0 && bytes == 0) missing = arrivals, ++phase;
    }
};

// All threads of a group meet.
struct Meeting {
    int present = 0;
    unsigned round = 0;
    void wait(int members);
};

using Task = std::function<void()>;

// A warp group multiplies as one: its products are done for all of its threads or for none.
struct WarpGroup {
    Meeting meeting;
    std::vector<std::vector<Task>> batches;
    size_t done = 0;  // those that somebody has waited for
};

constexpr int kMostThreads = 1024;  // of a block

struct Block {
    std::vector<char> memory = std::vector<char>(232448, char(0xff));
    std::map<unsigned, Barrier> barriers;
    Meeting all;
    std::array<Meeting, kMostThreads / 32> warps;
    std::array<Meeting, kMostThreads / 64> pairs;  // of warps
    Meeting groups;  // all but the one that fetches
    std::array<Meeting, kMostThreads / 128> each_group;
    std::array<WarpGroup, kMostThreads / 128> warp_groups;
    std::array<unsigned, kMostThreads> spoken;  // what a warp exchanges
    std::array<std::vector<const unsigned*>, kMostThreads> registers;  // those of A of each product of a thread

    template <typename T> T& at(unsigned address) { return reinterpret_cast<T&>(memory.at(address)); }
    // TMA and wgmma exchange the 16-byte parts of the rows of 128, 64 or 32 bytes that lie within 128 bytes.
    template <typename T> T& swizzled(unsigned address, int span = 128) {
        return at<T>(address ^ (address >> 7 & (span / 16 - 1)) << 4);
    }
};

struct Thread {
    static constexpr size_t kStack = 32 << 10;
    std::unique_ptr<char[]> stack{new char[kStack]};
    gb::Context context;
    int block, number;
    bool ended = false;
    size_t committed = 0;  // batches of products
    std::vector<Task> stores;
    size_t stored = 0;  // those that are done
};

struct Machine {
    int cluster, threads;
    bool moved = false;  // since all threads had their turn
    std::vector<Block> blocks;
    std::vector<Meeting> clusters;
    std::vector<Thread> all;
    Thread* me = nullptr;
    gb::Context scheduler;

    Block& block() { return blocks[me->block]; }
    int first_of_cluster() const { return me->block / cluster * cluster; }
    void expect_aligned(unsigned address, unsigned bytes) {
        if (address % bytes == 0) return;
        printf("no multiple of %u bytes: %u\n", bytes, address);
        exit(2);
    }
    void yield() { gb::switch_to(me->context, scheduler); }
    Barrier& barrier(int block, unsigned address) {
        const auto found = blocks[block].barriers.find(address);
        if (found == blocks[block].barriers.end()) {
            printf("no barrier at %u\n", address);
            exit(2);
        }
        return found->second;
    }
    void change(int block, unsigned address, int arrived, long expected) {
        barrier(block, address).change(arrived, expected);
        moved = true;
    }
};
extern Machine machine;

inline void Meeting::wait(int members) {
    machine.moved = true;
    if (++present == members) {
        present = 0, ++round;
        machine.yield();  // nobody goes on at once
        return;
    }
    const unsigned mine = round;
    while (round == mine) machine.yield();
}
inline void __syncthreads() { machine.block().all.wait(machine.threads); }
inline void __syncwarp() { machine.block().warps[machine.me->number / 32].wait(32); }

// The values of the lanes of a warp, from `spoken`; all lanes call this.
inline std::array<unsigned, 32> exchange(unsigned mine) {
    const int number = machine.me->number, first = number / 32 * 32;
    machine.block().spoken[number] = mine;
    __syncwarp();
    std::array<unsigned, 32> all;
    for (int lane = 0; lane < 32; ++lane) all[lane] = machine.block().spoken[first + lane];
    __syncwarp();
    return all;
}
inline unsigned __shfl_sync(unsigned, unsigned value, int lane) { return exchange(value)[lane]; }
inline float __shfl_sync(unsigned mask, float value, int lane) {
    return __uint_as_float(__shfl_sync(mask, __float_as_uint(value), lane));
}
inline int __reduce_add_sync(unsigned, int value) {
    int sum = 0;
    for (const unsigned each : exchange(value)) sum += each;
    return sum;
}

template <class T> T __ldcs(const T* from) { return *from; }
template <class T> T __ldg(const T* from) { return *from; }
