/*---
summary: tiles of many sizes, K split in the block and over the GPU as the shape wants it, any row without a copy
order: 48.3
symbol: gemm<width_a, width_b, early>
precisions: [f32]
layouts: [nn, nt, tn, tt]
params:
  BM: [64, 16, 24, 32, 40, 48, 80, 96, 128]
  BN: [64, 16, 24, 32, 40, 48, 80, 96, 128]
  BK: [16, 32, 64, 128, 256]    # k of a stage
  TM: [8, 4]                    # results of a thread
  TN: [8, 4]
  SLICES: [4, 1, 2, 8, 16]      # sets of threads that share a tile and divide the k of each stage
  BLOCKS: [1, 2, 3, 4]          # per SM: limits registers, and K is split until there are this many blocks
let:
  threads: BM // TM * (BN // TN) * SLICES
  fetchers: 512 if threads >= 512 else 256 if threads >= 256 else 128 if threads >= 128 else 64
  cover_m: 16 if BM <= 16 else 32 if BM <= 32 else 64 if BM <= 64 else 128  # powers of two that cover the tile
  cover_n: 16 if BN <= 16 else 32 if BN <= 32 else 64 if BN <= 64 else 128
  width_a: 4 if lda % 4 == 0 else 2 if lda % 2 == 0 else 1  # elements of a load
  width_b: 4 if ldb % 4 == 0 else 2 if ldb % 2 == 0 else 1
  tiles: cdiv(M, BM) * cdiv(N, BN)
  split: max(1, min(BLOCKS * SMS // tiles, K // (4 * BK)))
  short: cdiv(cdiv(K, BK), split) <= 2  # stages of a block
  # The next launch is prepared at once, after the main loop, or not at all.
  early: 2 if short else 1 if tiles * split > (BLOCKS - 1) * SMS else 0
  counters: cdiv(tiles * (1 + cdiv(split, 8)), 4) * 16  # bytes
require:
  - BM % TM == 0
  - BN % TN == 0
  - BK >= 4 * SLICES
  - threads >= 64
  - threads <= 512
  - BK * (cover_m + cover_n) <= 40 * fetchers      # registers for what a thread fetches
  - BLOCKS * threads <= 1024
  # Registers: the sums, what a thread fetches, and 44 for a, b and addresses.
  - cdiv(BLOCKS * threads, 128) * 128 * (TM * TN + BK * (cover_m + cover_n) // fetchers + 44) <= 65536
  - max(2 * BK * (BM + BN + 8), SLICES * BM * (BN + 4)) * 4 * BLOCKS <= 232448 - 1024 * BLOCKS
tile: [BM, BN]
workspace: counters + 4 * split * tiles * BM * BN if split > 1 else 0
zeroed: counters if split > 1 else 0  # which the last blocks of a tile reset
grid:
  - tiles * split
block:
  - threads
shared: 4 * max(2 * BK * (BM + BN + 8), SLICES * BM * (BN + 4))
pdl: true
sass:
  - spills == 0
accesses:
  - load_sectors <= 16 or BM % 32 != 0
  - store_sectors <= 16 or BM % 32 != 0
  - conflicts == 0 or BM != 64 or BN != 64 or TM + TN != 16
source: https://github.com/NVIDIA/cutlass/blob/main/media/docs/cpp/efficient_gemm.md
---*/

// The large rungs have one good tile size and need many tiles. Here the shape determines the tile. Three numbers tell
// how well a configuration suits it, and all of them can be computed before anything runs:
//
//      C of 40 x 300               empty part of the tiles       waves                   depth
//      +----+----+----+--+         a side of 40 wants BM = 40:   tiles x split of        stages of K that one
//   40 |    |    |    |  |  BM     with 64, three of eight       BLOCKS x SMs places:    block waits for, one
//      +----+----+----+--+         FFMA are wasted               just below a multiple   after the other
//        BN   BN   BN
//
//      one tile:    SLICES = 2, BK = 4                   split = 2: half of K in each of two blocks
//        k  0 1 2 3 | 0 1 2 3 ...                        +--------- K ---------+
//     slice 0 1 0 1 | 0 1 0 1                            | block 0  | block 1  |  parts in the workspace, which
//                                                        +----------+----------+  are added up in the order of k
//      The slices' sums meet in shared memory.
//
// SLICES gives a small tile enough warps, because a block with too few of them is bound by latency. split follows from
// the number of SMs: blocks fill one wave and are all resident at once. Parts are added in a fixed order, so every run
// gives the same bits.
//
// An FFMA that needs two registers of the same bank (even or odd) at once takes a second cycle; .reuse saves reading
// one of the three. A 16-byte load puts b0 b1 b2 b3 into even, odd, even and odd registers, and a 16-byte store needs
// its sums in the same order. So the sums are stored in the order 1 0 3 2. Then b and the sum that it is added to are
// always in different banks, and a is reused over a row. A loop body of two k leaves the sums where they are; with
// four, ptxas moves them around. Of 128 FFMA, 5 have such a conflict; in the natural order, 31 did.
//
// Every other instruction costs as much to issue as an FFMA, and registers are scarce, so the compiler would recompute
// addresses in each stage. Addresses are therefore pointers that advance, accesses past an edge are predicated off, and
// the last k of a stage have separate code. With 64 x 64 and SLICES=2, 512 of about 630 instructions of a stage are
// FFMA.
//
// One launch does everything. As in sgemm_pipelined, the next stage travels through registers while this one is
// multiplied, and the remainder of K comes first. Rows whose length is not a multiple of 16 bytes are fetched one or
// two elements at a time by neighbouring threads, instead of being copied beforehand. The next launch is prepared in
// parallel (pdl), but only once its blocks fit evenly on all SMs (launch.cuh).
//
// Bound by the issue of FFMA with large tiles and by latency with few stages: a tiny problem is a launch, one or two
// fetches, and a store.

#include "../common/launch.cuh"
#include "../common/parts.cuh"
#include "../common/vector.cuh"

constexpr int kAcross = BN / TN, kTile = BM / TM * kAcross, kThreads = kTile * SLICES;  // kTile: threads of a slice
constexpr int kFetchers = kThreads >= 512 ? 512 : kThreads >= 256 ? 256 : kThreads >= 128 ? 128 : 64;
constexpr int kPitchA = BM + 4, kPitchB = BN + 4, kBuffer = BK * (kPitchA + kPitchB);
constexpr int kDepth = BK / SLICES;                           // k of a slice in a stage
constexpr int kUnroll = TM * TN < 64 && kDepth >= 8 ? 4 : 2;  // and of the loop's body
constexpr int kFours = BM * BN / 4, kPitchC = BN + 4;  // float4 of a tile; pitch of the sums in shared memory
constexpr int kMostSums = kThreads <= 128 ? 4 : 2;     // as registers allow
// How many float4 a thread adds up at once.
constexpr int kSums = kFours < kMostSums * kThreads ? (kFours + kThreads - 1) / kThreads : kMostSums;

__device__ constexpr int cover(int tile) { return tile <= 16 ? 16 : tile <= 32 ? 32 : tile <= 64 ? 64 : 128; }

// A thread's share of the stages of one operand, stored K-major in shared memory. Threads are laid out for a tile whose
// size is a power of two. The part beyond TILE or past the edge of the matrix is left out: whatever shared memory holds
// there only enters sums that are never stored. `extent` is the operand's other size, M or N. ALONG_K: its rows in
// memory run along K, and are fetched 8 elements (a sector) at a time.
template <int TILE, bool ALONG_K, int WIDTH> struct Fetcher {
    using Elements = typename Vector<WIDTH>::type;
    static constexpr int PITCH = TILE + 4, COVER = cover(TILE), LANES_K = 8 / WIDTH;
    static constexpr int UNITS = ALONG_K ? kFetchers / LANES_K : kFetchers * WIDTH;
    static constexpr int STEP_X = UNITS < COVER ? UNITS : COVER, STEP_K = UNITS / STEP_X * (ALONG_K ? 8 : 1);
    static constexpr int PASSES = COVER / STEP_X, STEPS = (BK + STEP_K - 1) / STEP_K;

    const unsigned stride;  // between rows in memory
    const int k0, x0;       // where the thread's first unit is
    const int room;         // from there to the last row or column that the tile and the matrix have
    const float* from;      // the first unit of the next stage
    float* to;              // and where it goes in shared memory
    float values[STEPS][PASSES][WIDTH];

    __device__ Fetcher(const float* matrix, int extent, int K, int start, int begin, float* stage)
        : stride(ALONG_K ? K : extent), k0(ALONG_K ? threadIdx.x % LANES_K * WIDTH + threadIdx.x / LANES_K / STEP_X * 8
                                                   : threadIdx.x * WIDTH / STEP_X),
          x0((ALONG_K ? threadIdx.x / LANES_K : threadIdx.x * WIDTH) % STEP_X),
          room(kThreads == kFetchers || threadIdx.x < kFetchers ? min(TILE - 1, extent - 1 - start) - x0 : -1),
          from(matrix + (ALONG_K ? size_t(start + x0) * K + begin + k0 : size_t(begin + k0) * extent + start + x0)),
          to(stage + k0 * PITCH + x0) {}

    // Whether unit (s, p) of this thread is part of the tile.
    __device__ bool has(int s, int p) const {
        return p * STEP_X <= room && (BK % STEP_K == 0 || k0 + s * STEP_K < BK);
    }
    // Fetches the next stage: its first `depth` k come from the matrix, and the others are zeros. WHOLE: depth is BK.
    template <bool WHOLE> __device__ void fetch(int depth) {
#pragma unroll
        for (int i = 0; i < (ALONG_K ? PASSES : STEPS); ++i) {
            const float* const row = from + size_t(stride) * (i * (ALONG_K ? STEP_X : STEP_K));
#pragma unroll
            for (int j = 0; j < (ALONG_K ? STEPS : PASSES); ++j) {
                const int s = ALONG_K ? j : i, p = ALONG_K ? i : j;
                Elements& unit = reinterpret_cast<Elements&>(values[s][p]);
                if (!WHOLE) unit = Elements{};
                if (has(s, p) && (WHOLE || k0 + s * STEP_K < depth))
                    unit = __ldg(reinterpret_cast<const Elements*>(row + j * (ALONG_K ? STEP_K : STEP_X)));
            }
        }
        from += ALONG_K ? depth : size_t(stride) * depth;
    }
    // Stores the stage. The next one goes `on` elements further.
    __device__ void store(int on) {
        float* const stage = to;
        to += on;
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
#pragma unroll
            for (int p = 0; p < PASSES; ++p) {
                if (!has(s, p)) continue;
                float* const at = stage + s * STEP_K * PITCH + p * STEP_X;
                if constexpr (!ALONG_K)
                    reinterpret_cast<Elements&>(*at) = reinterpret_cast<const Elements&>(values[s][p]);
                else
#pragma unroll
                    for (int j = 0; j < WIDTH; ++j) at[j * PITCH] = values[s][p][j];
            }
    }
};

// The sums over begin <= k < end go to shared memory, one slice after another, with the columns of each pair swapped.
// The first stage includes the remainder.
template <int WIDTH_A, int WIDTH_B>
__device__ void multiply(const float* A, const float* B, int M, int N, int K, int2 at, int begin, int end,
                         float* shared) {
    const int slice = threadIdx.x / kTile, ty = threadIdx.x % kTile / kAcross * 4, tx = threadIdx.x % kAcross * 4;
    Fetcher<BM, !TRANS_A, WIDTH_A> fetch_a(A, M, K, at.x, begin, shared);
    Fetcher<BN, TRANS_B, WIDTH_B> fetch_b(B, N, K, at.y, begin, shared + BK * kPitchA);
    const float* as = shared + slice * kPitchA + ty;  // at this k
    const float* bs = shared + BK * kPitchA + slice * kPitchB + tx;
    float a[2][TM], b[2][TN];  // for this k and the next
    const auto load = [&](int to, int k) {
#pragma unroll
        for (int i = 0; i < TM; i += 4)
            reinterpret_cast<float4&>(a[to][i]) =
                reinterpret_cast<const float4&>(as[k * SLICES * kPitchA + i * (BM / TM)]);
#pragma unroll
        for (int j = 0; j < TN; j += 4)
            reinterpret_cast<float4&>(b[to][j]) =
                reinterpret_cast<const float4&>(bs[k * SLICES * kPitchB + j * (BN / TN)]);
    };
    const auto move_on = [&](int k, int on) {  // by k of this slice, and `on` elements
        as += k * SLICES * kPitchA + on, bs += k * SLICES * kPitchB + on;
    };
    float sum[TM][TN] = {};
    const auto add_products = [&](int of) {
#pragma unroll
        for (int i = 0; i < TM; ++i)
#pragma unroll
            for (int step = 0; step < TN; ++step) {
                const int j = i % 2 ? TN - 1 - step : step;  // back and forth, which reuses registers
                sum[i][j] += a[of][i] * b[of][j];
            }
    };

    // Hidden from the compiler, which would otherwise remove a loop of one iteration and move stores up to a point
    // where they wait for memory.
    const int k_end = kDepth == 2 * kUnroll ? kDepth * gridDim.y : kDepth;
    int stages = (end - begin + BK - 1) / BK, on = kBuffer;  // on: from one buffer to the other
    const int first = end - begin - (stages - 1) * BK;
    fetch_a.template fetch<false>(first), fetch_b.template fetch<false>(first);
    fetch_a.store(on), fetch_b.store(on);
    __syncthreads();
    load(0, 0);
#pragma unroll 1
    for (; stages > 0; --stages) {
        if (stages > 1) fetch_a.template fetch<true>(BK), fetch_b.template fetch<true>(BK);
#pragma unroll 1
        for (int k0 = kUnroll; k0 < k_end; k0 += kUnroll)  // all but the last k of the stage
#pragma unroll
            for (int k = 0; k < kUnroll; ++k) {
                load((k + 1) % 2, k + 1);
                if (k + 1 == kUnroll) move_on(kUnroll, 0);
                add_products(k % 2);
            }
#pragma unroll
        for (int k = 0; k < kUnroll; ++k) {
            if (k + 1 == kUnroll) {  // the next k is the first of the next stage
                if (stages > 1) fetch_a.store(-on), fetch_b.store(-on);
                __syncthreads();
                move_on(kUnroll - kDepth, on);
                on = -on;
            }
            load((k + 1) % 2, (k + 1) % kUnroll);
            add_products(k % 2);
        }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; j += 4)
            reinterpret_cast<float4&>(
                shared[(slice * BM + ty + i / 4 * 4 * (BM / TM) + i % 4) * kPitchC + tx + j * (BN / TN)]) =
                make_float4(sum[i][j + 1], sum[i][j], sum[i][j + 3], sum[i][j + 2]);
}

__device__ constexpr int common_divisor(int a, int b) { return b == 0 ? a : common_divisor(b, a % b); }

// The threads share a tile of rows x columns: act(row, column) is called for each UNIT neighbours in a row. A thread
// stays in its columns, so there is little to compute per element.
template <int UNIT, typename ACT> __device__ void share_tile(int rows, int columns, const ACT& act) {
    constexpr int kLine = common_divisor(BN / UNIT, kThreads), kRows = kThreads / kLine;  // threads along a row; rows
    const int row = threadIdx.x / kLine, column = threadIdx.x % kLine * UNIT;
#pragma unroll 4
    for (int i = 0; i < BM; i += kRows)
#pragma unroll
        for (int j = 0; j < BN; j += kLine * UNIT)
            if (row + i < rows && column + j < columns) act(row + i, column + j);
}

// Four neighbouring sums of a tile in shared memory, added up over the slices; each pair is swapped.
template <int SLICED> __device__ float4 add_slices(const float* shared, int row, int column) {
    float4 total = reinterpret_cast<const float4&>(shared[row * kPitchC + column]);
#pragma unroll
    for (int s = 1; s < SLICED; ++s)
        add(total, reinterpret_cast<const float4&>(shared[(s * BM + row) * kPitchC + column]));
    return total;
}

// Stores four sums whose pairs are swapped, in a C whose rows are multiples of 16 bytes.
__device__ void store4(float* to, float alpha, float beta, float4 swapped) {
    float4& c = reinterpret_cast<float4&>(*to);
    float4 sum = make_float4(alpha * swapped.y, alpha * swapped.x, alpha * swapped.w, alpha * swapped.z);
    if (beta != 0) add(sum, make_float4(beta * c.x, beta * c.y, beta * c.z, beta * c.w));  // else C is not read
    c = sum;
}

// Stores the rows x columns of a tile that are part of C, from `c` on. The sums are those of SLICED slices in shared
// memory. Where the row length of C is not a multiple of 16 bytes, neighbouring threads store neighbouring elements: if
// each stored four in turn, every L2 sector would be written four times.
template <int SLICED>
__device__ void store_tile(float* c, int N, int rows, int columns, float alpha, float beta, const float* shared) {
    if (N % 4 == 0)
        share_tile<4>(rows, columns, [=](int row, int column) {
            store4(c + size_t(row) * N + column, alpha, beta, add_slices<SLICED>(shared, row, column));
        });
    else
        share_tile<1>(rows, columns, [=](int row, int column) {
            float sum = shared[row * kPitchC + (column ^ 1)];
#pragma unroll
            for (int s = 1; s < SLICED; ++s) sum += shared[(s * BM + row) * kPitchC + (column ^ 1)];
            float* const to = c + size_t(row) * N + column;
            *to = beta == 0 ? alpha * sum : alpha * sum + beta * *to;
        });
}

template <int WIDTH_A, int WIDTH_B, int EARLY>
__global__ void __launch_bounds__(kThreads, BLOCKS)
    gemm(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C, void* workspace) {
    extern __shared__ __align__(16) float shared[];
    const int across = (N + BN - 1) / BN, tiles = across * ((M + BM - 1) / BM), split = gridDim.x / tiles;
    const int tile = blockIdx.x % tiles, part = blockIdx.x / tiles;
    const int2 at = make_int2(tile / across * BM, tile % across * BN);
    const int stages = (K + BK - 1) / BK, remainder = K - (stages - 1) * BK;
    const auto border = [=](int i) {  // the k where part i begins; the first stage of all has the remainder
        const int stage = int((long long)stages * i / split);
        return stage == 0 ? 0 : remainder + (stage - 1) * BK;
    };
    const int begin = border(part), end = border(part + 1);
    if (EARLY == 2) start_next_launch();
    await_launch_before();

    multiply<WIDTH_A, WIDTH_B>(A, B, M, N, K, at, begin, end, shared);
    if (EARLY == 1) start_next_launch();
    __syncthreads();

    const int rows = min(BM, M - at.x), columns = min(BN, N - at.y);  // of the tile that C has
    float* const c = C + size_t(at.x) * N + at.y;
    if (split == 1) {
        store_tile<SLICES>(c, N, rows, columns, alpha, beta, shared);
        return;
    }

    int* const counters = static_cast<int*>(workspace);
    float4* const parts =
        reinterpret_cast<float4*>(counters + (tiles * ::counters(split) + 3) / 4 * 4) + size_t(tile) * split * kFours;
    share_tile<4>(BM, BN, [=](int row, int column) {
        __stcg(parts + size_t(part) * kFours + (row * BN + column) / 4, add_slices<SLICES>(shared, row, column));
    });
    const auto add_up = [=](Parts added, const auto& keep) {
#pragma unroll 1
        for (int first = threadIdx.x; first < kFours; first += kSums * kThreads) {
            float4 total[kSums];
            sum_parts(total, added, [=](int p, int i) {
                const int e = first + i * kThreads;
                return e < kFours ? __ldcg(parts + size_t(p) * kFours + e) : float4{};
            });
#pragma unroll
            for (int i = 0; i < kSums; ++i)
                if (first + i * kThreads < kFours) keep(first + i * kThreads, total[i]);
        }
    };
    const Parts rest = meet_parts(counters + tile * ::counters(split), part, split, [=](Parts group) {
        add_up(group, [=](int e, float4 total) { __stcg(parts + size_t(group.first) * kFours + e, total); });
    });
    if (rest.count == 0) return;
    const bool wide = N % 4 == 0;
    add_up(rest, [=](int e, float4 total) {
        const int row = e / (BN / 4), column = e % (BN / 4) * 4;
        if (!wide) reinterpret_cast<float4&>(shared[row * kPitchC + column]) = total;
        else if (row < rows && column < columns) store4(c + size_t(row) * N + column, alpha, beta, total);
    });
    if (wide) return;
    __syncthreads();
    store_tile<1>(c, N, rows, columns, alpha, beta, shared);
}
