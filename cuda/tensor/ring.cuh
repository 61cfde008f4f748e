// A ring of STAGES pairs of tiles in shared memory, with the barriers between fetching and multiplying. After the
// tiles there is room for BOXES boxes of C per warp.

#pragma once

#include "tile.cuh"

#ifdef WARPGROUPS  // a kernel may have another number of groups that multiply
constexpr int kGroups = WARPGROUPS;
#else
constexpr int kGroups = 2;
#endif
constexpr int kThreads = 128 * (kGroups + 1);  // with the group that fetches
constexpr int kParts = BM / (64 * kGroups);  // of 64 rows for each group
#ifndef ROWS_ALONG_K  // a kernel may arrange the operands of its products differently
#define ROWS_ALONG_K !TRANS_A
#define COLUMNS_ALONG_K TRANS_B
#endif
using TileA = Tile<BM, ROWS_ALONG_K>;
using TileB = Tile<BN, COLUMNS_ALONG_K>;
constexpr int kStageBytes = TileA::BYTES + TileB::BYTES;
constexpr int kBoxBytes = 16 * kRowBytes;    // 16 rows of C, 128 bytes each

// A position in the ring: a stage, and the parity of the phase of its barriers that is waited for.
struct Place {
    int stage = 0;
    unsigned parity = 0;

    __device__ void advance() {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    }
};

// Every second tile of a block goes from the end of K to its beginning, because the data that the previous tile
// fetched last is still in L2. Returns which of the steps from `begin` up to `end` replaces `step` in tile number
// `turn`.
__device__ inline int turn_back(int step, int begin, int end, int turn) {
    return turn % 2 ? begin + end - 1 - step : step;
}

template <int BOXES> struct Ring {
    unsigned tiles;

    __device__ unsigned a(int stage) const { return tiles + stage * kStageBytes; }
    __device__ unsigned b(int stage) const { return a(stage) + TileA::BYTES; }
    __device__ unsigned box(int warp, int turn) const {
        return tiles + STAGES * kStageBytes + (warp * BOXES + turn % BOXES) * kBoxBytes;
    }
    __device__ unsigned filled(int stage) const {
        return tiles + STAGES * kStageBytes + kGroups * 4 * BOXES * kBoxBytes + 16 * stage;
    }
    __device__ unsigned emptied(int stage) const { return filled(stage) + 8; }

    // One thread initializes the barriers; `readers` groups empty a stage.
    __device__ void initialize_barriers(int readers) const {
        for (int stage = 0; stage < STAGES; ++stage) {
            initialize(filled(stage), 1);
            initialize(emptied(stage), readers);
        }
        publish_barriers();
        publish_writes();
    }
};

// Queue the products of a stage for a group.
template <typename RING, typename SUM, int COUNT>
__device__ void multiply_stage(const RING& ring, int stage, int group, SUM (&sum)[kParts][COUNT], bool adds) {
    const uint64_t a = TileA::describe(ring.a(stage), group * kParts * 64), b = TileB::describe(ring.b(stage), 0);
    begin_products();
#pragma unroll
    for (int i = 0; i < kSteps; ++i)
#pragma unroll
        for (int part = 0; part < kParts; ++part)
            multiply_add<BN, !(ROWS_ALONG_K), !(COLUMNS_ALONG_K)>(sum[part], a + part * (kChunkBytes / 16) + i * TileA::STEP,
                                                b + i * TileB::STEP, adds || i > 0);
    commit_products();
}
