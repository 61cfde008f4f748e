/*---
summary: sgemm_cp_async with its work scheduled, blocks in groups along M, k divided among the warps of a block
order: 45
symbol: gemm
precisions: [f32]
layouts: [nn, nt, tn, tt]
min_sm: 80
arch: [90a, 80, 86, 87, 88, 89, 100, 103, 110, 120, 121]  # 90a has setmaxnreg: see keep_order
params:
  BM: [128, 64]
  BN: [256, 128, 64]
  BK: [16, 32, 64]
  TM: [8, 16]
  TN: [16, 8]
  SPLIT: [1, 2, 4]              # the k of a tile are divided among SPLIT sets of warps
  GROUP: [8, 1, 16]             # rows of tiles in a group of blocks; 1: row by row along N
  STAGES: [3, 4]
  BLOCKS: [1, 2]                # blocks per SM for which the compiler must leave registers
require:
  - BK % (16 * SPLIT) == 0
  - TM * TN == 128                                # 32 lanes cover the 64 x 64 of a warp
  - BM * BN * SPLIT * BLOCKS <= 32768            # registers: 255 per thread, 65536 per SM
  - BM * 8 % (BM * BN // 128 * 4) == 0           # each thread makes the same number of copies of 4 elements
  - BN * 8 % (BM * BN // 128 * 4) == 0
tile: [BM, BN]
grid:
  - cdiv(M, BM) * cdiv(N, BN)
block:
  - BM / 64 * (BN / 64) * SPLIT * 32
shared: max(STAGES * BK * (BM + BN + 8), BM / 64 * (BN / 64) * SPLIT * 2 * (64 / TM) * 68) * BYTES
sass:                           # of the main loop; for other architectures see keep_order
  - 100 * ffma >= 87 * instructions
  - sm != 90 or SPLIT > 1 or BM * BN % 16384 != 0 or 20 * conflicts <= ffma
  - sm != 90 or BM * BN * SPLIT % 16384 != 0 or load_distance >= 100
  - spills == 0
source: https://github.com/NVIDIA/cutlass/blob/main/media/docs/cpp/efficient_gemm.md
---*/

// Compared with sgemm_cp_async, the main loop is the same. Only the assignment of work to blocks and its order in time
// change.
//
//      C in tiles, GROUP = 2          a wave of 12 blocks reads           one tile, SPLIT = 2, BK = 32
//      +--+--+--+--+--+--+            2 tile rows of A, 6 columns           BK
//      | 0| 2| 4| 6| 8|10|            of B: 8 panels; row by row,         +--------+--------+   set 0: k of 0 to 7, 16 to 23
//      +--+--+--+--+--+--+            with 12 tiles in a row of C,        |00000000|11111111|   set 1: k of 8 to 15, 24 to 31
//      | 1| 3| 5| 7| 9|11|            1 and 12                            +--------+--------+
//      +--+--+--+--+--+--+                                                C = (sum of set 0) + (sum of set 1)
//      |12|14| ...
//
// 1. Order. Blocks that run together should share panels of A and B while these are still in L2. So
//    blocks go down GROUP tiles, then right. It pays off where the matrices outgrow L2, and costs a
//    division.
// 2. Waves. All SMs are busy only while there are tiles: choose the tile so that
//    cdiv(M, BM) * cdiv(N, BN) is a little less than a multiple of the number of blocks that run at
//    once. On 132 SMs with one block each, a C of 1024 x 1024 has 32 tiles of 128 x 256, which
//    occupy 24 % of the SMs, but 128 tiles of 64 x 128: 97 %.
// 3. Split. Such a tile is work for two warps, and an SM wants eight or more. So SPLIT sets of
//    warps share it: each multiplies its own k of every tile with the whole thread tile, so the
//    ratio of FFMA to loads stays. Their sums meet in shared memory at the end and are added in the
//    order of k, which gives the same bits every time. Try BM=64 BN=128 BK=64 SPLIT=4, or BN=64 with
//    BLOCKS=2.
//
// Bound by the issue of instructions, like sgemm_cp_async, and with few tiles by the cost of adding
// up the sets. Smaller tiles need more copies for the same sums (with SPLIT up to 24 of one element
// for 8 k), and ptxas does not preserve every order.

constexpr int kDepth = 8;  // k in the body of the main loop: 18 KB of code; with more, warps wait for instructions
constexpr int kSlices = BK / (kDepth * SPLIT);  // of a tile, in turn, each with 8 k for every set of warps
constexpr int WM = 64, WN = 64;  // a warp's part of the block tile
constexpr int kWarpsN = BN / WN, kWarps = BM / WM * kWarpsN, kThreads = kWarps * SPLIT * 32;  // kWarps: in a set
constexpr int kLanesM = WM / TM, kLanesN = WN / TN;
constexpr int kPitchA = BM + 4, kPitchB = BN + 4;
constexpr int kDepths = kDepth * SPLIT;  // k of a slice
constexpr int kToB = 4 * kDepths * kPitchA, kSlice = kToB + 4 * kDepths * kPitchB;  // bytes: a slice of A, then one of B
constexpr int kTile = kSlices * kSlice;

__device__ unsigned address(const void* shared) { return unsigned(__cvta_generic_to_shared(shared)); }

// If `wanted`, start a copy of BYTES bytes, or of zeros if not `inside`. It has arrived after wait_for_copies and a
// barrier.
template <int BYTES> __device__ void copy_async(unsigned to, const float* from, bool wanted, bool inside) {
    const int bytes = inside ? BYTES : 0;
    if (BYTES == 16)
        asm volatile("{ .reg .pred p; setp.ne.s32 p, %0, 0; @p cp.async.cg.shared.global [%1], [%2], 16, %3; }" ::"r"(
                         int(wanted)),
                     "r"(to), "l"(from), "r"(bytes));
    else
        asm volatile("{ .reg .pred p; setp.ne.s32 p, %0, 0; @p cp.async.ca.shared.global [%1], [%2], 4, %3; }" ::"r"(
                         int(wanted)),
                     "r"(to), "l"(from), "r"(bytes));
}
__device__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LATER> __device__ void wait_for_copies() {  // for all groups except the last LATER
    asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
}

__device__ void load4(float* to, unsigned from) {
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                 : "r"(from));
}

// Volatile, so that multiply-adds keep their source order.
__device__ void multiply_add(float& sum, float a, float b) {
    asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(sum) : "f"(a), "f"(b));
}

// In a kernel with a setmaxnreg, ptxas uses another scheduling method, which respects the fences.
// This is the only reason for giving up 8 of 256 registers. It applies to whole groups of 128
// threads. Without it, ptxas drops the fences before it schedules. In that case one fence per k is
// best. (sm_100a and sm_120a have setmaxnreg too, but there it causes spills in some layouts.)
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr bool kKeepsOrder = kThreads % 128 == 0;
__device__ void keep_order() {
    if (kKeepsOrder) asm volatile("setmaxnreg.dec.sync.aligned.u32 248;");
}
#else
constexpr bool kKeepsOrder = false;
__device__ void keep_order() {}
#endif

// A conditional exit that is never taken, since M >= 0. ptxas moves no code across it, and after
// scheduling it removes all but one per basic block.
__device__ void fence(int M) {
    asm volatile("{ .reg .pred never; setp.lt.s32 never, %0, 0; @never exit; }" ::"r"(M) : "memory");
}

// A value whose origin ptxas cannot see, so it stays in a register instead of being recomputed in every iteration.
__device__ unsigned opaque(unsigned value) { return __shfl_sync(0xffffffffu, value, threadIdx.x % 32); }

// A thread's share of the copies of one operand, slice after slice along K. A slice is stored
// K-major, 8 * SPLIT x TILE. `extent` is the operand's other size, M or N. ALONG_K: its rows in
// memory run along K.
template <int TILE, bool ALONG_K, bool WIDE> struct Copier {
    static constexpr int PITCH = TILE + 4, WIDTH = WIDE && !ALONG_K ? 4 : 1;
    static constexpr int STEP_K = ALONG_K ? 8 : kThreads * WIDTH > TILE ? kThreads * WIDTH / TILE : 1;
    static constexpr int STEP_X = kThreads / STEP_K * WIDTH, PASSES = TILE / STEP_X, COUNT = PASSES * kDepths / STEP_K;

    const float* from;  // where the next slice begins
    int offset[COUNT];  // from there, in elements
    int k0;
    unsigned place;  // in the first slice in shared memory

    __device__ Copier(const float* matrix, int extent, int K, int start, unsigned slice) {
        k0 = ALONG_K ? threadIdx.x % STEP_K : threadIdx.x * WIDTH / STEP_X;
        const int x0 = ALONG_K ? threadIdx.x / STEP_K : threadIdx.x * WIDTH % STEP_X;
        place = opaque(slice + 4 * (k0 * PITCH + x0));
        from = matrix + size_t(start) * (ALONG_K ? K : 1);
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const int k = k0 + k_of(i), x = min(x0 + x_of(i), extent - WIDTH - start);
            offset[i] = ALONG_K ? x * K + k : k * extent + x;
        }
    }
    static constexpr __device__ int k_of(int i) { return i / PASSES * STEP_K; }
    static constexpr __device__ int x_of(int i) { return i % PASSES * STEP_X; }

    // The i-th copy of a slice whose first `depth` k come from the matrix.
    __device__ void copy(int i, unsigned slice, bool wanted, int depth = kDepths) {
        const bool inside = depth == kDepths || k0 + k_of(i) < depth;
        copy_async<4 * WIDTH>(place + slice + 4 * (k_of(i) * PITCH + x_of(i)), inside ? from + offset[i] : from, wanted,
                              inside);
    }
    __device__ void advance(int extent, int depth = kDepths) { from += depth * size_t(ALONG_K ? 1 : extent); }
};

template <bool WIDE>
__device__ void multiply(int M, int N, int K, const float* A, const float* B, int row0, int column0, unsigned shared,
                         int lane_m, int lane_n, float (&sum)[TM][TN]) {
    using CopyA = Copier<BM, !TRANS_A, WIDE>;
    using CopyB = Copier<BN, TRANS_B, WIDE>;
    CopyA copy_a(A, M, K, row0, shared);
    CopyB copy_b(B, N, K, column0, shared + kToB);

    // Start the first STAGES - 1 tiles. Past the last tile a group is empty, so that counting groups counts tiles.
    const int tiles = (K + BK - 1) / BK, remainder = K - (tiles - 1) * BK;
#pragma unroll 1
    for (int slice = 0; slice < (STAGES - 1) * kSlices; ++slice) {
        if (slice < tiles * kSlices) {
            const int depth = slice < kSlices ? max(0, min(remainder - slice * kDepths, kDepths)) : kDepths;
#pragma unroll
            for (int i = 0; i < CopyA::COUNT; ++i) copy_a.copy(i, slice * kSlice, true, depth);
#pragma unroll
            for (int i = 0; i < CopyB::COUNT; ++i) copy_b.copy(i, slice * kSlice, true, depth);
            copy_a.advance(M, depth);
            copy_b.advance(N, depth);
        }
        if (slice % kSlices == kSlices - 1) commit_copies();
    }

    const int warp = threadIdx.x / 32 % kWarps, k0 = threadIdx.x / 32 / kWarps * kDepth;
    const unsigned a_from = opaque(shared + 4 * (k0 * kPitchA + warp / kWarpsN * WM + lane_m * 4));
    const unsigned b_from = opaque(shared + kToB + 4 * (k0 * kPitchB + warp % kWarpsN * WN + lane_n * 4));
    unsigned a_at = a_from, b_at = b_from;
    float a[2][TM], b[2][TN];  // for this k and the next
    const auto load = [&](int k) {
#pragma unroll
        for (int n = 0; n < TN; n += 4) load4(b[k % 2] + n, b_at + 4 * (k * kPitchB + n * kLanesN));
#pragma unroll
        for (int m = 0; m < TM; m += 4) load4(a[k % 2] + m, a_at + 4 * (k * kPitchA + m * kLanesM));
    };

    wait_for_copies<STAGES - 2>();
    __syncthreads();
    load(0);
    int left = kSlices, read = 0, write = (STAGES - 1) * kTile;  // slices left in this tile; bytes
#pragma unroll 1
    for (int slice = tiles * kSlices; slice > 0; --slice) {
        const bool wanted = slice > (STAGES - 1) * kSlices;
#pragma unroll
        for (int k = 0; k < kDepth; ++k) {
            const int ahead = (k + 1) % kDepth;
            if (ahead == 0) {  // the next k is the first of the next slice
                copy_a.advance(M);
                copy_b.advance(N);
                read += kSlice, write += kSlice;
                if (--left == 0) {
                    left = kSlices;
                    commit_copies();
                    wait_for_copies<STAGES - 2>();
                    __syncthreads();  // the next tile has arrived; this one is no longer read
                    if (read == STAGES * kTile) read = 0;
                    if (write == STAGES * kTile) write = 0;
                }
                a_at = a_from + read;
                b_at = b_from + read;
            }
            load(ahead);
#pragma unroll
            for (int m = 0; m < TM; ++m) {
                // These come half a k after the loads, and few at a time, because ptxas keeps the addresses of adjacent
                // copies in registers.
                if (m == TM / 2) {
#pragma unroll
                    for (int i = 0; i < CopyA::COUNT + CopyB::COUNT; ++i) {
                        if (k != i / 12) continue;
                        if (i < CopyA::COUNT) copy_a.copy(i, write, wanted);
                        else copy_b.copy(i - CopyA::COUNT, write, wanted);
                    }
                }
#pragma unroll
                for (int step = 0; step < TN; ++step) {
                    const int n = m % 2 ? TN - 1 - step : step;
                    multiply_add(sum[m][n], a[k % 2][m], b[k % 2][n]);
                }
                if (kKeepsOrder || m == TM - 1) fence(M);
            }
        }
    }
    wait_for_copies<0>();
}

// Volatile, so the result gets separate registers. Otherwise ptxas groups the sums themselves in fours for the store.
__device__ float4 scaled(float alpha, const float* sum) {
    float v[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) asm volatile("mul.rn.f32 %0, %1, %2;" : "=f"(v[j]) : "f"(alpha), "f"(sum[j]));
    return make_float4(v[0], v[1], v[2], v[3]);
}

__device__ void add(float4& to, float factor, float4 v) {
    to.x += factor * v.x, to.y += factor * v.y, to.z += factor * v.z, to.w += factor * v.w;
}

extern "C" __global__ void __launch_bounds__(kThreads, BLOCKS)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    extern __shared__ __align__(16) float shared[];  // dynamic: may exceed 48 KB
    keep_order();

    const int tile_rows = (M + BM - 1) / BM, tile_columns = (N + BN - 1) / BN;
    const int group = blockIdx.x / (GROUP * tile_columns) * GROUP, height = min(GROUP, tile_rows - group);
    const int place = blockIdx.x - group * tile_columns;
    const int row0 = (group + place % height) * BM, column0 = place / height * BN;

    // The rows and columns of a lane come in fours, with those of its neighbours in between.
    // Neighbouring lanes differ in both, so no load is broadcast to two lanes: such loads return
    // two registers per cycle and take register-file ports from the multiply-adds.
    constexpr int kFew = kLanesM < kLanesN ? kLanesM : kLanesN;
    const int warp = threadIdx.x / 32 % kWarps, set = threadIdx.x / 32 / kWarps, lane = threadIdx.x % 32;
    const int few = lane % kFew, many = lane / kFew ^ few * (8 / kFew);
    const int lane_m = kLanesM == kFew ? few : many, lane_n = kLanesM == kFew ? many : few;

    float sum[TM][TN] = {};
    const bool a_wide = !TRANS_A || (size_t(A) | M * sizeof(float)) % 16 == 0;
    const bool b_wide = TRANS_B || (size_t(B) | N * sizeof(float)) % 16 == 0;
    if (a_wide && b_wide) multiply<true>(M, N, K, A, B, row0, column0, address(shared), lane_m, lane_n, sum);
    else multiply<false>(M, N, K, A, B, row0, column0, address(shared), lane_m, lane_n, sum);
    __syncthreads();  // the buffers are free

    // Stores go through shared memory, one row per lane at a time: the sums of the sets meet,
    // each set of warps adds up and stores a part, and a warp stores whole rows. Two areas
    // alternate, so one barrier per row is enough.
    constexpr int PITCH = WN + 4, AREA = kLanesM * PITCH;
    const int row1 = row0 + warp / kWarpsN * WM, column1 = column0 + warp % kWarpsN * WN;
    float* const mine = shared + (set * kWarps + warp) * AREA;
    const float* const first = shared + warp * AREA;
    const bool c_wide = (size_t(C) | N * sizeof(float)) % 16 == 0;
#pragma unroll
    for (int m = 0; m < TM; ++m) {
        const int area = m % 2 * SPLIT * kWarps * AREA;
#pragma unroll
        for (int n = 0; n < TN; n += 4)
            reinterpret_cast<float4&>(mine[area + lane_m * PITCH + n * kLanesN + lane_n * 4]) = scaled(alpha, sum[m] + n);
        if (SPLIT > 1) __syncthreads();
        else __syncwarp();
        if (c_wide) {
#pragma unroll
            for (int e = (set * 32 + lane) * 4; e < kLanesM * WN; e += 128 * SPLIT) {
                const int row = row1 + (m / 4 * kLanesM + e / WN) * 4 + m % 4, column = column1 + e % WN;
                if (row >= M || column >= N) continue;
                float4& c = reinterpret_cast<float4&>(C[size_t(row) * N + column]);
                float4 value = make_float4(0, 0, 0, 0);
#pragma unroll
                for (int s = 0; s < SPLIT; ++s)
                    add(value, 1, reinterpret_cast<const float4&>(first[area + s * kWarps * AREA + e / WN * PITCH + e % WN]));
                if (beta != 0) add(value, beta, c);  // otherwise C is not read
                c = value;
            }
        } else {
#pragma unroll
            for (int e = set * 32 + lane; e < kLanesM * WN; e += 32 * SPLIT) {
                const int row = row1 + (m / 4 * kLanesM + e / WN) * 4 + m % 4, column = column1 + e % WN;
                if (row >= M || column >= N) continue;
                TC* c = C + size_t(row) * N + column;
                float value = 0;
#pragma unroll
                for (int s = 0; s < SPLIT; ++s) value += first[area + s * kWarps * AREA + e / WN * PITCH + e % WN];
                *c = beta == 0 ? value : value + beta * *c;
            }
        }
    }
}
