/*---
summary: mma.sync on fragments that ldmatrix loads from swizzled tiles, which cp.async copies into a ring of STAGES
order: 210
symbol: gemm
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
let:
  threads: (BM / WM) * (BN / WN) * 32
require:
  - BM % WM == 0
  - BN % WN == 0
  - threads <= 512
  - threads >= 64
  - BM * BN <= 32768              # half of the registers hold sums
  - STAGES * (BM + BN) * 128 <= SMEM    # 128 bytes along K
tile: [BM, BN]
grid:
  - cdiv(N, BN)
  - cdiv(M, BM)
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
// parts are swizzled: part p of row r is at p XOR r % 8. An operand whose rows run along M or N is transposed by
// ldmatrix as it is loaded; for 32-bit elements, which ldmatrix cannot transpose, lanes load one by one.
//
// cp.async copies the tiles of the next STAGES - 1 steps while the warps multiply, so there is one barrier for 128
// bytes of K. It comes before the last products of a tile, which run while the first fragments of the next tile are
// being loaded. For tiles inside the matrices, each step copies its share without a check, so the main loop has no
// branches and the compiler can put copies and loads between the products. Rows whose length is not a multiple of 16
// bytes are copied 4 bytes at a time; in 16 bits, those of odd length go through registers.
//
// A warp of 64 x 64 loads 32 registers of fragments for 32 products, so it should be bound by the rate of mma.sync.

#include <cuda_fp16.h>

constexpr bool kTf32 = sizeof(TA) == 4;
constexpr int kRow = 128, kPart = 16;               // bytes
constexpr int kDepth = kRow / sizeof(TA);           // k of a tile
constexpr int kWide = kPart / sizeof(TA);           // elements of a part
constexpr int kSteps = kRow / (2 * kPart);          // instructions along K: each takes two parts
constexpr int kShares = kSteps - 1;                 // of a copy: one for each step before the barrier
constexpr int kWarpsN = BN / WN, kThreads = BM / WM * kWarpsN * 32;
constexpr int kTilesM = WM / 16, kTilesN = WN / 8;  // of one instruction
constexpr int kTileA = BM * kRow, kStage = kTileA + BN * kRow;

__device__ unsigned address(const void* shared) { return unsigned(__cvta_generic_to_shared(shared)); }

// Start a copy of 16 or 4 bytes, or of zeros if not `inside`.
template <int BYTES> __device__ void copy_async(unsigned to, const void* from, bool inside) {
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0));
    else asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(inside ? 4 : 0));
}
__device__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LATER> __device__ void wait_for_copies() {  // for all groups except the last LATER
    asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
}
__device__ void store_shared(unsigned to, uint4 v) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w));
}
__device__ unsigned load_shared(unsigned from) {
    unsigned value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(from));
    return value;
}
// Lane i supplies the address of row i % 8 of matrix i / 8; register j of a lane is its part of matrix j.
template <bool TRANSPOSED> __device__ void load_matrices(unsigned (&to)[4], unsigned row) {
    if (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(row));
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(row));
}
// TF32 keeps 10 bits after the point: round to nearest, because the instruction would truncate the others.
__device__ unsigned round_to_tf32(unsigned bits) {
    unsigned rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(bits)));
    return rounded;
}
// The sums of a lane: c0 to c3; in f16, two of them share a register.
struct Sums {
    float c[4] = {};
    __device__ float get(int i) const { return c[i]; }
};
struct HalfSums {
    unsigned c[2] = {};
    __device__ float get(int i) const { return __half2float(__ushort_as_half(c[i / 2] >> i % 2 * 16)); }
};
struct alignas(2 * sizeof(TC)) Pair {
    TC c[2];
};
__device__ void multiply_add(HalfSums& sum, const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                 : "+r"(sum.c[0]), "+r"(sum.c[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ void multiply_add(Sums& sum, const unsigned (&a)[4], unsigned b0, unsigned b1) {
#define MULTIPLY_ADD(SHAPE, TYPE)                                                                              \
    asm("mma.sync.aligned." SHAPE ".row.col.f32." TYPE "." TYPE ".f32 {%0, %1, %2, %3}, "            \
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                               \
                 : "+f"(sum.c[0]), "+f"(sum.c[1]), "+f"(sum.c[2]), "+f"(sum.c[3])                              \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
    if constexpr (kTf32) MULTIPLY_ADD("m16n8k8", "tf32");
    else if constexpr (std::is_same_v<TA, __half>) MULTIPLY_ADD("m16n8k16", "f16");
    else MULTIPLY_ADD("m16n8k16", "bf16");
#undef MULTIPLY_ADD
}

// A tile of one operand: `EXTENT` rows or columns of the matrix, and kDepth k. ALONG_K: its rows in memory run along K.
// Every row of the tile is a row of memory, or a part of one. Addresses consist of a part that differs between lanes,
// computed once, and of constants.
template <int EXTENT, bool ALONG_K> struct Tile {
    static constexpr int ROWS = ALONG_K ? EXTENT : kDepth, COLUMNS = ALONG_K ? kDepth : EXTENT;
    static constexpr int PITCH = COLUMNS * sizeof(TA), PARTS = PITCH / kPart, STRIDE = kThreads / PARTS;
    static_assert(kThreads % PARTS == 0 && ROWS % STRIDE == 0, "a thread copies the same part of every row");
    static_assert((STRIDE & (STRIDE - 1)) == 0, "rows STRIDE apart differ in other bits than the first STRIDE rows");

    // The value with which the part numbers of a row are XORed. Single 32-bit loads need another order: four rows, with
    // eight neighbouring elements each, must lie in 32 banks.
    static constexpr __device__ int exchange(int row) { return ALONG_K || !kTf32 ? row % 8 : row % 4 * 2; }

    // Where a part of a row lies.
    static __device__ unsigned place(int row, int part) { return row * PITCH + (part ^ exchange(row)) * kPart; }

    // Copy the part that this thread copies of every row, with zeros where the matrix of `rows` x `columns` elements
    // has none. `unit`: its rows begin at multiples of 16 bytes, of 4, or of less.
    template <typename T>
    static __device__ void copy(unsigned tile, const T* matrix, int rows, int columns, int row0, int column0, int unit) {
        constexpr int kPair = 4 / sizeof(T);  // elements of 4 bytes
        const int part = threadIdx.x % PARTS, column = column0 + part * kWide, first = threadIdx.x / PARTS;
        const auto is_inside = [&](int row, int j) { return row0 + row < rows && column + j < columns; };
        const auto find = [&](int row, int j) {
            return is_inside(row, j) ? matrix + size_t(row0 + row) * columns + column + j : matrix;
        };
        if (unit == kPart)
#pragma unroll 1
            for (int row = first; row < ROWS; row += STRIDE)
                copy_async<kPart>(tile + place(row, part), find(row, 0), is_inside(row, 0));
        else if (unit == 4)
#pragma unroll 1
            for (int row = first; row < ROWS; row += STRIDE)
#pragma unroll
                for (int j = 0; j < kWide; j += kPair)
                    copy_async<4>(tile + place(row, part) + j * sizeof(T), find(row, j), is_inside(row, j));
        else
#pragma unroll 2
            for (int row = first; row < ROWS; row += STRIDE) {
                uint4 v;
#pragma unroll
                for (int j = 0; j < kWide; ++j) reinterpret_cast<T*>(&v)[j] = is_inside(row, j) ? *find(row, j) : T(0);
                store_shared(tile + place(row, part), v);
            }
    }

    // The offset that lane `lane` adds to the address of a tile to load fragments of the rows or columns starting at
    // `first`.
    template <bool A_ORDER> static __device__ unsigned start(int first, int lane) {
        const int matrix = lane / 8;
        const int later = A_ORDER ? matrix % 2 : matrix / 2, right = A_ORDER ? matrix / 2 : matrix % 2;
        if constexpr (ALONG_K) return place(first + later * 8 + lane % 8, right);
        else if constexpr (!kTf32) return place(right * 8 + lane % 8, first / 8 + later);
        else return place(lane % 4, (first + lane / 4) / 4) + lane / 4 % 4 * 4;
    }

    // Fragments of 16 rows or columns, number `number` counted from `start`, for step number `step`. `a0` and `a1`
    // differ in rows or columns and `a0` and `a2` in k if A_ORDER; otherwise it is the other way round. XOR
    // exchanges the parts of a row, so it also finds the part that lies some parts further on: XOR with that number,
    // which has no bit in common with the part of the lane.
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

// The tiles of one operand, copied in turn.
template <typename T, int EXTENT, bool ALONG_K> struct Copies {
    using Tile = ::Tile<EXTENT, ALONG_K>;
    const T* matrix;
    int rows, columns, begin;  // of the matrix, and where the block's part of M or N begins
    int unit;                  // bytes that its rows are multiples of: 16, 4 or fewer
    bool inside;               // only the end of K can lie outside the matrix
    unsigned to;               // where this thread copies to in a tile; later rows are at constant offsets
    const char* next;          // what it copies of the next tile

    __device__ Copies(const T* matrix, int extent, int K, int begin)
        : matrix(matrix), rows(ALONG_K ? extent : K), columns(ALONG_K ? K : extent), begin(begin) {
        const size_t multiple = size_t(matrix) | columns * sizeof(T);
        unit = multiple % kPart == 0 ? kPart : multiple % 4 == 0 ? 4 : 2;
        inside = unit == kPart && begin + EXTENT <= extent;
        const int row = threadIdx.x / Tile::PARTS, part = threadIdx.x % Tile::PARTS, column = part * kWide;
        to = Tile::place(row, part);
        const size_t first = ALONG_K ? size_t(begin + row) * columns + column : size_t(row) * columns + begin + column;
        next = reinterpret_cast<const char*>(matrix + first);
    }
    __device__ void advance() { next += kDepth * sizeof(T) * (ALONG_K ? 1 : size_t(columns)); }

    // The tile at k0, even if parts of it lie outside the matrix.
    __device__ void copy(unsigned tile, int k0) {
        Tile::copy(tile, matrix, rows, columns, ALONG_K ? begin : k0, ALONG_K ? k0 : begin, unit);
        advance();
    }
    // Share `step` of a tile inside the matrix, without a check.
    __device__ void copy_share(unsigned tile, int step) {
        constexpr int COUNT = Tile::ROWS / Tile::STRIDE;
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
            if (i * kShares / COUNT == step) {
                constexpr int STRIDE = Tile::STRIDE;
                copy_async<kPart>(tile + (to ^ Tile::exchange(i * STRIDE) * kPart) + i * STRIDE * Tile::PITCH,
                           next + i * (STRIDE * sizeof(T)) * columns, true);
            }
        if (step == kShares - 1) advance();
    }
};
using TileA = Tile<BM, !TRANS_A>;
using TileB = Tile<BN, TRANS_B>;

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias) {
    extern __shared__ __align__(256) char shared[];  // dynamic: exceeds 48 KB
    const unsigned stages = address(shared), end = stages + STAGES * kStage;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / kWarpsN * WM, warp_column = warp % kWarpsN * WN;
    const auto follow = [&](unsigned stage) { return stage + kStage == end ? stages : stage + kStage; };

    Copies<TA, BM, !TRANS_A> copies_a(A, M, K, row0);
    Copies<TB, BN, TRANS_B> copies_b(B, N, K, column0);
    unsigned filled = stages;
    int k0 = 0;  // of the next tile to copy
    const auto end_copy = [&] {
        commit_copies();
        k0 += kDepth;
        filled = follow(filled);
    };
    // Copy the tiles of one step. Past the last one the group is empty, so that counting groups counts steps.
    const auto copy = [&] {
        if (k0 < K) {
            copies_a.copy(filled, k0);
            copies_b.copy(filled + kTileA, k0);
        }
        end_copy();
    };
    unsigned a[2][kTilesM][4], b[2][kTilesN / 2][4];  // fragments for this instruction along K and the next
    const unsigned start_a = TileA::start<true>(warp_row, lane), start_b = kTileA + TileB::start<false>(warp_column, lane);
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

    std::conditional_t<std::is_same_v<TACC, __half>, HalfSums, Sums> sum[kTilesM][kTilesN];
    for (int tile = 0; tile < STAGES - 1; ++tile) copy();
    await_tile();
    unsigned stage = stages;
    load(stage, 0);
    const auto multiply_tile = [&](auto copies_inside) {  // and copy one that lies inside the matrices, or any one
        constexpr bool INSIDE = decltype(copies_inside)::value;
        if constexpr (!INSIDE) copy();
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
            if (step == kSteps - 1) {
                if constexpr (INSIDE) end_copy();
                await_tile();
                stage = follow(stage);
            } else if constexpr (INSIDE) {
                copies_a.copy_share(filled, step);
                copies_b.copy_share(filled + kTileA, step);
            }
            load(stage, (step + 1) % kSteps);
#pragma unroll
            for (int m = 0; m < kTilesM; ++m)
#pragma unroll
                for (int n = 0; n < kTilesN; ++n)
                    multiply_add(sum[m][n], a[step % 2][m], b[step % 2][n / 2][n % 2 * 2],
                                 b[step % 2][n / 2][n % 2 * 2 + 1]);
        }
    };
    int left = (K + kDepth - 1) / kDepth;
    const int inside = copies_a.inside && copies_b.inside ? max(0, (K - k0) / kDepth) : 0;
    left -= inside;
    for (int tile = 0; tile < inside; ++tile) multiply_tile(std::true_type{});
    for (int tile = 0; tile < left; ++tile) multiply_tile(std::false_type{});
    wait_for_copies<0>();

    // Four lanes hold eight neighbouring elements of a row, two each, which are stored together where rows have pairs.
    const bool pairs = (size_t(C) | N * sizeof(TC)) % sizeof(Pair) == 0;
#pragma unroll
    for (int m = 0; m < kTilesM; ++m) {
#pragma unroll
        for (int n = 0; n < kTilesN; ++n) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int row = row0 + warp_row + m * 16 + half * 8 + lane / 4;
                const int column = column0 + warp_column + n * 8 + lane % 4 * 2;
                if (row >= M || column >= N) continue;
                TC* const c = C + size_t(row) * N + column;
                const bool both = column + 1 < N;
                Pair result;
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    float value = float(alpha) * sum[m][n].get(half * 2 + i);
                    if (beta != TACC(0) && (i == 0 || both)) value += float(beta) * float(c[i]);  // 0: C is not read
                    if (BIAS && (i == 0 || both)) value += float(bias[column + i]);
                    if (RELU && value < 0) value = 0;  // a NaN stays
                    result.c[i] = TC(value);
                }
                if (pairs) *reinterpret_cast<Pair*>(c) = result;
                else {
                    c[0] = result.c[0];
                    if (both) c[1] = result.c[1];
                }
            }
        }
    }
}
