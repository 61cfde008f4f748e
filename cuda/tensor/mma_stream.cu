/*---
summary: the large operand streamed once from memory to fragments of the tensor cores, for a C of few rows or columns
order: 215
symbol: gemm<by_rows, aligned>
precisions: [bf16, f16, bf16_f32, f16_f32]
layouts: [nn, nt, tn, tt]
min_sm: 80
epilogue: [bias, relu]
params:
  LINES: [8, 16, 32]            # rows of C, or columns if it has fewer, in a block
  WARPS: [8, 4, 16]             # of a block, which share its k
  AHEAD: [1, 2, 4]              # steps of 32 k that a warp has in flight
  BLOCKS: [2, 1, 3, 4]          # per SM: limits registers, and K is split until there are this many blocks
let:
  by_rows: M <= N               # the lines are those of C
  lines: min(M, N)
  outputs: max(M, N)
  along_k: TRANS_B if by_rows else not TRANS_A  # rows of the large operand run along K
  row: K if along_k else outputs
  aligned: row % 8 == 0
  round: 32 * WARPS * AHEAD     # k that a block has in flight
  chunk: round * max(1, 16384 // (LINES * round))         # k of the small operand in shared memory
  tiles: cdiv(lines, LINES) * cdiv(outputs, 64)
  split: max(1, min(BLOCKS * SMS // tiles, K // round))
  counters: cdiv(tiles * (1 + cdiv(split, 8)), 4) * 16    # bytes
require:
  - 32 * BLOCKS * WARPS * (2 * LINES + 48 * AHEAD + 48) <= 65536
workspace: counters + 4 * split * tiles * LINES * 64 if split > 1 else 0
zeroed: counters if split > 1 else 0  # which the last blocks of a tile reset
grid:
  - tiles * split
block:
  - 32 * WARPS
shared: max(2 * LINES * (chunk + 32), 4 * WARPS * LINES * 68)
pdl: true
sass:
  - spills == 0
source: https://docs.nvidia.com/cuda/parallel-thread-execution/#warp-level-matrix-instructions-mma
---*/

// As in sgemm_stream, nearly all traffic is B (or A) if C has few rows (or columns). A tile of it in shared memory
// would not be reused, and TMA would fetch a whole tile of the small operand along with it, most of it zeros. So each
// warp loads 64 outputs of 32 k straight into registers, eight times 16 bytes per lane, in a form that mma.sync
// accepts: k may be in any order as long as both operands use the same one. Lane 4 g + t has k 8 t to 8 t + 7.
//
//       rows of the large operand along K           rows along the outputs
//
//       part i: output 8 i + g, 8 k                 part i: k 8 t + i, outputs 8 g to 8 g + 7
//       a product takes two parts as they are       a product takes elements of four parts, put together two by two
//
// The small operand lies in shared memory line by line along K, one chunk at a time. Warps of a block share its k, and
// blocks share K where there are fewer tiles than slots (parts.cuh). All of them are resident at once, and the next
// launch is prepared in parallel (pdl). C^T = B^T A^T turns a C of few columns into one of few rows.
//
// Where rows are no multiples of 16 bytes, 8 elements lie in two aligned parts of 16 bytes. A lane loads both, and takes
// its elements out of them when it needs them. The second part is also the next lane's first, so it comes from L1.
//
// The lines of the small operand may begin anywhere, too. cp.async copies the aligned parts in which a line lies, and a
// warp then shifts it to the left in shared memory.
//
// Bound by memory up to 8 lines, if the large operand keeps memory busy. With more lines, warps are busy with products
// and shared-memory loads when they should request the next part; where TMA can fetch the rows, wgmma_splitk is faster.

#include "../common/bytes.cuh"
#include "../common/launch.cuh"
#include "../common/parts.cuh"
#include "finish.cuh"
#include "mma.cuh"

constexpr int kThreads = 32 * WARPS, kOutputs = 64, kStep = 32;  // of a block; k of a warp's step
constexpr int kRound = kStep * WARPS * AHEAD;
constexpr int kChunk = kRound * (LINES * kRound > 16384 ? 1 : 16384 / (LINES * kRound));
constexpr int kPitch = kChunk + 32;   // elements: two lines lie in different banks
constexpr int kSums = LINES * kOutputs, kTotals = kSums / kThreads;
static_assert(kSums % kThreads == 0, "every thread adds up as many sums");

// A and B, or B and A: C, or its transpose, has `lines` rows.
struct Operands {
    const TA *small, *large;
    int lines, outputs, K;
};

// Eight elements, or the two aligned parts of 16 bytes in which they lie.
template <bool ALIGNED> struct Eight {
    uint4 parts[ALIGNED ? 1 : 2];
};

// The last part of a matrix, element by element; those from `end` on are 0.
__device__ inline uint4 load_last(const uint4* part, const TA* end) {
    const unsigned short *const from = reinterpret_cast<const unsigned short*>(part),
                                *const past = reinterpret_cast<const unsigned short*>(end);
    uint4 v = make_uint4(0, 0, 0, 0);
#pragma unroll 1
    for (int i = 7; i >= 0; --i) {
        const unsigned element = from + i < past ? __ldg(from + i) : 0;
        v = make_uint4(v.x << 16 | element, __funnelshift_r(v.x, v.y, 16), __funnelshift_r(v.y, v.z, 16),
                       __funnelshift_r(v.z, v.w, 16));
    }
    return v;
}

__device__ constexpr unsigned word(const uint4& v, int i) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }

// A matrix whose rows may begin anywhere, as parts of 16 bytes. Elements beyond its end are 0.
struct ByParts {
    const uint4* from;
    const TA* last;  // the end of the matrix
    int whole;       // parts before that with its end

    __device__ uint4 load(int at) const { return at < whole ? __ldg(from + at) : load_last(from + at, last); }
};

// Load several pieces, which are numbered in rows, and then store them.
template <typename PIECE, typename LOAD, typename STORE>
__device__ void copy_pieces(unsigned rows, unsigned pieces, const LOAD& load, const STORE& store) {
    constexpr unsigned AT_ONCE = sizeof(PIECE) > 2 ? 2 : 8;
    for (unsigned e0 = threadIdx.x; e0 < rows * pieces; e0 += AT_ONCE * kThreads) {
        PIECE v[AT_ONCE];
        const auto each = [&](const auto& work) {
#pragma unroll
            for (unsigned i = 0; i < AT_ONCE; ++i) {
                const unsigned e = e0 + i * kThreads, row = e / pieces;
                if (e < rows * pieces) work(v[i], row, e - row * pieces);
            }
        };
        each(load);
        each(store);
    }
}

// Copy the lines from `line0` on, k0 <= k < end, to shared memory, with zeros up to a multiple of kRound. Lines beyond
// C may have any contents.
template <bool ALONG_K> __device__ void stage(TA* to, const Operands& operands, int line0, int k0, int end) {
    const int depth = min(kChunk, (end - k0 + kRound - 1) / kRound * kRound), present = min(LINES, operands.lines - line0);
    const TA* const from = operands.small + size_t(k0) * operands.lines + line0;  // unless ALONG_K
    if (ALONG_K) {
        const int lane = threadIdx.x % 32;
        const auto first = [&](int line) { return size_t(line0 + line) * operands.K + k0; };  // element
        for (int line = threadIdx.x / 32; line < present; line += WARPS) {
            const TA* const part = operands.small + first(line) / 8 * 8;
            const int skipped = first(line) % 8, wanted = skipped + end - k0;  // elements from `part` on
#pragma unroll 4
            for (int i = lane; i < (depth + skipped + 7) / 8; i += 32)
                copy_async<16>(address(to + line * kPitch + 8 * i), part + 8 * i, 2 * max(0, min(8, wanted - 8 * i)));
        }
        commit_copies();
        wait_for_copies<0>();
        __syncwarp();
        for (int line = threadIdx.x / 32; line < present && operands.K % 8 != 0; line += WARPS)
#pragma unroll 1
            for (int i = lane; i - lane < depth / 8; i += 32) {  // to the left, where the warp has read all
                uint4* const eight = reinterpret_cast<uint4*>(to + line * kPitch) + i;
                const bool inside = i < depth / 8;
                const uint4 v = inside ? take_bytes(eight[0], eight[1], first(line) % 8 * 2) : make_uint4(0, 0, 0, 0);
                __syncwarp();
                if (inside) *eight = v;
            }
    } else if (operands.lines <= LINES) {  // all of it lies side by side
        const TA* const last = operands.small + size_t(operands.lines) * operands.K;
        const ByParts parts = {reinterpret_cast<const uint4*>(from), last, (operands.K - k0) * operands.lines / 8};
        copy_pieces<uint4>(
            1, depth * present / 8,
            [&](uint4& piece, unsigned, unsigned i) { piece = parts.load(i); },
            [&](const uint4& piece, unsigned, unsigned i) {
#pragma unroll
                for (int j = 0; j < 8; ++j) {
                    const unsigned k = (8 * i + j) / present, line = 8 * i + j - k * present;
                    to[line * kPitch + k] = reinterpret_cast<const TA*>(&piece)[j];
                }
            });
    } else
        copy_pieces<unsigned short>(
            depth, present,
            [&](unsigned short& piece, unsigned k, unsigned line) {
                const TA* const start = from + size_t(k) * operands.lines + line;
                piece = k0 + int(k) < end ? *reinterpret_cast<const unsigned short*>(start) : 0;
            },
            [&](unsigned short piece, unsigned k, unsigned line) {
                reinterpret_cast<unsigned short&>(to[line * kPitch + k]) = piece;
            });
}

// A warp's share of a tile of the large operand. ALONG_K: its rows in memory run along K.
template <bool ALONG_K, bool ALIGNED> struct Streamer {
    ByParts parts;      // from that on in which this lane's elements at k 0 begin
    int pitch, outputs, depth;  // that are left from the lane's first one on; the lane's first k in a step
    int skipped;                // elements of the first part

    __device__ Streamer(const Operands& operands, int output0) {
        const int lane = threadIdx.x % 32, output = output0 + lane / 4 * (ALONG_K ? 1 : 8);
        depth = lane % 4 * 8;
        pitch = ALONG_K ? operands.K : operands.outputs;
        outputs = operands.outputs - output;
        const size_t first = ALONG_K ? output * size_t(pitch) : output;
        skipped = first % 8;
        const size_t all = size_t(operands.outputs) * operands.K;
        const TA* const from = operands.large + first / 8 * 8;
        parts = {reinterpret_cast<const uint4*>(from), operands.large + all, int((all - first / 8 * 8) / 8)};
    }

    // How many elements of its first part the eight of row i skip. Steps, and 8 rows of pitch elements, are whole parts.
    __device__ int skip(int i) const { return ALONG_K ? skipped : i * pitch % 8; }

    // The output that row `half` * 8 + lane / 4 of product j belongs to.
    static __device__ int output_of(int j, int half) {
        const int g = threadIdx.x % 32 / 4;
        return ALONG_K ? 16 * j + 8 * half + g : 8 * g + 2 * j + half;
    }

    __device__ void load(Eight<ALIGNED> (&v)[8], int step, int end) const {
        const int k = step + depth, left = end - k;
        const uint4 none = make_uint4(0, 0, 0, 0);
        const TA* aligned = reinterpret_cast<const TA*>(parts.from) + (ALONG_K ? k : k * size_t(pitch));
#pragma unroll
        for (int i = 0; i < 8; ++i, aligned += ALONG_K ? 8 * pitch : pitch) {
            const bool present = ALONG_K ? 8 * i < outputs && left > 0 : i < left && outputs > 0;
            if constexpr (ALIGNED) {
                v[i] = {{present ? __ldcs(reinterpret_cast<const uint4*>(aligned)) : none}};
            } else {
                const int at = ALONG_K ? k / 8 + i * pitch : k / 8 * pitch + i * pitch / 8;
                v[i] = {{present ? parts.load(at) : none, present && skip(i) > 0 ? parts.load(at + 1) : none}};
            }
        }
    }

    // Take the elements of part i. Elements of ALONG_K from `left` on are 0; other rows have none, or their outputs are
    // beyond C.
    __device__ uint4 take_eight(const Eight<ALIGNED>& loaded, int i, int left) const {
        if constexpr (ALIGNED) return loaded.parts[0];
        else {
            const uint4 v = take_bytes(loaded.parts[0], loaded.parts[1], 2 * skip(i));
            if (!ALONG_K) return v;
            const auto keep = [&](unsigned two, int k) { return k + 1 < left ? two : k < left ? two & 0xffff : 0; };
            return make_uint4(keep(v.x, 0), keep(v.y, 2), keep(v.z, 4), keep(v.w, 6));
        }
    }

    // Add the products with the k of the small operand starting at `small`, which are those of one step. `left` of its k
    // follow.
    __device__ void multiply(float (&sum)[4][LINES / 8][4], const Eight<ALIGNED> (&loaded)[8], const TA* small, int left) const {
        uint4 v[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) v[i] = take_eight(loaded[i], i, left - depth);
        unsigned a[4][2][4];  // products of 16 outputs, in two halves of k
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int r = 0; r < 4; ++r)  // r % 2: the row is one of the second eight; r / 2: later k
                    a[j][i][r] = ALONG_K ? word(v[2 * j + r % 2], 2 * i + r / 2)
                                         : __byte_perm(word(v[4 * i + r / 2 * 2], j), word(v[4 * i + r / 2 * 2 + 1], j),
                                                       r % 2 ? 0x7632 : 0x5410);
        const TA* const column = small + threadIdx.x % 32 / 4 * kPitch + depth;
#pragma unroll
        for (int n = 0; n < LINES / 8; ++n) {
            const uint4 b = reinterpret_cast<const uint4&>(column[n * 8 * kPitch]);
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    multiply_add(sum[j][n], a[j][i][0], a[j][i][1], a[j][i][2], a[j][i][3], word(b, 2 * i), word(b, 2 * i + 1));
        }
    }
};

// The sums of a block over begin <= k < end go to shared memory in the order in which its warps hold them.
template <bool ALONG_K, bool SMALL_ALONG_K, bool ALIGNED>
__device__ void multiply(const Operands& operands, int line0, int output0, int begin, int end, int pitch, char* shared) {
    const Streamer<ALONG_K, ALIGNED> streamer(operands, output0);
    const int warp = threadIdx.x / 32;
    TA* const small = reinterpret_cast<TA*>(shared);
    Eight<ALIGNED> v[AHEAD][8];
    float sum[4][LINES / 8][4] = {};
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) streamer.load(v[i], begin + (warp * AHEAD + i) * kStep, end);
    for (int chunk = begin; chunk < end; chunk += kChunk) {
        __syncthreads();  // the previous chunk is no longer needed
        stage<SMALL_ALONG_K>(small, operands, line0, chunk, end);
        __syncthreads();
#pragma unroll 1
        for (int k = chunk; k < min(chunk + kChunk, end); k += kRound)
#pragma unroll
            for (int i = 0; i < AHEAD; ++i) {
                const int step = (warp * AHEAD + i) * kStep;
                streamer.multiply(sum, v[i], small + k - chunk + step, end - k - step);
                streamer.load(v[i], k + kRound + step, end);
            }
    }
    __syncthreads();
    float* const mine = reinterpret_cast<float*>(shared) + warp * LINES * pitch;
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int n = 0; n < LINES / 8; ++n)
#pragma unroll
            for (int r = 0; r < 4; ++r)
                mine[(n * 8 + threadIdx.x % 4 * 2 + r % 2) * pitch + streamer.output_of(j, r / 2)] = sum[j][n][r];
    __syncthreads();
}

template <bool BY_ROWS, bool ALIGNED>
__global__ void __launch_bounds__(kThreads, BLOCKS)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias, void* workspace) {
    extern __shared__ __align__(16) char shared[];
    const Operands operands = {BY_ROWS ? A : B, BY_ROWS ? B : A, BY_ROWS ? M : N, BY_ROWS ? N : M, K};
    const int across = (operands.outputs + kOutputs - 1) / kOutputs;
    const int tiles = across * ((operands.lines + LINES - 1) / LINES);
    const int split = gridDim.x / tiles, tile = blockIdx.x / split, part = blockIdx.x % split;
    const int line0 = tile / across * LINES, output0 = tile % across * kOutputs;
    const int rounds = (K + kRound - 1) / kRound;
    const int begin = int((long long)rounds * part / split) * kRound;
    const int end = min(K, int((long long)rounds * (part + 1) / split) * kRound);
    constexpr bool ALONG_K = BY_ROWS ? TRANS_B : !TRANS_A, SMALL_ALONG_K = BY_ROWS ? !TRANS_A : TRANS_B;
    constexpr int PITCH = ALONG_K ? kOutputs + 4 : kOutputs + 1;  // of the sums: rows of a product lie in other banks
    start_next_launch();
    await_launch_before();
    multiply<ALONG_K, SMALL_ALONG_K, ALIGNED>(operands, line0, output0, begin, end, PITCH, shared);

    const auto line_of = [](int e) { return BY_ROWS ? e / kOutputs : e % LINES; };  // neighbours in C are neighbours
                                                                                    // here
    const auto output_of = [](int e) { return BY_ROWS ? e % kOutputs : e / LINES; };
    const float* const sums = reinterpret_cast<const float*>(shared);
    float total[kTotals];
#pragma unroll
    for (int i = 0; i < kTotals; ++i) {
        const int e = i * kThreads + threadIdx.x;
        total[i] = 0;
#pragma unroll 2
        for (int warp = 0; warp < WARPS; ++warp) total[i] += sums[(warp * LINES + line_of(e)) * PITCH + output_of(e)];
    }
    if (split > 1 && !add_splits<kSums, kThreads>(total, workspace, tiles, split)) return;
#pragma unroll
    for (int i = 0; i < kTotals; ++i) {
        const int e = i * kThreads + threadIdx.x, line = line0 + line_of(e), output = output0 + output_of(e);
        if (line >= operands.lines || output >= operands.outputs) continue;
        const int m = BY_ROWS ? line : output, n = BY_ROWS ? output : line;
        TC* const c = C + size_t(m) * N + n;
        *c = TC(finish(total[i], alpha, beta, c, bias, n));
    }
}
