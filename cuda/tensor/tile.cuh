// A tile of A or B in shared memory, as TMA writes it and wgmma reads it.
//
// A tile has rows of 128 bytes, whose 16-byte parts TMA swizzles: part p of row r is at p XOR r % 8. Eight rows are a
// block of 1024 bytes. A descriptor says where the tile begins and how far apart blocks are: the blocks along the rows
// of a tile that runs along K (`ALONG_K`), or those of the next 64 columns of a tile that runs along M or N. With
// 16-bit elements, 64 of which make a row:
//
//     ALONG_K: EXTENT rows of 64 k                   else: EXTENT / 64 chunks, each 64 k of 64 columns
//
//              64 k                                           64 columns    64 columns
//            +-------+                                      +-------------+-------------+
//            | 8 rows|  1024 bytes                          | 8 k         |             |
//            +-------+                                      +-------------+   8192      |
//            | 8 rows|                                      | 8 k         |   bytes     |
//            +-------+                                      +-------------+   on        |
//
// With 32-bit elements a tile has 32 k, and a chunk has 32 k of 32 columns, which wgmma cannot read. Where EXTENT is no
// multiple of 64, chunks are 32, 16 or 8 columns wide; TMA swizzles their rows by 64, 32 or 0 bytes.

#pragma once

#include "wgmma.cuh"

constexpr int kRowBytes = 128, kBlockBytes = 8 * kRowBytes, kChunkBytes = 64 * kRowBytes;
constexpr int kDepth = kRowBytes / sizeof(TA);  // k of a tile
constexpr int kSteps = 4;                       // instructions along K

template <int EXTENT, bool ALONG_K> struct Tile {
    static constexpr int BYTES = EXTENT * kRowBytes;
    // Of a chunk: columns, and bytes of 8 k.
    static constexpr int WIDTH = ALONG_K || EXTENT % kDepth == 0 ? kDepth : EXTENT % 32 == 0 ? 32 : EXTENT % 16 == 0 ? 16 : 8;
    static constexpr int BLOCK = 8 * WIDTH * sizeof(TA), CHUNK = kDepth / 8 * BLOCK;
    static constexpr int STEP = ALONG_K ? 2 : 2 * BLOCK / 16;  // of a descriptor, from one instruction to the next

    // Copy the tile that begins at `origin` along M or N and at the given k.
    static __device__ void fetch_from(const CUtensorMap* map, unsigned tile, int origin, int k, unsigned barrier) {
        if (ALONG_K) {
            fetch(tile, map, origin, k, barrier);
        } else {
#pragma unroll
            for (int chunk = 0; chunk < EXTENT / WIDTH; ++chunk)
                fetch(tile + chunk * CHUNK, map, k, origin + WIDTH * chunk, barrier);
        }
    }

    // A descriptor of the rows or columns starting at `first`, a multiple of 64; or, with EVERY, of every EVERY-th
    // block of 8.
    template <int EVERY = 1> static __device__ uint64_t describe(unsigned tile, int first) {
        constexpr int kSpan = WIDTH * int(sizeof(TA));  // bytes that are swizzled
        constexpr uint64_t kSwizzle = kSpan == 128 ? 1 : kSpan == 64 ? 2 : kSpan == 32 ? 3 : 0;
        const unsigned at = tile + first / 64 * kChunkBytes;
        const uint64_t chunks = ALONG_K ? 1 : CHUNK / 16, blocks = EVERY * BLOCK / 16;
        const uint64_t lower = kSwizzle ? chunks : blocks, upper = kSwizzle ? blocks : chunks;  // without a swizzle
        return (at & 0x3ffff) / 16 | lower << 16 | upper << 32 | kSwizzle << 62;                // they change places
    }
};
