// How the blocks of a cluster fetch and release the tiles that several of them need, and how C leaves a block: through
// shared memory, by TMA.

#pragma once

#include "box.cuh"
#include "epilogue.cuh"
#include "ring.cuh"

constexpr int kBoxes = 2;  // of a warp: one is stored while the next is written

constexpr int kFetcher = 128 * kGroups;  // the thread that fetches

// Prefetch the tensor maps before the first tile is fetched or stored, which would otherwise wait for them. C has a map
// if its row length is a multiple of 16 bytes.
__device__ inline void prefetch_maps(const CUtensorMap* a, const CUtensorMap* b, const CUtensorMap* c, int N) {
    prefetch(a);
    prefetch(b);
    if (N * sizeof(TC) % 16 == 0) prefetch(c);
}

// Fetch a part of a tile, number `part` of PARTS, for all `blocks` that share the tile. A tile that runs along M or N
// comes in chunks of up to 128 bytes; where these cannot be divided evenly, each is also cut along k.
template <int EXTENT, bool ALONG_K, int PARTS>
__device__ void fetch_part(uint16_t blocks, int part, const CUtensorMap* map, unsigned tile, int origin, int k,
                           unsigned barrier) {
    if (PARTS == 1) {
        Tile<EXTENT, ALONG_K>::fetch_from(map, tile, origin, k, barrier);
    } else if (ALONG_K) {
        constexpr int kRows = EXTENT / PARTS;
        fetch_for(blocks, tile + part * kRows * kRowBytes, map, origin + part * kRows, k, barrier);
    } else {
        using Whole = Tile<EXTENT, false>;
        constexpr int kChunks = EXTENT / Whole::WIDTH, kCuts = kChunks % PARTS ? PARTS : 1, kRows = kDepth / kCuts;
#pragma unroll
        for (int i = 0; i < kChunks * kCuts / PARTS; ++i) {
            const int piece = part * (kChunks * kCuts / PARTS) + i, chunk = piece / kCuts, row = piece % kCuts * kRows;
            const unsigned to = tile + chunk * Whole::CHUNK + row * (Whole::BLOCK / 8);
            fetch_for(blocks, to, map, k + row, origin + chunk * Whole::WIDTH, barrier);
        }
    }
}

// A block's place in a cluster of CM x CN x CK blocks. Blocks of one row have the same tile of A, and those of one column
// have the same tile of B; of both, blocks of different slices have different k.
template <int CM, int CN, int CK = 1> struct Member {
    static constexpr int OF_SLICE = CM * CN, BLOCKS = OF_SLICE * CK;
    static constexpr int SHARERS = CM + CN - 1;  // that fetch for a block, itself included
    int row, column, slice;

    static __device__ Member find() {
        const int rank = BLOCKS > 1 ? rank_in_cluster() : 0;
        return {rank % CM, rank % OF_SLICE / CM, rank / OF_SLICE};
    }

    __device__ int rank_of(int row, int column) const { return slice * OF_SLICE + column * CM + row; }

    // `bytes` is the size of all boxes of a stage.
    template <typename RING>
    __device__ void fetch_stage(const RING& ring, int stage, const CUtensorMap* map_a, const CUtensorMap* map_b, int2 at,
                                int k, int bytes = kStageBytes) const {
        uint16_t with_a = 0, with_b = 0;  // the blocks with the same tile of A, and of B
#pragma unroll
        for (int n = 0; n < CN; ++n) with_a |= 1 << rank_of(row, n);
#pragma unroll
        for (int m = 0; m < CM; ++m) with_b |= 1 << rank_of(m, column);
        arrive_and_expect(ring.filled(stage), bytes);
        fetch_part<BM, ROWS_ALONG_K, CN>(with_a, column, map_a, ring.a(stage), at.x, k, ring.filled(stage));
        fetch_part<BN, COLUMNS_ALONG_K, CM>(with_b, row, map_b, ring.b(stage), at.y, k, ring.filled(stage));
    }

    // The bytes of a stage if the boxes of unshared tiles have no more rows than C.
    static __device__ int count_bytes(int M, int N) {
        const int rows_a = ROWS_ALONG_K && CN == 1 ? min(BM, M) : BM, rows_b = COLUMNS_ALONG_K && CM == 1 ? min(BN, N) : BN;
        return (rows_a + rows_b) * kRowBytes;
    }

    // The block that thread number `thread` of a group notifies when the group has read a stage: one of those that
    // fetch for this block, or -1 for none.
    __device__ int find_fetcher(int thread) const {
        if (thread < CN) return rank_of(row, thread);
        return thread < SHARERS ? rank_of((row + 1 + thread - CN) % CM, column) : -1;
    }

    static __device__ void release(unsigned emptied, int fetcher) {
        if (fetcher < 0) return;
        if (OF_SLICE > 1) arrive_at(emptied, fetcher);
        else arrive(emptied);
    }

    static __device__ void meet() {
        if (BLOCKS > 1) meet_cluster();
    }
};

// How C leaves a warpgroup: each warp writes its 16 rows, kColumns at a time, to a box, which one lane stores by TMA.
struct Boxes {
    static constexpr int kColumns = kLineColumns;
    int M, N;
    float alpha, beta;
    TC* C;
    const TC* bias;

    // Store the sums of a warpgroup: 64 x BN of C, starting at (row0, column0). `stored` is the number of boxes that
    // the warp has stored. With ANY_N, the row length of C need not be a multiple of 16 bytes.
    template <bool ANY_N, typename RING>
    __device__ void store(float (&sum)[BN / 2], const RING& ring, int& stored, const CUtensorMap* map, int row0,
                          int column0) const {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = row0 + warp % 4 * 16;
        finish_sums<BN>(sum, M, N, row0, column0, alpha, beta, C, bias);
#pragma unroll
        for (int box = 0; box < BN / kColumns; ++box) {
            const unsigned to = ring.box(warp, stored++);
            const int column = column0 + box * kColumns;
            if (ANY_N && column >= N) break;
            if (lane == 0) wait_for_reads<kBoxes - 1>();
            __syncwarp();
            Box<kColumns>::write(to, sum + box * kColumns / 2);
            if constexpr (ANY_N) {
                __syncwarp();
                Box<kColumns>::store(C, M, N, row, column, to, 0, 16);
                continue;
            }
            publish_writes();
            __syncwarp();
            if (lane == 0) store_box(map, row, column, to);
        }
    }
};
