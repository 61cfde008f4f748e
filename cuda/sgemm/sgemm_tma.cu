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

// Against sgemm_schedule: one thread fetches whole tiles by TMA, and eight warps do nothing but load
// fragments and multiply.
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
// An FFMA needs three registers, and the register file has two banks: two operands must come from
// different banks, or from the reuse cache. The order above achieves this, and besides 1024
// multiply-adds there are 48 loads and little else: 93 % of the instructions are FFMA. ptxas
// reorders whatever it may, which costs a fifth of the speed; the comments at fence, opaque,
// arrive_once and scaled explain how it is kept from doing so. `gemmbench inspect --sass` shows the
// loop: look at it after every change, also after a change of the epilogue.
//
// STREAM_K: 4096 x 4096 is 3.9 waves of tiles of 128 x 256. Whole waves are dealt as they are; the
// remaining tiles are cut along K so that all blocks end together. The sums of the parts of a tile
// meet in the workspace, in a fixed order.
//
// Bound by the issue of instructions: 7 % are not FFMA, and at 4096 on an H200 4 % of the issue
// slots stay empty. benchmarks/ablations.py measures what each of the measures below is worth.

#include <cuda.h>

constexpr int TM = 8, TN = 16;           // results of a thread
constexpr int WM = 8 * TM, WN = 4 * TN;  // of a warp
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

__device__ constexpr int padded(int columns) { return (columns + 3) / 4 * 4; }  // to a multiple of 16 bytes

__device__ unsigned address(const void* shared) { return unsigned(__cvta_generic_to_shared(shared)); }

__device__ void initialize(unsigned barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ void arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ void arrive_and_expect(unsigned barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// The first lane arrives for its warp. With a predicate, so that no branch splits the main loop.
__device__ void arrive_once(unsigned barrier, int lane) {
    asm volatile("{ .reg .pred p; setp.eq.s32 p, %1, 0; @p mbarrier.arrive.shared::cta.b64 _, [%0]; }" ::"r"(barrier),
                 "r"(lane)
                 : "memory");
}

__device__ void await(unsigned barrier, unsigned parity) {
    asm volatile(
        "{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra DONE; bra AGAIN; DONE: }" ::"r"(
            barrier),
        "r"(parity)
        : "memory");
}

template <int THREADS> __device__ void sync(int barrier) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(THREADS) : "memory");
}

__device__ void load4(float* to, unsigned from) {
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                 : "r"(from));
}

// Volatile, so that multiply-adds stay in source order.
__device__ void multiply_add(float& sum, float a, float b) {
    asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(sum) : "f"(a), "f"(b));
}

// Exits the kernel if M < 0, which never happens, but ptxas moves nothing across it. After
// scheduling it finds that one fence per iteration is enough and drops the others.
__device__ void fence(int M) {
    asm volatile("{ .reg .pred never; setp.lt.s32 never, %0, 0; @never exit; }" ::"r"(M) : "memory");
}

// A value whose origin ptxas cannot see, so that it is kept in a register instead of being computed
// anew in every iteration.
__device__ unsigned opaque(unsigned value, int lane) { return __shfl_sync(0xffffffffu, value, lane); }

// The column visited at step `step` in row i of a thread's tile at k. Back and forth, with the two
// columns at the turn in the order that suits the bank of the row's register: a[k] and a[k + 1] lie
// in different banks.
__device__ constexpr int column(int i, int k, int step) {
    const int j = i % 2 ? TN - 1 - step : step;
    if (k % 2 == 0) return j >= TN - 2 ? 2 * TN - 3 - j : j;
    return j < 2 ? 1 - j : j;
}

struct Work {
    int tile, begin, end;  // stages of K
};

// What a block does, in order. With STREAM_K, first its share of the tiles that are cut (the end of
// one, the beginning of the next, or the middle of one), then whole tiles. The block that has the
// beginning of a tile finishes it. It waits only for the first work of the blocks after it, so
// there is no deadlock.
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

// TMA cannot fetch rows that do not begin at multiples of 16 bytes, and does not transpose: B as N
// x K would be read along K, but a thread needs one k of all its columns. Such operands are copied
// to the workspace first, in a separate launch. A as K x M needs no copy: its fragments are read
// along M.
struct Arranged {
    int rows_a, columns_a, rows_b, columns_b;  // as stored
    bool a, b;                                 // copied?

    __device__ Arranged(int M, int N, int K)
        : rows_a(TRANS_A ? K : M), columns_a(TRANS_A ? M : K), rows_b(TRANS_B ? N : K), columns_b(TRANS_B ? K : N),
          a(columns_a % 4 != 0), b(TRANS_B || N % 4 != 0) {}

    __device__ size_t floats_a() const { return a ? size_t(rows_a) * padded(columns_a) : 0; }
    __device__ size_t floats_b(int N, int K) const { return b ? size_t(K) * padded(N) : 0; }
};

// A block copies 64 x 64 elements, B as K x N. A thread has 16 loads in flight.
extern "C" __global__ void __launch_bounds__(256)
    arrange(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C, void* workspace,
            const CUtensorMap* maps) {
    constexpr int TILE = 64, ROWS = 8;
    __shared__ float tile[TILE][TILE + 1];
    const Arranged arranged(M, N, K);
    const int blocks_a = arranged.a ? (M + TILE - 1) / TILE * ((K + TILE - 1) / TILE) : 0;
    const bool is_a = int(blockIdx.x) < blocks_a, transpose = TRANS_B && !is_a;
    const int rows = is_a ? arranged.rows_a : arranged.rows_b, columns = is_a ? arranged.columns_a : arranged.columns_b;
    const int block = blockIdx.x - (is_a ? 0 : blocks_a), across = (columns + TILE - 1) / TILE;
    const int row0 = block / across * TILE, column0 = block % across * TILE;
    const int y = threadIdx.x / 32, x = threadIdx.x % 32;
    const float* const from = is_a ? A : B;
    float* const to = static_cast<float*>(workspace) + kFlags + (is_a ? 0 : arranged.floats_a());

    float v[TILE / ROWS][TILE / 32];
    const auto each = [&](const auto& work) {  // the 16 elements of a thread
#pragma unroll
        for (int i = 0; i < TILE / ROWS; ++i)
#pragma unroll
            for (int j = 0; j < TILE / 32; ++j) work(v[i][j], y + i * ROWS, x + j * 32);
    };
    each([=](float& element, int r, int c) {
        if (row0 + r < rows && column0 + c < columns) element = from[size_t(row0 + r) * columns + column0 + c];
    });
    if (!transpose) {
        each([=](float element, int r, int c) {
            if (row0 + r < rows && column0 + c < columns) to[size_t(row0 + r) * padded(columns) + column0 + c] = element;
        });
        return;
    }
    each([&](float element, int r, int c) { tile[c][r] = element; });
    __syncthreads();
    each([&](float, int c, int r) {
        if (row0 + r < rows && column0 + c < columns) to[size_t(column0 + c) * padded(rows) + row0 + r] = tile[c][r];
    });
}

__device__ void fetch(unsigned tile, const CUtensorMap* map, int row, int column, unsigned barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(tile),
        "l"(map), "r"(column), "r"(row), "r"(barrier)
        : "memory");
}

// Fetches the tensor map, which also lies in memory, while the block still sets up.
__device__ void prefetch(const CUtensorMap* map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }

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
    // The readers look one stage ahead, even after the last one.
    await(ring.emptied + 8 * stage, parity);
    arrive(ring.filled + 8 * stage);
}

// Volatile, so that the result has registers of its own. Otherwise ptxas may group the sums
// themselves by fours, as a store wants them, in the bank of b: in layout tn with BN=256, half of the
// FFMA in the main loop would read a bank twice.
__device__ float4 scaled(float alpha, const float* sum) {
    float v[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) asm volatile("mul.rn.f32 %0, %1, %2;" : "=f"(v[j]) : "f"(alpha), "f"(sum[j]));
    return make_float4(v[0], v[1], v[2], v[3]);
}

__device__ void add(float4& to, float factor, float4 v) {
    to.x += factor * v.x, to.y += factor * v.y, to.z += factor * v.z, to.w += factor * v.w;
}

// Sums over a part of K go through the workspace. Each block has a flag and room for a tile there,
// stored as the first sum of every thread, then the second, and so on.
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
        sync<kMathThreads>(1);
        if (threadIdx.x == 0) asm volatile("st.release.gpu.s32 [%0], 1;" ::"l"(flags + blockIdx.x) : "memory");
    }

    // Adds what the next blocks send, in the order of the blocks whichever arrives first, and
    // resets their flags.
    __device__ void receive(int count, float (&sum)[TM][TN]) const {
#pragma unroll 1
        for (int block = blockIdx.x + 1; count > 0; --count, ++block) {
            if (threadIdx.x == 0) {
                int sent;
                do asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(sent) : "l"(flags + block) : "memory");
                while (!sent);
                flags[block] = 0;
            }
            sync<kMathThreads>(1);
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
    const Arranged arranged(M, N, K);
    const CUtensorMap *const map_a = maps + arranged.a, *const map_b = maps + 2 + arranged.b;

    if (threadIdx.x == kMathThreads) prefetch(map_a), prefetch(map_b);
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            initialize(ring.filled + 8 * s, 1);
            initialize(ring.emptied + 8 * s, kMathThreads / 32);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    // Move registers from the fetching threads, of which one works, to those that multiply.
    if (threadIdx.x >= kMathThreads) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kBlocks == 1 ? 40 : 24));
        if (threadIdx.x == kMathThreads) fetch_all(schedule, ring, map_a, map_b);
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");

    // A lane has rows lane_m + { 0, 8, 16 ... } of its warp's tile (4 * lane_m + { 0 .. 3, 32 .. 35
    // } if A is transposed) and columns 4 * lane_n + { 0 .. 3, 16 .. 19, 32 .. 35, 48 .. 51 }.
    // Neighbouring lanes differ in both, so no load is served to two lanes at once: such loads
    // return two registers per cycle and take register-file ports away from the multiply-adds.
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
            // Whether this iteration ends its stage. Computed here or where it is needed, whichever
            // was measured to be faster.
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
            // Through shared memory, so that a warp stores neighbours: rows are not aligned for
            // stores of four.
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
