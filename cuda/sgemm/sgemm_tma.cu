/*---
summary: tiles fetched by TMA for warps that only multiply, in an order that ptxas cannot change; stream-K
order: 46
precisions: [f32]
layouts: [nn, nt, tn, tt]
arch: [90a]                     # setmaxnreg
params:
  BM: [128]
  BN: [256, 128]                # 128: two blocks per SM, with at most 3 stages
  BK: [32]                      # 128 bytes of a row of A, the width of the swizzle
  STAGES: [4, 3, 2]
  STREAM_K: [0, 1]              # 1: as many blocks as run at once; tiles beyond whole waves are cut along K
let:
  height_a: K if TRANS_A else M  # rows of A as it is stored, each of lda elements
  copy_a: lda % 4 != 0          # TMA needs rows that are multiples of 16 bytes: others are copied and padded
  copy_b: TRANS_B or N % 4 != 0
  bytes_a: 16 * height_a * cdiv(lda, 4) if copy_a else 0  # of the copies
  bytes_b: 16 * K * cdiv(N, 4) if copy_b else 0
tile: [BM, BN]
workspace: 4096 + bytes_a + bytes_b + (SMS * 131072 if STREAM_K else 0)
zeroed: 4096                    # flags, which their readers reset
tensor_maps:                    # of A, of its copy, of B, of its copy as K x N
  - operand: A
    shape: [lda, height_a]
    box: [BM if TRANS_A else BK, BK if TRANS_A else BM]
    swizzle: 0 if TRANS_A else 128
    when: not copy_a
  - operand: workspace
    offset: 4096
    shape: [lda, height_a]
    pitch: cdiv(lda, 4) * 4
    box: [BM if TRANS_A else BK, BK if TRANS_A else BM]
    swizzle: 0 if TRANS_A else 128
    when: copy_a
  - {operand: B, shape: [N, K], box: [BN, BK], when: not copy_b}
  - {operand: workspace, offset: 4096 + bytes_a, shape: [N, K], pitch: "cdiv(N, 4) * 4", box: [BN, BK], when: copy_b}
launches:
  - symbol: arrange
    grid:
      - (cdiv(M, 64) * cdiv(K, 64) if copy_a else 0) + (cdiv(N, 64) * cdiv(K, 64) if copy_b else 0)
    block: [256]
    when: copy_a or copy_b
  - symbol: gemm
    grid:
      - SMS * (32768 // (BM * BN)) if STREAM_K else cdiv(M, BM) * cdiv(N, BN)
    block: [BM * BN // 128 + 128]
    shared: STAGES * (128 * (BM + BN) + 16) + 17 * BM * BN // 32
sass:                           # of the main loop: what ptxas must keep as written
  - 100 * ffma >= 92 * instructions
  - 20 * conflicts <= ffma
  - load_distance >= 100
  - spills == 0
source: "https://docs.nvidia.com/cuda/parallel-thread-execution/index.html#data-movement-and-conversion-\
  instructions-cp-async-bulk-tensor"
---*/

// Compared with sgemm_schedule: one thread fetches whole tiles by TMA, and eight warps only load fragments and
// multiply.
//
//      fetching:  TMA  A tile BM x BK, B tile BK x BN  ->  [ stage 0 | stage 1 | stage 2 | stage 3 ]  a ring in shared memory
//                      `filled` counts bytes                  ^ fetched       ^ read
//                      `emptied` counts warps
//
//      a warp:  64 x 64 of C, 8 x 4 lanes;      a lane:  8 x 16 sums, in registers
//
//                 b0  b1  ...          b15      LDS.128 along N, one k, one k ahead
//           a0 [  >   >   >   >   >   >   > ]   LDS.128 along K, four k at once, each row when its last is done
//           a1 [  <   <   <   <   <   <   < ]   back and forth: the turn keeps b, the row keeps a, so that
//           a2 [  >   >   >   >   >   >   > ]   a multiply-add reads at most one new register of each bank
//
// An FFMA needs three registers, and the register file has two banks: two operands must come from different banks, or
// from the reuse cache. The order above achieves this. Besides 1024 multiply-adds there are 48 loads and little else:
// 93 % of the instructions are FFMA. By default ptxas reorders them, which costs a fifth of the speed; in_order.cuh
// explains how this is prevented. `gemmbench inspect --sass` shows the loop; look at it after every change, even one
// to the epilogue.
//
// STREAM_K: 4096 x 4096 is 3.9 waves of tiles of 128 x 256. Whole waves are distributed as they are; the remaining
// tiles are cut along K so that all blocks end together. The partial sums of a tile are added in the workspace, in a
// fixed order.
//
// Bound by the issue of instructions: 7 % are not FFMA, and at 4096 on an H200 4 % of the issue slots stay empty.
// benchmarks/ablations.py measures the effect of each technique below.

#include "../common/hopper.cuh"

#include "../common/arrange.cuh"
#include "in_order.cuh"

constexpr int kMathThreads = (BM / WM) * (BN / WN) * 32, kFetchThreads = 128;
constexpr int kBlocks = 32768 / (BM * BN);                         // per SM
constexpr int kUnroll = 8;                                         // k in the body of the main loop: 17 KB of code;
constexpr int kRounds = BK / kUnroll;                              // with more, warps wait for instructions
constexpr bool kKnownEarly = TRANS_A || !STREAM_K;                 // see `last` in the main loop
constexpr int kBytesA = 4 * BM * BK, kBytesB = 4 * BK * BN;        // of a stage
constexpr int kRowA = TRANS_A ? 4 * BM : 4 * BK, kRowB = 4 * BN;   // bytes of a row of a tile in shared memory
constexpr int kStagedAt = STAGES * (kBytesA + kBytesB) + 16 * STAGES;  // 8 rows per warp, on their way to C
constexpr int kPitch = WN + 4;
constexpr int kFlags = 1024;    // ints at the start of the workspace: one per block
constexpr int kGroupRows = 8;   // rows of tiles walked together, so that L2 serves their columns
constexpr int kMostParts = 16;  // of a tile that is cut along K: one block adds them up in turn

struct Work {
    int tile, begin, end;  // stages of K
};

// What a block does, in order. With STREAM_K, first its share of the tiles that are cut (the end of one, the beginning
// of the next, or the middle of one), then whole tiles. The block that has the beginning of a tile finishes it. It
// waits only for the first work of the blocks after it, so there is no deadlock.
struct Schedule {
    int rows, columns, stages;  // of tiles; of K
    int cut, share;             // tiles that are cut, and the stages of them per block

    __device__ Schedule(int M, int N, int K)
        : rows((M + BM - 1) / BM), columns((N + BN - 1) / BN), stages((K + BK - 1) / BK), cut(0), share(0) {
        if (!STREAM_K) return;
        const int blocks = gridDim.x;
        cut = rows * columns % blocks;
        share = max((cut * stages + blocks - 1) / blocks, (stages + kMostParts - 1) / kMostParts);
    }

    __device__ bool work(int turn, Work& w) const {
        w = {int(blockIdx.x), 0, stages};
        if (!STREAM_K) return turn == 0;
        const int first = blockIdx.x * share, last = min(first + share, cut * stages);
        const int tile = first / stages, next = (tile + 1) * stages;
        if (first < last && turn-- == 0) {
            w = {tile, first - tile * stages, min(last, next) - tile * stages};
            return true;
        }
        if (next < last && turn-- == 0) {
            w = {tile + 1, 0, last - next};
            return true;
        }
        w.tile = cut + blockIdx.x + turn * gridDim.x;
        return w.tile < rows * columns;
    }

    __device__ int2 origin(int tile) const {
        const int group = tile / (kGroupRows * columns), rest = tile % (kGroupRows * columns);
        const int height = min(rows - group * kGroupRows, kGroupRows);
        return make_int2((group * kGroupRows + rest % height) * BM, rest / height * BN);
    }
};

// Which operands are copied first: B wherever a thread would have to read it along K.
__device__ Arranged arrange_operands(int M, int N, int K) { return {M, N, K, TRANS_B || N % 4 != 0}; }

extern "C" __global__ void __launch_bounds__(256)
    arrange(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C, void* workspace,
            const CUtensorMap* maps) {
    arrange_operands(M, N, K).copy_tile(M, K, A, B, static_cast<float*>(workspace) + kFlags);
}

struct Ring {
    unsigned a, b;             // STAGES tiles
    unsigned filled, emptied;  // STAGES mbarriers
};

__device__ void fetch_all(const Schedule& schedule, const Ring& ring, const CUtensorMap* map_a, const CUtensorMap* map_b) {
    int stage = 0, parity = 1;
    Work w;
    for (int turn = 0; schedule.work(turn, w); ++turn) {
        const int2 at = schedule.origin(w.tile);
        for (int s = w.begin; s < w.end; ++s) {
            const int k = s * BK;
            const unsigned filled = ring.filled + 8 * stage;
            await(ring.emptied + 8 * stage, parity);
            arrive_and_expect(filled, kBytesA + kBytesB);
            fetch(ring.a + stage * kBytesA, map_a, TRANS_A ? k : at.x, TRANS_A ? at.x : k, filled);
            fetch(ring.b + stage * kBytesB, map_b, k, at.y, filled);
            if (++stage == STAGES) stage = 0, parity ^= 1;
        }
    }
    // The readers look one stage ahead, even past the last one.
    await(ring.emptied + 8 * stage, parity);
    arrive(ring.filled + 8 * stage);
}

__device__ void add(float4& to, float factor, float4 v) {
    to.x += factor * v.x, to.y += factor * v.y, to.z += factor * v.z, to.w += factor * v.w;
}

// Sums over a part of K go through the workspace, where each block has a flag and room for a tile. A tile is stored as
// the first sum of every thread, then the second, and so on.
struct Exchange {
    int* flags;
    float* parts;

    __device__ Exchange(void* workspace, size_t before)
        : flags(static_cast<int*>(workspace)), parts(static_cast<float*>(workspace) + kFlags + before + threadIdx.x) {}

    __device__ void send(const float (&sum)[TM][TN]) const {
        float* const part = parts + size_t(blockIdx.x) * (BM * BN);
#pragma unroll
        for (int i = 0; i < TM; ++i)
#pragma unroll
            for (int j = 0; j < TN; ++j) __stcg(part + (i * TN + j) * kMathThreads, sum[i][j]);
        __threadfence();
        meet_groups<kMathThreads>();
        if (threadIdx.x == 0) raise_flag(flags + blockIdx.x);
    }

    // Adds the sums that the next blocks send, always in the order of the blocks, and resets their flags.
    __device__ void receive(int count, float (&sum)[TM][TN]) const {
#pragma unroll 1
        for (int block = blockIdx.x + 1; count > 0; --count, ++block) {
            if (threadIdx.x == 0) {
                await_flag(flags + block);
                flags[block] = 0;
            }
            meet_groups<kMathThreads>();
            const float* const part = parts + size_t(block) * (BM * BN);
#pragma unroll
            for (int i = 0; i < TM; i += 2) {
                float v[2 * TN];  // all in flight at once
#pragma unroll
                for (int j = 0; j < 2 * TN; ++j) v[j] = __ldcg(part + (i * TN + j) * kMathThreads);
#pragma unroll
                for (int j = 0; j < 2 * TN; ++j) sum[i + j / TN][j % TN] += v[j];
            }
        }
    }
};

extern "C" __global__ void __launch_bounds__(kMathThreads + kFetchThreads, kBlocks)
    gemm(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C, void* workspace,
         const CUtensorMap* maps) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const unsigned base = address(shared), barriers = base + STAGES * (kBytesA + kBytesB);
    const Ring ring = {base, base + STAGES * kBytesA, barriers, barriers + 8 * STAGES};
    const Schedule schedule(M, N, K);
    const Arranged arranged = arrange_operands(M, N, K);
    const CUtensorMap *const map_a = maps + arranged.a, *const map_b = maps + 2 + arranged.b;

    if (threadIdx.x == kMathThreads) prefetch(map_a), prefetch(map_b);
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            initialize(ring.filled + 8 * s, 1);
            initialize(ring.emptied + 8 * s, kMathThreads / 32);
        }
        publish_barriers();
    }
    __syncthreads();

    // Move registers from the fetching threads, only one of which works, to those that multiply.
    if (threadIdx.x >= kMathThreads) {
        release_registers<kBlocks == 1 ? 40 : 24>();
        if (threadIdx.x == kMathThreads) fetch_all(schedule, ring, map_a, map_b);
        return;
    }
    take_registers<232>();

    // A lane has rows lane_m + { 0, 8, 16 ... } of its warp's tile (4 * lane_m + { 0 .. 3, 32 .. 35 } if A is
    // transposed) and columns 4 * lane_n + { 0 .. 3, 16 .. 19, 32 .. 35, 48 .. 51 }. Neighbouring lanes differ in both,
    // so no load is broadcast to two lanes: such loads return two registers per cycle and take register-file ports from
    // the multiply-adds.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int lane_n = lane % 4, lane_m = lane / 4 ^ 2 * lane_n;
    const int row = warp / (BN / WN) * WM + (TRANS_A ? 4 : 1) * lane_m, col = warp % (BN / WN) * WN + 4 * lane_n;
    const unsigned from_a = opaque(ring.a + (TRANS_A ? 4 * row : row * kRowA), lane);
    const unsigned from_b = opaque(ring.b + 4 * col, lane);
    const unsigned swizzle = opaque(lane_m * 16, lane);

    float sum[TM][TN], b[2][TN];
    float a[TRANS_A ? 2 : TM][TRANS_A ? TM : 4];  // two k of all rows, or four k
    const auto load_a = [&](int k, unsigned from) {
#pragma unroll
        for (int h = 0; h < TM / 4; ++h) load4(a[k % 2] + (TRANS_A ? 4 * h : 0), from + h * 128);
    };
    // Loads four k of row i.
    const auto load_row = [&](int i, unsigned from) { load4(a[TRANS_A ? 0 : i], from + 8 * i * kRowA); };
    const auto load_b = [&](int k, unsigned from) {
#pragma unroll
        for (int q = 0; q < TN / 4; ++q) load4(b[k % 2] + 4 * q, from + 64 * q);
    };

    int stage = 0;
    unsigned parity = 0, at_a = from_a, at_b = from_b, used = 0;
    await(ring.filled, 0);
    if (TRANS_A) load_a(0, at_a);
#pragma unroll
    for (int i = 0; i < TM; ++i)
        if (!TRANS_A) load_row(i, at_a ^ swizzle);
    load_b(0, at_b);

    Work w;
    for (int turn = 0; schedule.work(turn, w); ++turn) {
#pragma unroll
        for (int i = 0; i < TM; ++i)
#pragma unroll
            for (int j = 0; j < TN; ++j) sum[i][j] = 0;

#pragma unroll 1
        for (int rounds = (w.end - w.begin) * kRounds; rounds > 0;) {
            // Whether this iteration ends its stage; computed here or where it is used, depending on which was measured
            // to be faster.
            bool last = kKnownEarly && --rounds % kRounds == 0;
            unsigned chunk = 0;
#pragma unroll
            for (int k = 0; k < kUnroll; ++k) {
                const int ahead = (k + 1) % kUnroll;
                if (ahead == 0) {  // the next k is the first of the next iteration
                    if (!kKnownEarly) last = --rounds % kRounds == 0;
                    if (last) {
                        // Release the stage before the one just read, whose loads may still be in
                        // flight.
                        if (used != 0) arrive_once(used, lane);
                        used = ring.emptied + 8 * stage;
                        if (++stage == STAGES) stage = 0, parity ^= 1;
                        await(ring.filled + 8 * stage, parity);
                        at_a = from_a + stage * kBytesA;
                        at_b = from_b + stage * kBytesB;
                    } else {
                        at_a += TRANS_A ? kUnroll * kRowA : 4 * kUnroll;
                        at_b += kUnroll * kRowB;
                    }
                }
                load_b(ahead, at_b + ahead * kRowB);
                if (TRANS_A) load_a(ahead, at_a + ahead * kRowA);
                if (ahead % 4 == 0) chunk = (at_a + 4 * ahead) ^ swizzle;
#pragma unroll
                for (int i = 0; i < TM; ++i) {
#pragma unroll
                    for (int step = 0; step < TN; ++step) {
                        const int j = column(i, k, step);
                        multiply_add(sum[i][j], a[TRANS_A ? k % 2 : i][TRANS_A ? i : k % 4], b[k % 2][j]);
                    }
                    if (!TRANS_A && ahead % 4 == 0) load_row(i, chunk);
                    fence(M);
                }
            }
        }

        if (STREAM_K) {
            const Exchange exchange(workspace, arranged.floats_a() + arranged.floats_b(N, K));
            if (w.begin > 0) {
                exchange.send(sum);
                continue;
            }
            exchange.receive((schedule.stages - w.end + schedule.share - 1) / schedule.share, sum);
        }

        const int2 at = schedule.origin(w.tile);
        if (N % 4 == 0) {
#pragma unroll
            for (int i = 0; i < TM; ++i) {
                const int m = at.x + row + (TRANS_A ? i % 4 + i / 4 * 32 : 8 * i);
                if (m >= M) continue;
#pragma unroll
                for (int q = 0; q < TN / 4; ++q) {
                    const int n = at.y + col + 16 * q;
                    if (n >= N) continue;
                    float4 v = scaled(alpha, sum[i] + 4 * q);
                    float4* const c = reinterpret_cast<float4*>(C + size_t(m) * N + n);
                    if (beta != 0) add(v, beta, *c);
                    *c = v;
                }
            }
        } else {
            // Goes through shared memory, so that a warp stores neighbouring elements: rows are not aligned for stores
            // of four.
            float* const staged = reinterpret_cast<float*>(shared + kStagedAt) + warp * (8 * kPitch);
#pragma unroll
            for (int i = 0; i < TM; ++i) {
#pragma unroll
                for (int q = 0; q < TN / 4; ++q)
                    *reinterpret_cast<float4*>(staged + lane_m * kPitch + 4 * lane_n + 16 * q) =
                        scaled(alpha, sum[i] + 4 * q);
                __syncwarp();
#pragma unroll
                for (int r = 0; r < 8; ++r)
#pragma unroll
                    for (int h = 0; h < WN; h += 32) {
                        const int m = at.x + warp / (BN / WN) * WM + (TRANS_A ? 4 * r + i % 4 + i / 4 * 32 : 8 * i + r);
                        const int n = at.y + warp % (BN / WN) * WN + h + lane;
                        if (m >= M || n >= N) continue;
                        TC* const c = C + size_t(m) * N + n;
                        const float v = staged[r * kPitch + h + lane];
                        *c = beta == 0 ? v : v + beta * *c;
                    }
                __syncwarp();
            }
        }
    }
}
