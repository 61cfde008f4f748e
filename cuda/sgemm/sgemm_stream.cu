/*---
summary: the large operand streamed once from memory to registers, for results of a few rows or columns
order: 48.1
symbol: gemm<by_rows, wide, short>
precisions: [f32, tf32, bf16, f16]
layouts: [nn, nt, tn, tt]
params:
  LINES: [8, 1, 2, 4, 12, 16, 24, 32, 40] # rows of C, or columns if it has fewer, in a block and in each thread
  OUTPUTS: [64, 8, 16, 24, 32, 48, 96, 128, 192, 256]  # of each line in a block; a thread has 4
  THREADS: [128, 192, 256, 384]
  AHEAD: [2, 1, 4]              # loads of 4 x 4 elements that a thread has in flight
  BLOCKS: [3, 1, 2, 4]          # per SM: limits registers, and K is split until there are this many blocks
let:
  lines: min(M, N)
  outputs: max(M, N)
  by_rows: M <= N               # the lines are those of C
  along_k: TRANS_B if by_rows else not TRANS_A  # rows of the large operand run along K
  wide: (K if along_k else outputs) % 4 == 0    # they are multiples of four elements
  shifted: not (wide or along_k)
  span: OUTPUTS - 4 if shifted else OUTPUTS     # outputs of a tile
  step: 16 * THREADS // OUTPUTS # k that a block loads at once
  chunk: step * AHEAD * max(1, 8192 // (LINES * step * AHEAD))  # k of the small operand in shared memory
  tiles: cdiv(lines, LINES) * cdiv(outputs, span)
  places: BLOCKS * SMS          # of blocks that run at once
  most: K // (2 * step * AHEAD) # parts of a tile along K that are long enough
  wanted: min(places // tiles, most)
  # Up to eight parts of a tile meet in a cluster. Not all SMs have room for a cluster of more than two blocks.
  met: min(8, most, max(min(2, wanted), places * 7 // 8 // tiles))
  cluster: met if met >= min(3, wanted) and met > 1 and places // tiles <= 12 else 1
  split: cluster if cluster > 1 else max(1, wanted)
  waves: cdiv(tiles * split, places)
  # Whole parts leave more than a twentieth of the slots empty, and there are 8 rounds for each slot.
  uneven: cluster == 1 and 20 * tiles * split < 19 * waves * places and tiles * (K // (step * AHEAD)) >= 8 * places
  blocks: places if uneven else tiles * split
  short: K * tiles <= 2 * step * AHEAD * blocks  # a block loads at most twice what it has in flight
  parts: max(1, cdiv(blocks, tiles))  # of a tile, or one more
  counters: cdiv(tiles * (1 + cdiv(parts + 1, 8)), 4) * 16  # bytes
require:
  - THREADS % (OUTPUTS if shifted else OUTPUTS // 4) == 0
  - BLOCKS * THREADS <= 1536
  - BLOCKS * THREADS * (4 * LINES + 4 * BYTES * AHEAD + 76) <= 65536
  - LINES * (chunk + 4) <= 24576           # 96 KB
workspace: 0 if blocks == tiles else counters + 8 * blocks * LINES * OUTPUTS
zeroed: 0 if blocks == tiles else counters  # which the last blocks of a tile reset
grid:
  - blocks
block:
  - THREADS
shared: 4 * max(LINES * (chunk + 4), 4 * LINES * THREADS + step)
pdl: true
cluster: cluster
sass:
  - spills == 0
accesses:
  - load_sectors <= (32 if LINES == 1 else 16)
  - store_sectors <= 4 or LINES != 8
  - conflicts == 0 or LINES != 8 or OUTPUTS != 64
source: https://developer.nvidia.com/blog/how-implement-performance-metrics-cuda-cc/
---*/

// If C has few rows (or columns), nearly all traffic is B (or A), and each of its elements takes part in only a few
// multiply-adds. A tile of it in shared memory would gain nothing, so every thread loads 4 x 4 elements straight into
// registers and multiplies them by all lines while the next loads are in flight. Only the small operand is in shared
// memory, a chunk along K at a time.
//
//                    B (C has fewer rows)        THREADS = 8, OUTPUTS = 16:
//                       OUTPUTS                    0 1 2 3   the thread that loads these 4 x 4 elements.
//                    +---------+-- - -             4 5 6 7   Each then has 4 sums for every line, over
//               step | 0 1 2 3 |                   0 1 2 3   its own k. At the end the threads of a
//      small         | 4 5 6 7 |                   ...       column add them up in shared memory.
//      LINES         +---------+
//     +--------+     | 0 1 2 3 |  next step      With rows of B along K (B transposed, or C with fewer
//     | chunk  |     | 4 5 6 7 |                 columns and A as M x K) 0 and 1 are neighbours along
//     +--------+     +---------+                 K, so that a warp always loads whole rows of memory.
//
// Where there are fewer tiles than slots for blocks, K is split among blocks: up to eight form a cluster and read each
// other's sums from shared memory; more than eight add up in device memory (parts.cuh). Where that would leave slots
// empty and K is long, there is one block per slot, and all get the same share of the loads, as in sgemm_persistent.
// The next launch is prepared in parallel (pdl).
//
// Where the row length is not a multiple of four elements, a block starts each row up to three outputs further left, at
// a multiple of four elements in memory. Rows that are four apart are shifted alike, so a thread takes rows k, k + 4,
// k + 8 and k + 12 and always has the same four outputs. With N = 45 and OUTPUTS = 8:
//
//                       0 1 2 3 4 5 6 7   outputs of the block
//      row 0            0 0 0 0 1 1 1 1
//      row 1          2 2 2 2 3 3 3 3     the thread that loads an element
//      row 2        4 4 4 4 5 5 5 5
//      row 3      6 6 6 6 7 7 7 7
//      row 4            0 0 0 0 1 1 1 1   The block keeps outputs 0 to 3, for which it has all k.
//
// Rows along K are then loaded element by element by neighbouring threads. C^T = B^T A^T turns a C of few columns into
// one of few rows.
//
// Bound by memory while LINES is small. A thread needs one load and LINES / 4 shared loads for 4 LINES FFMA, so from
// about 24 lines on it is bound by the issue of FFMA; in 16 bits, where a load has half the bytes, from about 4.

#include "../common/bytes.cuh"
#include "../common/cluster.cuh"
#include "../common/launch.cuh"
#include "../common/parts.cuh"

using Four = Word<4 * sizeof(TA)>::type;  // neighbouring elements, which one instruction loads

constexpr int kOutputThreads = OUTPUTS / 4, kDepthThreads = THREADS / kOutputThreads;
constexpr int kStep = 4 * kDepthThreads, kRound = kStep * AHEAD;  // k of a block's loads: at once, in flight
constexpr int kChunk = kRound * (LINES * kRound > 8192 ? 1 : 8192 / (LINES * kRound));
constexpr int kPitch = kChunk + 4;
constexpr int kMostOfCluster = 8;                                // blocks, as for `met` above
constexpr int kSums = LINES * OUTPUTS, kSumPitch = kSums + 4;    // of the threads with the same k
constexpr int kTotals = (kSums + THREADS - 1) / THREADS;         // that a thread adds up

// A and B, or B and A: C, or its transpose, has `lines` rows.
struct Operands {
    const TA *small, *large;
    int lines, outputs, K;
};

// Copy the four elements in `v`.
template <typename T, typename VECTOR> __device__ void copy4(T* to, const VECTOR& v) {
#pragma unroll
    for (int i = 0; i < 4; ++i) to[i] = reinterpret_cast<const T*>(&v)[i];
}

// The location of a given k of the small operand in shared memory. SHIFTED: the four k of a thread are adjacent.
template <bool SHIFTED> __device__ unsigned slot(unsigned k) {
    return SHIFTED ? k / 16 * 16 + k % 4 * 4 + k / 4 % 4 : k;
}

// Copies the lines from `line0` on, k0 <= k < end, to shared memory, with zeros up to a multiple of kRound. Lines
// beyond C may have any contents.
template <bool ALONG_K, bool SHIFTED, typename T>  // T: Four, or an element
__device__ void stage(float* to, const Operands& operands, int line0, int k0, int end) {
    constexpr int WIDTH = ALONG_K ? sizeof(T) / sizeof(TA) : 1;
    using Floats = typename Word<WIDTH * sizeof(float)>::type;
    constexpr int BATCH = LINES < 8 ? 8 / LINES : 1, AT_ONCE = 16;  // at least 8 loads in flight
    const int depth = min(kChunk, (end - k0 + kRound - 1) / kRound * kRound), lines = operands.lines - line0;
    if (ALONG_K) {
        const TA* const from = operands.small + size_t(line0) * operands.K + k0;
#pragma unroll BATCH
        for (int k = WIDTH * threadIdx.x; k < depth; k += WIDTH * THREADS)
#pragma unroll 8
            for (int line = 0; line < LINES; ++line) {
                const bool inside = line < lines && k0 + k < end;
                const T v = inside ? __ldg(reinterpret_cast<const T*>(from + size_t(line) * operands.K + k)) : T{};
                float elements[WIDTH];
#pragma unroll
                for (int i = 0; i < WIDTH; ++i) elements[i] = float(reinterpret_cast<const TA*>(&v)[i]);
                reinterpret_cast<Floats&>(to[line * kPitch + slot<SHIFTED>(k)]) = reinterpret_cast<Floats&>(elements);
            }
    } else {  // its rows are those of K: where they are no longer than LINES, all of it is contiguous
        const TA* const from = operands.small + size_t(k0) * operands.lines + line0;
        const unsigned present = min(LINES, lines);
        for (unsigned e0 = threadIdx.x; e0 < present * depth; e0 += AT_ONCE * THREADS) {
            float v[AT_ONCE];
            const auto each = [&](const auto& work) {
#pragma unroll
                for (int i = 0; i < AT_ONCE; ++i) {
                    const unsigned e = e0 + i * THREADS, k = e / present;
                    if (e < present * depth) work(v[i], k, e - k * present);
                }
            };
            each([&](float& element, unsigned k, unsigned line) {
                element = k0 + k < end ? float(__ldg(from + size_t(k) * operands.lines + line)) : 0;
            });
            each([&](float element, unsigned k, unsigned line) { to[line * kPitch + slot<SHIFTED>(k)] = element; });
        }
    }
}

// A thread's share of a tile of the large operand. ALONG_K: its rows in memory run along K. Beyond the last output
// another one is loaded again and never stored.
template <bool ALONG_K, bool WIDE> struct Streamer {
    static constexpr bool SHIFTED = !WIDE && !ALONG_K, VECTORS = WIDE || SHIFTED;  // loads of four elements
    static constexpr int SPAN = SHIFTED ? OUTPUTS - 4 : OUTPUTS;                   // outputs of a tile
    const TA* from;  // the tile
    size_t per_k;
    unsigned row[4];  // in the tile, of the first step: elements
    int column[VECTORS ? 1 : 4], depth, shift, last;
    int whole;  // SHIFTED: from this k on, which is the last, a vector would end beyond the matrix

    __device__ Streamer(const Operands& operands, int output0)
        : from(operands.large + output0 * size_t(ALONG_K ? operands.K : 1)), per_k(ALONG_K ? 1 : operands.outputs),
          depth(k_of(0)), shift(SHIFTED ? depth % 4 * (operands.outputs % 4) % 4 : 0),
          last(operands.outputs - output0 - 1), whole(operands.K) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            row[i] = ALONG_K ? min(output_of(i), last) * operands.K : k_of(i) * operands.outputs;
        if (SHIFTED) {  // a vector may begin in the row before, or end in the next
            column[0] = output_of(0) <= last ? output_of(0) : -shift;
            if (column[0] + 3 > last) --whole;
        } else if (WIDE) column[0] = ALONG_K ? depth : min(output_of(0), last - 3);
        else
#pragma unroll
            for (int i = 0; i < 4; ++i) column[i] = k_of(i);
    }

    static __device__ int place_along_k() {
        return ALONG_K ? threadIdx.x % kDepthThreads : threadIdx.x / kOutputThreads;
    }
    // The i-th of the thread's four outputs in the tile, and of its four k in a step.
    __device__ int output_of(int i) const {
        return 4 * (ALONG_K ? threadIdx.x / kDepthThreads : threadIdx.x % kOutputThreads) + i - shift;
    }
    static __device__ int k_of(int i) {
        const int place = place_along_k();
        return WIDE ? 4 * place + i : SHIFTED ? place / 4 * 16 + place % 4 + 4 * i : place + i * kDepthThreads;
    }

    // v[i] is a row in memory: one output of four k, or one k of four outputs. Zeros from `end` on.
    __device__ void load(TA (&v)[4][4], int k0, int end) const {
        const TA* const step = from + k0 * per_k;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (VECTORS) {
                const Four* const at = reinterpret_cast<const Four*>(step + row[i] + column[0]);
                const int k = k0 + depth + (ALONG_K ? 0 : SHIFTED ? 4 * i : i);
                copy4(v[i], k < (SHIFTED ? min(end, whole) : end) ? __ldcs(at) : Four{});
            } else {
#pragma unroll
                for (int j = 0; j < 4; ++j) v[i][j] = k0 + k_of(j) < end ? __ldcs(step + row[i] + column[j]) : TA(0);
            }
        }
        if (SHIFTED && whole < end && k0 + kStep > whole)
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    if (k0 + depth + 4 * i == whole && column[0] + j <= last)
                        v[i][j] = __ldcs(step + row[i] + column[0] + j);
    }

    // Adds the products with a step of the small operand.
    __device__ void multiply(float (&sum)[LINES][4], const TA (&v)[4][4], const float* small) const {
#pragma unroll
        for (int line = 0; line < LINES; ++line) {
            const float* const a = small + line * kPitch + slot<SHIFTED>(depth);
            float each[4];
            if (VECTORS) copy4(each, reinterpret_cast<const float4&>(*a));
            else
#pragma unroll
                for (int i = 0; i < 4; ++i) each[i] = a[i * kDepthThreads];
#pragma unroll
            for (int k = 0; k < 4; ++k)
#pragma unroll
                for (int output = 0; output < 4; ++output)
                    sum[line][output] += each[k] * float(ALONG_K ? v[output][k] : v[k][output]);
        }
    }
};

// The sums of a block over begin <= k < end go to shared memory: kDepthThreads times kSums, kSumPitch apart.
template <bool ALONG_K, bool SMALL_ALONG_K, bool WIDE>
__device__ void multiply(const Operands& operands, int line0, int output0, int begin, int end, float* shared) {
    const Streamer<ALONG_K, WIDE> streamer(operands, output0);
    TA v[AHEAD][4][4];
    float sum[LINES][4] = {};
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) streamer.load(v[i], begin + i * kStep, end);
    for (int chunk = begin; chunk < end; chunk += kChunk) {
        __syncthreads();  // the previous chunk is no longer needed
        constexpr bool SHIFTED = streamer.SHIFTED;
        if (SMALL_ALONG_K && !SHIFTED && operands.K % 4 == 0)
            stage<SMALL_ALONG_K, SHIFTED, Four>(shared, operands, line0, chunk, end);
        else stage<SMALL_ALONG_K, SHIFTED, TA>(shared, operands, line0, chunk, end);
        __syncthreads();
#pragma unroll 1
        for (int k = chunk; k < min(chunk + kChunk, end); k += kRound)
#pragma unroll
            for (int i = 0; i < AHEAD; ++i) {
                streamer.multiply(sum, v[i], shared + k - chunk + i * kStep);
                streamer.load(v[i], k + kRound + i * kStep, end);
                // Otherwise ptxas moves all loads to the end, right before the FFMA that need them. Rows along K are
                // loaded two steps at a time, so that more of each row is requested at once.
                if (!ALONG_K || i % 2 == 1) __syncwarp();
            }
    }
    __syncthreads();
    float* const mine = shared + streamer.place_along_k() * kSumPitch;
#pragma unroll
    for (int line = 0; line < LINES; ++line)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const unsigned output = streamer.output_of(i);
            if (!streamer.SHIFTED || output < streamer.SPAN) mine[line * OUTPUTS + output] = sum[line][i];
        }
    __syncthreads();
}

// Divides the rounds of all tiles, in order, evenly among the blocks. If the number of blocks is a multiple of the
// number of tiles, no block has parts of two tiles.
struct Shares {
    int tiles, rounds, blocks;  // `rounds` are those of one tile

    __device__ Shares(const Operands& operands, int span)
        : tiles((operands.outputs + span - 1) / span * ((operands.lines + LINES - 1) / LINES)),
          rounds(max(1, (operands.K + kRound - 1) / kRound)), blocks(gridDim.x) {}

    __device__ long long all() const { return (long long)tiles * rounds; }
    __device__ long long begin(int block) const { return all() * block / blocks; }
    __device__ int block_of(long long round) const { return int(((round + 1) * blocks - 1) / all()); }
    __device__ int most_parts() const { return max(1, (blocks + tiles - 1) / tiles) + 1; }  // of a tile
};

// Leaves the totals of a part of a tile in the workspace. The last block to do so replaces them with the totals of the
// tile and returns true.
__device__ bool add_up(float (&total)[kTotals], const Shares& shares, int tile, void* workspace) {
    const long long start = (long long)tile * shares.rounds;
    const int first = shares.block_of(start), parts = shares.block_of(start + shares.rounds - 1) - first + 1;
    const int ints = counters(shares.most_parts());
    int* const arrivals = static_cast<int*>(workspace) + tile * ints;
    // A block has room for two parts: the end of one tile and the beginning of another.
    float* const slots = static_cast<float*>(workspace) + (shares.tiles * ints + 3) / 4 * 4;
    const bool second = shares.begin(first) < start;
    const auto place = [=](int p) { return slots + size_t(2 * (first + p) + (p == 0 && second)) * kSums; };
    return add_parts<kSums, THREADS>(total, arrivals, blockIdx.x - first, parts, place);
}

// Stores the totals of a tile: thread i has totals i, i + THREADS and so on. In a cluster, each block has the totals of
// its part, and adds up and stores its share of the tile.
template <bool BY_ROWS, int SPAN>
__device__ void store(const float (&total)[kTotals], const Operands& operands, int line0, int output0, float alpha,
                      float beta, float* shared, TC* C) {
    // The lines of C may be its columns. They are then transposed in shared memory, so that neighbouring threads store
    // neighbouring elements of C.
    constexpr int PITCH = LINES + 1;
    const int blocks = count_blocks_of_cluster(), rank = rank_in_cluster();
    if (!BY_ROWS || blocks > 1) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kTotals; ++i) {
            const int e = i * THREADS + threadIdx.x;
            if (kSums % THREADS == 0 || e < kSums) shared[BY_ROWS ? e : e % OUTPUTS * PITCH + e / OUTPUTS] = total[i];
        }
        if (blocks > 1) sync_cluster();
        else __syncthreads();
    }
    const auto keep = [&](int e, const auto& sum) {
        const int line = BY_ROWS ? e / OUTPUTS : e % LINES, output = BY_ROWS ? e % OUTPUTS : e / LINES;
        if (e >= kSums || line0 + line >= operands.lines) return;
        if (output >= SPAN || output0 + output >= operands.outputs) return;
        TC* const c = C + (BY_ROWS ? size_t(line0 + line) * operands.outputs + output0 + output
                                   : size_t(output0 + output) * operands.lines + line0 + line);
        const float value = alpha * sum(shared + (BY_ROWS ? e : output * PITCH + line));
        *c = TC(beta == 0 ? value : value + beta * float(*c));  // beta 0: C is not read
    };
    if (blocks == 1)
#pragma unroll
        for (int i = 0; i < kTotals; ++i)
            keep(i * THREADS + threadIdx.x, [&](const float* place) { return BY_ROWS ? total[i] : *place; });
    else
#pragma unroll 1
        for (int e = rank * THREADS + threadIdx.x; e < kSums; e += blocks * THREADS)
            keep(e, [=](const float* place) {
                float part[kMostOfCluster], sum = 0;
#pragma unroll
                for (int p = 0; p < kMostOfCluster; ++p) part[p] = p < blocks ? *find_in_block(place, p) : 0;
#pragma unroll
                for (int p = 0; p < kMostOfCluster; ++p) sum += part[p];
                return sum;
            });
    if (blocks > 1) sync_cluster();  // no block may exit while another reads from it
}

template <bool BY_ROWS, bool WIDE, bool SHORT>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    gemm(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C, void* workspace) {
    extern __shared__ __align__(16) float shared[];
    const Operands operands = {BY_ROWS ? A : B, BY_ROWS ? B : A, BY_ROWS ? M : N, BY_ROWS ? N : M, K};
    constexpr bool ALONG_K = BY_ROWS ? TRANS_B : !TRANS_A, SMALL_ALONG_K = BY_ROWS ? !TRANS_A : TRANS_B;
    constexpr int SPAN = Streamer<ALONG_K, WIDE>::SPAN;
    const Shares shares(operands, SPAN);
    const long long begin = shares.begin(blockIdx.x);
    int tile = int(begin / shares.rounds), from = int(begin % shares.rounds);
    int left = int(shares.begin(blockIdx.x + 1) - begin);  // rounds
    if (SHORT) start_next_launch();
    await_launch_before();
    for (; left > 0; ++tile, from = 0) {
        const int across = (operands.outputs + SPAN - 1) / SPAN;
        const int line0 = tile / across * LINES, output0 = tile % across * SPAN;
        const int to = min(shares.rounds, from + left);
        const bool whole = to - from == shares.rounds;
        left -= to - from;
        multiply<ALONG_K, SMALL_ALONG_K, WIDE>(operands, line0, output0, from * kRound, min(K, to * kRound), shared);
        if (!SHORT && left == 0) start_next_launch();

        float total[kTotals];
#pragma unroll
        for (int i = 0; i < kTotals; ++i) {
            const int e = i * THREADS + threadIdx.x;
            total[i] = 0;
            if (kSums % THREADS == 0 || e < kSums)
#pragma unroll 8
                for (int depth = 0; depth < kDepthThreads; ++depth) total[i] += shared[depth * kSumPitch + e];
        }
        if (whole || count_blocks_of_cluster() > 1 || add_up(total, shares, tile, workspace))
            store<BY_ROWS, SPAN>(total, operands, line0, output0, alpha, beta, shared, C);
    }
}
