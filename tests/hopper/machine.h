// A GPU of tests: clusters of blocks whose threads are coroutines, with shared memory, barriers and tensor maps.
#pragma once
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <type_traits>
#include <vector>

#define __device__
#define __global__
#define __shared__
#define __align__(bytes)
#define __launch_bounds__(...)
#define __cluster_dims__(...)
using std::max;
using std::min;

struct int2 {
    int x, y;
};
struct float4 {
    float x, y, z, w;
};
inline int2 make_int2(int x, int y) { return {x, y}; }
struct Index {
    unsigned x = 0, y = 0, z = 0;
};
extern Index threadIdx, blockIdx, gridDim;
extern char shared[];  // the start of shared memory; its address is 0

// A type of 16 bits; the kernels do not compute with it.
template <int KIND> struct Small {
    uint16_t bits = 0;
    Small() = default;
    explicit Small(float value) {
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
using __half = Small<0>;
using __nv_bfloat16 = Small<1>;

struct CUtensorMap {
    char* base;
    int64_t width, height, pitch;  // elements, elements, bytes
    int box_width, box_height;
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

struct Block {
    std::vector<char> memory;
    std::map<unsigned, Barrier> barriers;
    Meeting all;
    std::map<int, Meeting> warps;
    Meeting groups;  // all but the one that fetches
    std::map<int, unsigned> named_rows;  // by thread, for store_matrices

    template <typename T> T& at(unsigned address) { return reinterpret_cast<T&>(memory.at(address)); }
    // TMA and wgmma exchange the 16-byte parts of rows of 128 bytes.
    uint16_t& swizzled(unsigned address) { return at<uint16_t>(address ^ (address >> 7 & 7) << 4); }
};

using Task = std::function<void()>;
struct Thread {
    ucontext_t context;
    int block, number;
    bool ended = false;
    std::vector<Task> products;  // not yet committed
    std::deque<std::vector<Task>> groups;
    std::deque<Task> stores;
};

struct Machine {
    int cluster, threads;
    bool moved = false;  // since all threads had their turn
    std::vector<Block> blocks;
    std::vector<Meeting> clusters;
    std::vector<Thread> all;
    Thread* me = nullptr;
    ucontext_t scheduler;

    Block& block() { return blocks[me->block]; }
    int first_of_cluster() const { return me->block / cluster * cluster; }
    void yield() { swapcontext(&me->context, &scheduler); }
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
        return;
    }
    const unsigned mine = round;
    while (round == mine) machine.yield();
}
inline void __syncthreads() { machine.block().all.wait(machine.threads); }
inline void __syncwarp() { machine.block().warps[machine.me->number / 32].wait(32); }
