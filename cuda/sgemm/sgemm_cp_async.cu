/*---
summary: warp tiles fed by cp.async through STAGES shared buffers, 8 x 16 results per thread in an order ptxas keeps
order: 44
symbol: gemm
precisions: [f32]
layouts: [nn, nt, tn, tt]
min_sm: 80
arch: [90a, 80, 86, 87, 88, 89, 100, 103, 110, 120, 121]  # 90a has setmaxnreg: see keep_order
params:
  BM: [128, 64, 256]
  BN: [256, 128, 64]            # BM * BN of 32768: one block per SM; of 16384: two
  BK: [16, 32]                  # from barrier to barrier
  WM: [64, 32]                  # a warp's part of the block tile
  WN: [64, 128]
  TM: [8, 16]
  TN: [16, 8]
  STAGES: [3, 4, 5]
require:
  - BM % WM == 0
  - BN % WN == 0
  - TM * TN == 128
  - (WM // TM) * (WN // TN) == 32       # the lanes of a warp
  - BM * BN <= 32768                    # registers: 255 per thread, 65536 per SM
  - BM * 8 % (BM * BN // 128 * 4) == 0  # each thread makes the same number of copies of 4 elements
  - BN * 8 % (BM * BN // 128 * 4) == 0
tile: [BM, BN]
grid:
  - cdiv(N, BN)
  - cdiv(M, BM)
block:
  - BM * BN / 128
shared: STAGES * BK * (BM + 4 + BN + 4) * BYTES
sass:                           # of the main loop; for other architectures see keep_order
  - 100 * ffma >= 87 * instructions
  - sm != 90 or BM * BN % 16384 != 0 or 20 * conflicts <= ffma
  - sm != 90 or BM * BN % 16384 != 0 or load_distance >= 100
  - spills == 0
source: https://github.com/NVIDIA/cutlass/blob/main/media/docs/cpp/efficient_gemm.md
---*/

// Compared with sgemm_pipelined: cp.async copies from global to shared memory without passing
// through registers, so several tiles can be in flight without using any. With 8 x 16 results per
// thread, 128 FFMA need 6 shared loads. The latency that 8 warps per SM do not hide must be hidden
// by the order of the instructions.
//
//      tile t             0           1           2           3        STAGES = 4
//      copies of t + 3    |->......   |->......   |->......   |->...   into buffer (t + 3) % 4, which held t - 1
//      multiply       ====|===========|===========|===========|====    from buffer t % 4
//      wait, barrier     ^           ^           ^           ^         before the last k of each tile: then
//                                                                      fragments of the next tile are loaded
//
// An operand whose rows run along K is transposed on the way by copying single elements: 8 lanes
// take 8 neighbouring elements of a row, which are a sector, and 32 lanes store to 32 banks,
// because the pitch is 4 more than a multiple of 32. Other operands are copied 4 elements at a time
// where row lengths are multiples of 16 bytes, and one by one where they are not. A tile is copied
// and read in slices of 8 k, so the body of the loop is the same for every BK.
//
// Copies in the main loop need no edge guards. Past the edge of M or N the last row or column is
// copied again; its products are never stored. The remainder of K, padded with zeros, comes in the
// first tile.
//
// An FFMA needs three registers, and the register file has two banks: two operands must come from
// different banks, or from the reuse cache. Along a row of the thread tile, a stays the same. At
// its end the next row is walked backwards, so b stays the same. The comments at fence, opaque,
// scaled and keep_order explain how ptxas is prevented from changing this order.
//
// Bound by the issue of instructions: for sm_90a, nvcc 13's main loop has 1119 instructions for 8
// k, and 1024 of them are FFMA (1127 instructions where everything is copied one by one). One FFMA
// in sixty reads the same bank twice. At least 119 instructions lie between a load and its use. A
// group of copies costs three empty loads, which ptxas puts before it, so the copies are not
// spread further.

constexpr int kDepth = 8;  // k in the body of the main loop: 18 KB of code; with more, warps wait for instructions
constexpr int kSlices = BK / kDepth;
constexpr int kWarpsN = BN / WN, kThreads = BM / WM * kWarpsN * 32, kBlocks = 256 / kThreads;  // per SM
constexpr int kLanesM = WM / TM, kLanesN = WN / TN;
constexpr int kPitchA = BM + 4, kPitchB = BN + 4;
constexpr int kToB = 4 * kDepth * kPitchA, kSlice = kToB + 4 * kDepth * kPitchB;  // bytes: a slice of A, then one of B
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
// K-major, 8 x TILE. `extent` is the operand's other size, M or N. ALONG_K: its rows in memory run
// along K.
template <int TILE, bool ALONG_K, bool WIDE> struct Copier {
    static constexpr int PITCH = TILE + 4, WIDTH = WIDE && !ALONG_K ? 4 : 1;
    static constexpr int STEP_K = ALONG_K ? 8 : kThreads * WIDTH > TILE ? kThreads * WIDTH / TILE : 1;
    static constexpr int STEP_X = kThreads / STEP_K * WIDTH, PASSES = TILE / STEP_X, COUNT = PASSES * kDepth / STEP_K;

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
    __device__ void copy(int i, unsigned slice, bool wanted, int depth = kDepth) {
        const bool inside = depth == kDepth || k0 + k_of(i) < depth;
        copy_async<4 * WIDTH>(place + slice + 4 * (k_of(i) * PITCH + x_of(i)), inside ? from + offset[i] : from, wanted,
                              inside);
    }
    __device__ void advance(int extent, int depth = kDepth) { from += depth * size_t(ALONG_K ? 1 : extent); }
};

template <bool WIDE>
__device__ void multiply(int M, int N, int K, const float* A, const float* B, unsigned shared, int lane_m, int lane_n,
                         float (&sum)[TM][TN]) {
    using CopyA = Copier<BM, !TRANS_A, WIDE>;
    using CopyB = Copier<BN, TRANS_B, WIDE>;
    CopyA copy_a(A, M, K, blockIdx.y * BM, shared);
    CopyB copy_b(B, N, K, blockIdx.x * BN, shared + kToB);

    // Start the first STAGES - 1 tiles. Past the last tile a group is empty, so that counting groups counts tiles.
    const int tiles = (K + BK - 1) / BK, remainder = K - (tiles - 1) * BK;
#pragma unroll 1
    for (int slice = 0; slice < (STAGES - 1) * kSlices; ++slice) {
        if (slice < tiles * kSlices) {
            const int depth = slice < kSlices ? max(0, min(remainder - slice * kDepth, kDepth)) : kDepth;
#pragma unroll
            for (int i = 0; i < CopyA::COUNT; ++i) copy_a.copy(i, slice * kSlice, true, depth);
#pragma unroll
            for (int i = 0; i < CopyB::COUNT; ++i) copy_b.copy(i, slice * kSlice, true, depth);
            copy_a.advance(M, depth);
            copy_b.advance(N, depth);
        }
        if (slice % kSlices == kSlices - 1) commit_copies();
    }

    const int warp = threadIdx.x / 32;
    const unsigned a_from = opaque(shared + 4 * (warp / kWarpsN * WM + lane_m * 4));
    const unsigned b_from = opaque(shared + kToB + 4 * (warp % kWarpsN * WN + lane_n * 4));
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
                    __syncthreads();  // the next tile has arrived; no thread reads this one any more
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

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    extern __shared__ __align__(16) float shared[];  // dynamic: may exceed 48 KB
    keep_order();

    // The rows and columns of a lane come in fours, with those of its neighbours in between.
    // Neighbouring lanes differ in both, so no load is broadcast to two lanes: such loads return
    // two registers per cycle and take register-file ports from the multiply-adds.
    constexpr int kFew = kLanesM < kLanesN ? kLanesM : kLanesN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int few = lane % kFew, many = lane / kFew ^ few * (8 / kFew);
    const int lane_m = kLanesM == kFew ? few : many, lane_n = kLanesM == kFew ? many : few;

    float sum[TM][TN] = {};
    const bool a_wide = !TRANS_A || (size_t(A) | M * sizeof(float)) % 16 == 0;
    const bool b_wide = TRANS_B || (size_t(B) | N * sizeof(float)) % 16 == 0;
    if (a_wide && b_wide) multiply<true>(M, N, K, A, B, address(shared), lane_m, lane_n, sum);
    else multiply<false>(M, N, K, A, B, address(shared), lane_m, lane_n, sum);
    __syncthreads();  // the buffers are free

    // Stores go through shared memory, one row per lane at a time, so that a warp stores whole rows of its tile.
    const int row0 = blockIdx.y * BM + warp / kWarpsN * WM, column0 = blockIdx.x * BN + warp % kWarpsN * WN;
    constexpr int PITCH = WN + 4;
    float* const Cs = shared + warp * kLanesM * PITCH;
    const bool c_wide = (size_t(C) | N * sizeof(float)) % 16 == 0;
#pragma unroll
    for (int m = 0; m < TM; ++m) {
#pragma unroll
        for (int n = 0; n < TN; n += 4)
            reinterpret_cast<float4&>(Cs[lane_m * PITCH + n * kLanesN + lane_n * 4]) = scaled(alpha, sum[m] + n);
        __syncwarp();
        if (c_wide) {
#pragma unroll
            for (int e = lane * 4; e < kLanesM * WN; e += 128) {
                const int row = row0 + (m / 4 * kLanesM + e / WN) * 4 + m % 4, column = column0 + e % WN;
                if (row >= M || column >= N) continue;
                float4& c = reinterpret_cast<float4&>(C[size_t(row) * N + column]);
                float4 value = reinterpret_cast<const float4&>(Cs[e / WN * PITCH + e % WN]);
                if (beta != 0) add(value, beta, c);  // otherwise C is not read
                c = value;
            }
        } else {
#pragma unroll
            for (int e = lane; e < kLanesM * WN; e += 32) {
                const int row = row0 + (m / 4 * kLanesM + e / WN) * 4 + m % 4, column = column0 + e % WN;
                if (row >= M || column >= N) continue;
                TC* c = C + size_t(row) * N + column;
                const float value = Cs[e / WN * PITCH + e % WN];
                *c = beta == 0 ? value : value + beta * *c;
            }
        }
        __syncwarp();
    }
}
