// How blocks that share a tile of C add up their parts of K: each block leaves its sums in the workspace, and the
// last one to arrive adds them up. A single block would wait for memory again and again, so there are two rounds:
//
//      parts          0 1 2 3 4 5 6 7   8 9 10 11 12 13 14 15   16 17 18
//                     +-------------+   +-------------------+   +------+     the last of each group adds its parts
//                            |                    |                 |
//                            +--------------------+-----------------+        the last group adds the sums
//
// Parts are added in the order of k no matter which block comes last, so every run gives the same bits.

#pragma once

constexpr int kGroup = 8;       // parts
constexpr int kLoads = 64;      // floats of other blocks that a thread has in flight
constexpr int kMostAtOnce = 4;  // parts that it loads at once: often there are no more

// Ints in the workspace for each tile: arrivals in each group, and groups that are done.
__device__ constexpr int counters(int split) { return 1 + (split + kGroup - 1) / kGroup; }

// The parts that one block adds: `count` of them, namely first, first + step, and so on. `count` is 0 if another
// block adds them.
struct Parts {
    int first, step, count;
};

// Whether this block is the last of `count` to arrive. What the others have written is then visible.
__device__ inline bool arrive_last(int* counter, int count) {
    __shared__ int arrived;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();  // holds for what all have written before the barrier
        arrived = atomicAdd(counter, 1);
        if (arrived == count - 1) *counter = 0;  // for the next launch
        __threadfence();
    }
    __syncthreads();
    const bool last = arrived == count - 1;
    __syncthreads();  // before `arrived` is written again
    return last;
}

// The parts whose sum is the result, after part number `part` of `split` is in the workspace. `add` replaces part
// `first` with the sum of the parts it is given.
template <typename ADD> __device__ Parts meet_parts(int* counters, int part, int split, ADD add) {
    const int group = part / kGroup, groups = (split + kGroup - 1) / kGroup;
    const Parts mine = {group * kGroup, 1, min(kGroup, split - group * kGroup)};
    if (!arrive_last(counters + 1 + group, mine.count)) return {};
    if (groups == 1) return mine;
    add(mine);
    if (!arrive_last(counters, groups)) return {};
    return {0, kGroup, groups};
}

__device__ inline void add(float& to, float v) { to += v; }
__device__ inline void add(float4& to, float4 v) { to.x += v.x, to.y += v.y, to.z += v.z, to.w += v.w; }

// The sums of parts; each thread has COUNT elements. `load(part, i)` is element i of a part.
template <int COUNT, typename T, typename LOAD> __device__ void sum_parts(T (&total)[COUNT], Parts parts, LOAD load) {
    constexpr int kFloats = sizeof(T) / sizeof(float) * COUNT, kFit = kLoads / kFloats;
    constexpr int kAtOnce = kFit < 1 ? 1 : kFit < kMostAtOnce ? kFit : kMostAtOnce;  // parts
#pragma unroll
    for (int i = 0; i < COUNT; ++i) total[i] = T{};
#pragma unroll 1
    for (int p = 0; p < parts.count; p += kAtOnce) {
        T v[kAtOnce][COUNT];
#pragma unroll
        for (int u = 0; u < kAtOnce; ++u)
#pragma unroll
            for (int i = 0; i < COUNT; ++i)
                v[u][i] = p + u < parts.count ? load(parts.first + (p + u) * parts.step, i) : T{};
#pragma unroll
        for (int u = 0; u < kAtOnce; ++u)
#pragma unroll
            for (int i = 0; i < COUNT; ++i) add(total[i], v[u][i]);
    }
}

// Leave a block's SUMS totals as part number `part` of the `split` parts of a tile. Thread i has totals i, i +
// BLOCK_THREADS and so on, and place(p) is where part p belongs in the workspace. In the block that adds up the last
// parts of a tile, replace the totals with those of all parts and return true. `arrivals` are the tile's
// counters(split) ints, which are zero before and after.
template <int SUMS, int BLOCK_THREADS, int COUNT, typename PLACE>
__device__ bool add_parts(float (&total)[COUNT], int* arrivals, int part, int split, PLACE place) {
    const auto has = [](int i) { return SUMS % BLOCK_THREADS == 0 || i * BLOCK_THREADS + threadIdx.x < SUMS; };
    const auto leave = [=](int at, const float(&sums)[COUNT]) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
            if (has(i)) __stcg(place(at) + threadIdx.x + i * BLOCK_THREADS, sums[i]);
    };
    const auto sum_up = [=](float (&sums)[COUNT], Parts added) {
        sum_parts(sums, added, [=](int p, int i) {
            return has(i) ? __ldcg(place(p) + threadIdx.x + i * BLOCK_THREADS) : 0.0f;
        });
    };
    leave(part, total);
    const Parts rest = meet_parts(arrivals, part, split, [&](Parts group) {
        sum_up(total, group);
        leave(group.first, total);
    });
    if (rest.count == 0) return false;
    sum_up(total, rest);
    return true;
}

// The same for tiles that are all split alike, where each block has one part of one tile. The workspace begins with
// counters(split) ints for each tile, all zero.
template <int SUMS, int BLOCK_THREADS, int COUNT>
__device__ bool add_splits(float (&total)[COUNT], void* workspace, int tiles, int split) {
    const int tile = blockIdx.x / split, part = blockIdx.x % split;
    int* const arrivals = static_cast<int*>(workspace);
    float* const parts = static_cast<float*>(workspace) + (tiles * counters(split) + 3) / 4 * 4 +
                         size_t(tile) * split * SUMS;
    return add_parts<SUMS, BLOCK_THREADS>(total, arrivals + tile * counters(split), part, split,
                                          [=](int p) { return parts + size_t(p) * SUMS; });
}
