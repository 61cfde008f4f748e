/*---
summary: mma.sync on fragments that ldmatrix loads from swizzled tiles, which cp.async copies into a ring of STAGES
order: 210
symbol: gemm<unit_a, unit_b>
precisions: [bf16, f16, tf32, f16_f16, bf16_f32, f16_f32]
layouts: [nn, nt, tn, tt]
min_sm: 80
epilogue: [bias, relu]
params:
  BM: [128, 64, 256]
  BN: [128, 256, 64]              # with 256, a ring of three needs more shared memory than GeForce cards have
  WM: [64, 32]                    # a warp's part of the block tile
  WN: [64, 32]
  STAGES: [3, 4, 2]
  SPLIT_K: [1, 2, 4, 8, 16]     # parts of K, at most
let:
  threads: (BM / WM) * (BN / WN) * 32
  tiles: cdiv(M, BM) * cdiv(N, BN)
  split: max(1, min(SPLIT_K, K * BYTES // 1024))
  counters: cdiv(tiles * (1 + cdiv(split, 8)), 4) * 16    # bytes
  unit_a: 16 if lda * BYTES % 16 == 0 else 8 if lda * BYTES % 8 == 0 else 4 if lda * BYTES % 4 == 0 else 2
  unit_b: 16 if ldb * BYTES % 16 == 0 else 8 if ldb * BYTES % 8 == 0 else 4 if ldb * BYTES % 4 == 0 else 2
require:
  - BM % WM == 0
  - BN % WN == 0
  - threads <= 512
  - threads >= 64
  - BM * BN <= 32768              # half of the registers hold sums
  - SPLIT_K == 1 or WM * WN < 4096    # so that those of another part fit
  - STAGES * (BM + BN) * 128 <= SMEM    # 128 bytes along K
tile: [BM, BN]
workspace: counters + 4 * split * tiles * BM * BN if split > 1 else 0
zeroed: counters if split > 1 else 0    # which the last blocks of a tile reset
grid:
  - tiles * split
block:
  - threads
shared: STAGES * (BM + BN) * 128
sass:
  - spills == 0                  # in the main loop
source: https://docs.nvidia.com/cuda/parallel-thread-execution/#warp-level-matrix-instructions-mma
---*/

// Compared with wmma: it uses the instruction itself, whose fragments PTX defines. Lane 4 g + t of a warp holds these
// elements of a 16 x 8 product, two (of 16 bits) or one (of 32) per register:
//
//              t = 0  1  2  3  0  1  2  3             b0 has k of the left half, b1 of the right one
//            +-----------+-----------+              +---------+
//      g     | a0        | a2        |         A    | b0      |  column g of B, k along t
//            +-----------+-----------+              +---------+
//      g + 8 | a1        | a3        |              | c0 c1   |  row g of C, columns 2 t and 2 t + 1
//            +-----------+-----------+              | c2 c3   |  row g + 8
//                 16 bytes each                     +---------+
//
// ldmatrix fills four such registers of all lanes at once: four times, it reads eight rows of 16 bytes. Rows of a
// tile are multiples of 128 bytes, so eight rows below one another would lie in the same banks. So their 16-byte
// parts are swizzled: part p of row r is at p XOR (r % 8). An operand whose rows run along M or N is transposed by
// ldmatrix as it is loaded; for 32-bit elements, which ldmatrix cannot transpose, lanes load one by one.
//
// cp.async copies the next STAGES - 1 tiles while the warps multiply, so there is one barrier for 128 bytes of K. It
// comes before the last products of a tile, which run while the first fragments of the next tile are being loaded.
// Before it, each step of products copies a share of a tile. In the main loop no tile reaches beyond K, so it has no
// branches, and the compiler can put copies and loads between the products. Rows and columns beyond M or N are not
// copied: whatever is in their place only affects results beyond C.
//
// Rows whose length is not a multiple of 16 bytes are copied 8 or 4 bytes at a time, neighbouring lanes taking
// neighbouring bytes; rows of an odd number of 16-bit elements go through registers. So no launch before this one has
// to pad an operand. SPLIT_K blocks, or fewer if K is short, share each tile of C (parts.cuh), which helps where there
// are few: then all SMs fetch the large operand.
//
// A warp of 64 x 64 loads 32 registers of fragments for 32 products, so it should be bound by the rate of mma.sync.

#include "../common/parts.cuh"
#include "finish.cuh"
#include "mma.cuh"

constexpr bool kTf32 = sizeof(TA) == 4;
constexpr int kRow = 128, kPart = 16;               // bytes
constexpr int kDepth = kRow / sizeof(TA);           // k of a tile
constexpr int kWide = kPart / sizeof(TA);           // elements of a part
constexpr int kSteps = kRow / (2 * kPart);          // instructions along K: each takes two parts
constexpr int kShares = kSteps - 1;                 // of a copy: one for each step before the barrier
constexpr int kWarpsN = BN / WN, kThreads = BM / WM * kWarpsN * 32;
constexpr int kTilesM = WM / 16, kTilesN = WN / 8;  // of one instruction
constexpr int kTileA = BM * kRow, kStage = kTileA + BN * kRow;

// The sums of a lane in one product of 16 x 8: c0 to c3; in f16, two of them share a register.
struct Sums {
    float c[4] = {};
    __device__ float get(int i) const { return c[i]; }
};
struct HalfSums {
    unsigned c[2] = {};
    __device__ float get(int i) const { return read_half(c[i / 2], i % 2); }
};
struct alignas(2 * sizeof(TC)) Pair {
    TC c[2];
};

// A tile of one operand: `EXTENT` rows or columns of the matrix, and kDepth k. ALONG_K: its rows in memory run along K.
// Every row of the tile is a row of memory, or a part of one. Addresses consist of a part that differs between lanes,
// computed once, and of constants.
template <int EXTENT, bool ALONG_K> struct Tile {
    static constexpr int ROWS = ALONG_K ? EXTENT : kDepth, COLUMNS = ALONG_K ? kDepth : EXTENT;
    static constexpr int PITCH = COLUMNS * sizeof(TA);  // bytes

    // The value with which the part numbers of a row are XORed. Single 32-bit loads need another order: four rows, with
    // eight neighbouring elements each, must lie in 32 different banks.
    static constexpr __device__ int exchange(int row) { return ALONG_K || !kTf32 ? row % 8 : row % 4 * 2; }

    // Where a part of a row lies.
    static __device__ unsigned place(int row, int part) { return row * PITCH + (part ^ exchange(row)) * kPart; }

    // The offset that lane `lane` adds to the address of a tile to load fragments of the rows or columns starting at
    // `first`.
    template <bool A_ORDER> static __device__ unsigned start(int first, int lane) {
        const int matrix = lane / 8;
        const int later = A_ORDER ? matrix % 2 : matrix / 2, right = A_ORDER ? matrix / 2 : matrix % 2;
        if constexpr (ALONG_K) return place(first + later * 8 + lane % 8, right);
        else if constexpr (!kTf32) return place(right * 8 + lane % 8, first / 8 + later);
        else return place(lane % 4, (first + lane / 4) / 4) + lane / 4 % 4 * 4;
    }

    // Fragments of 16 rows or columns, number `number` counted from `start`, for step number `step`. If A_ORDER, to[0]
    // and to[1] differ in rows or columns, and to[0] and to[2] in k; otherwise it is the other way round. XOR exchanges
    // the parts of a row, so it also finds the part that lies some parts further on: XOR with that number, which has no
    // bit in common with the part of the lane.
    template <bool A_ORDER> static __device__ void load(unsigned (&to)[4], unsigned start, int number, int step) {
        if constexpr (ALONG_K) {
            load_matrices<false>(to, (start ^ step * 2 * kPart) + number * 16 * PITCH);
        } else if constexpr (!kTf32) {
            load_matrices<true>(to, (start ^ number * 2 * kPart) + step * 16 * PITCH);
        } else {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int later = A_ORDER ? i % 2 : i / 2, right = A_ORDER ? i / 2 : i % 2;
                to[i] = load_shared((start ^ (number * 4 + later * 2) * kPart) + (step * 8 + right * 4) * PITCH);
            }
        }
        if constexpr (kTf32) {
#pragma unroll
            for (int i = 0; i < 4; ++i) to[i] = round_to_tf32(to[i]);
        }
    }
};

// The tiles of one operand, copied in turn. The rows of its matrix begin at multiples of UNIT bytes.
template <typename T, int EXTENT, bool ALONG_K, int UNIT> struct Copies {
    using Tile = ::Tile<EXTENT, ALONG_K>;
    static constexpr bool THROUGH_REGISTERS = UNIT < 4;
    static constexpr int PIECE = THROUGH_REGISTERS ? kPart : UNIT;  // bytes that a thread copies at once
    static constexpr int ACROSS = Tile::PITCH / PIECE, COUNT = Tile::ROWS * ACROSS / kThreads;
    static_assert((kThreads & (kThreads - 1)) == 0 && COUNT > 0, "the pieces of a thread have constant distances");

    size_t pitch;               // bytes of a row of the matrix
    const char* from;           // the first piece that this thread copies of the next tile
    unsigned to;                // where it goes in a tile
    int rows_left, bytes_left;  // of the matrix, from that piece on

    // Pieces of a tile that begins at `begin` along M or N, which has `extent`, and at k0.
    __device__ Copies(const T* matrix, int extent, int K, int begin, int k0)
        : pitch((ALONG_K ? K : extent) * sizeof(T)) {
        const int in_row = threadIdx.x % ACROSS * PIECE, row = threadIdx.x / ACROSS;
        const int row0 = ALONG_K ? begin : k0, column0 = ALONG_K ? k0 : begin;
        from = reinterpret_cast<const char*>(matrix + column0) + (row0 + row) * pitch + in_row;
        to = Tile::place(row, in_row / kPart) + in_row % kPart;
        rows_left = (ALONG_K ? extent : K) - row0 - row;
        bytes_left = ((ALONG_K ? K : extent) - column0) * int(sizeof(T)) - in_row;
    }

    // How far piece number i lies from the first one: kThreads pieces are a number of rows, or a part of one.
    static constexpr __device__ int rows_below(int i) { return i * kThreads / ACROSS; }
    static constexpr __device__ int bytes_behind(int i) { return i * kThreads % ACROSS * PIECE; }

    // Share `step` of a tile, which lies INSIDE the matrix along K, or else has zeros beyond its end. rows_below(i) has
    // no bit in common with the row of the first piece, so XOR with its own value finds the part in that later row.
    template <bool INSIDE> __device__ void copy_share(unsigned tile, int step) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            if (i * kShares / COUNT != step) continue;
            const bool in_rows = rows_below(i) < rows_left, in_row = bytes_behind(i) < bytes_left;
            const bool within = INSIDE || (ALONG_K ? in_row : in_rows);
            const char* const piece = from + rows_below(i) * pitch + bytes_behind(i);
            const unsigned at = tile + (to ^ Tile::exchange(rows_below(i)) * kPart) + rows_below(i) * Tile::PITCH +
                                bytes_behind(i);
            if constexpr (THROUGH_REGISTERS) {
                uint4 v;
#pragma unroll
                for (int j = 0; j < kWide; ++j)
                    reinterpret_cast<T*>(&v)[j] = in_rows && bytes_behind(i) + j * int(sizeof(T)) < bytes_left
                                                      ? reinterpret_cast<const T*>(piece)[j]
                                                      : T(0);
                store_shared(at, v);
            } else if (ALONG_K ? in_rows : in_row) copy_async<PIECE>(at, piece, within ? PIECE : 0);
        }
        if (step < kShares - 1) return;
        from += ALONG_K ? kRow : kDepth * pitch;
        (ALONG_K ? bytes_left : rows_left) -= ALONG_K ? kRow : kDepth;
    }
};
using TileA = Tile<BM, !TRANS_A>;
using TileB = Tile<BN, TRANS_B>;

template <int UNIT_A, int UNIT_B>
__global__ void __launch_bounds__(kThreads)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias, void* workspace) {
    extern __shared__ __align__(256) char shared[];  // dynamic: exceeds 48 KB
    const unsigned stages = address(shared), end = stages + STAGES * kStage;
    const int across = (N + BN - 1) / BN, tiles = across * ((M + BM - 1) / BM), split = gridDim.x / tiles;
    const int tile = blockIdx.x / split, part = blockIdx.x % split;
    const int row0 = tile / across * BM, column0 = tile % across * BN, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / kWarpsN * WM, warp_column = warp % kWarpsN * WN;
    const auto follow = [&](unsigned stage) { return stage + kStage == end ? stages : stage + kStage; };

    const long long all = (K + kDepth - 1) / kDepth;  // steps along K, of which this block takes those from `first` on
    const int first = int(all * part / split), steps = int(all * (part + 1) / split) - first;
    Copies<TA, BM, !TRANS_A, UNIT_A> copies_a(A, M, K, row0, first * kDepth);
    Copies<TB, BN, TRANS_B, UNIT_B> copies_b(B, N, K, column0, first * kDepth);
    unsigned filled = stages;
    int copied = 0;  // steps
    const auto copy_share = [&](auto inside, int share) {
        copies_a.template copy_share<decltype(inside)::value>(filled, share);
        copies_b.template copy_share<decltype(inside)::value>(filled + kTileA, share);
    };
    // Past the last step the group is empty, so that counting groups counts steps.
    const auto end_copy = [&] {
        commit_copies();
        ++copied;
        filled = follow(filled);
    };
    const auto copy = [&] {
        if (copied < steps)
#pragma unroll
            for (int share = 0; share < kShares; ++share) copy_share(std::false_type{}, share);
        end_copy();
    };
    unsigned a[2][kTilesM][4], b[2][kTilesN / 2][4];  // fragments for this instruction along K and the next
    const unsigned start_a = TileA::start<true>(warp_row, lane);
    const unsigned start_b = kTileA + TileB::start<false>(warp_column, lane);
    const auto load = [&](unsigned stage, int step) {
#pragma unroll
        for (int m = 0; m < kTilesM; ++m) TileA::load<true>(a[step % 2][m], stage + start_a, m, step);
#pragma unroll
        for (int n = 0; n < kTilesN / 2; ++n) TileB::load<false>(b[step % 2][n], stage + start_b, n, step);
    };
    // After this the tile has arrived, and no thread reads the previous one any more.
    const auto await_tile = [] {
        wait_for_copies<STAGES - 2>();
        __syncthreads();
    };

    std::conditional_t<sizeof(TACC) == 2, HalfSums, Sums> sum[kTilesM][kTilesN];
#pragma unroll 1
    for (int step = 0; step < STAGES - 1; ++step) copy();
    await_tile();
    unsigned stage = stages;
    load(stage, 0);
    const auto multiply_tile = [&](auto inside) {  // and copy one that lies inside the matrices along K, or any one
        constexpr bool INSIDE = decltype(inside)::value;
        if constexpr (!INSIDE) copy();
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
            if (step == kSteps - 1) {
                if constexpr (INSIDE) end_copy();
                await_tile();
                stage = follow(stage);
            } else if constexpr (INSIDE) {
                copy_share(inside, step);
            }
            load(stage, (step + 1) % kSteps);
#pragma unroll
            for (int m = 0; m < kTilesM; ++m)
#pragma unroll
                for (int n = 0; n < kTilesN; ++n) {
                    const unsigned(&of_a)[4] = a[step % 2][m], *const of_b = b[step % 2][n / 2] + n % 2 * 2;
                    multiply_add(sum[m][n].c, of_a[0], of_a[1], of_a[2], of_a[3], of_b[0], of_b[1]);
                }
        }
    };
    const int whole = min(first + steps, K / kDepth) - first;  // steps without the end of K
    const int inside = max(0, whole - (STAGES - 1));
    for (int step = 0; step < inside; ++step) multiply_tile(std::true_type{});
    for (int step = inside; step < steps; ++step) multiply_tile(std::false_type{});
    wait_for_copies<0>();

    float total[kTilesM * kTilesN * 4];
#pragma unroll
    for (int i = 0; i < kTilesM * kTilesN * 4; ++i) total[i] = sum[i / 4 / kTilesN][i / 4 % kTilesN].get(i % 4);
    if constexpr (SPLIT_K > 1)
        if (split > 1 && !add_splits<BM * BN, kThreads>(total, workspace, tiles, split)) return;

    // Four lanes hold eight neighbouring elements of a row, two each, which are stored at once where pairs are aligned.
    const int row = row0 + warp_row, column = column0 + warp_column;
    if ((size_t(C) | N * sizeof(TC)) % sizeof(Pair) == 0) {
#pragma unroll
        for (int i = 0; i < kTilesM * kTilesN * 4; i += 2) {
            const int m = row + i / 4 / kTilesN * 16 + i % 4 / 2 * 8 + lane / 4;
            const int n = column + i / 4 % kTilesN * 8 + lane % 4 * 2;
            if (m >= M || n >= N) continue;
            TC* const c = C + size_t(m) * N + n;
            const float first = finish(total[i], alpha, beta, c, bias, n);
            *reinterpret_cast<Pair*>(c) = {TC(first), TC(finish(total[i + 1], alpha, beta, c + 1, bias, n + 1))};
        }
        return;
    }
    // Elsewhere each store of single elements would write only parts of sectors of 32 bytes. So a warp passes 16 rows
    // at a time through shared memory, and each lane stores columns.
    constexpr int kPitch = WN + 8;  // the four rows that half a warp writes lie in different banks
    float* const box = reinterpret_cast<float*>(shared) + warp * 16 * kPitch;
    __syncthreads();
#pragma unroll
    for (int m = 0; m < kTilesM; ++m) {
#pragma unroll
        for (int i = 0; i < kTilesN * 4; i += 2) {
            const float* const two = total + m * kTilesN * 4 + i;
            float* const to = box + (i % 4 / 2 * 8 + lane / 4) * kPitch + i / 4 * 8 + lane % 4 * 2;
            *reinterpret_cast<float2*>(to) = {two[0], two[1]};
        }
        __syncwarp();
        for (int n = column + lane; n < min(column + WN, N); n += 32) {
            TC* const c = C + size_t(row + m * 16) * N + n;
            float v[16];
#pragma unroll
            for (int i = 0; i < 16; ++i) v[i] = box[i * kPitch + n - column];
#pragma unroll
            for (int i = 0; i < 16; ++i)
                if (row + m * 16 + i < M) c[size_t(i) * N] = TC(finish(v[i], alpha, beta, c + size_t(i) * N, bias, n));
        }
        __syncwarp();
    }
}
