/*---
summary: warp tiles fed by cp.async through STAGES shared buffers, 16 x 8 results a thread
order: 44
symbol: gemm
precisions: [f32]
layouts: [nn, nt, tn, tt]
min_sm: 80
params:
  BM: [128, 64, 256]
  BN: [256, 128, 64]
  BK: [8, 16]
  WM: [64, 32]                  # a warp's part of the block tile
  WN: [64, 32, 128]
  TM: [16, 8]
  TN: [8, 16]
  STAGES: [4, 3, 5]
require:
  - BM % WM == 0
  - BN % WN == 0
  - (WM // TM) * (WN // TN) == 32                 # the lanes of a warp
  - TM * TN <= 128                                # and its registers: 255 a thread, 65536 a block
  - BM // TM * (BN // TN) * TM * TN <= 32768
  - BM * BK % (BM // TM * (BN // TN) * 4) == 0    # each thread copies the same number of units of 4
  - BN * BK % (BM // TM * (BN // TN) * 4) == 0
grid:
  - cdiv(N, BN)
  - cdiv(M, BM)
block:
  - BM / WM * (BN / WN) * 32
shared: STAGES * BK * (BM + 4 + BN + 4) * BYTES
source: https://github.com/NVIDIA/cutlass/blob/main/media/docs/cpp/efficient_gemm.md
---*/

// Against sgemm_pipelined: cp.async copies from global to shared memory past the registers, so that several
// tiles can be under way and the registers of the fetch go to a larger thread tile, 16 x 8: 6 shared loads
// for 128 FFMA instead of 4 for 64. One such block fills an SM, 8 warps hide what is left of the latency.
//
//      tile t             0           1           2           3        STAGES = 4
//      copies of t + 3    |->......   |->......   |->......   |->...   into buffer (t + 3) % 4, which held t - 1
//      multiply       ====|===========|===========|===========|====    from buffer t % 4
//      wait, barrier     ^           ^           ^           ^         before the last k of each tile: then
//                                                                      fragments of the next tile are loaded
//
// An operand whose rows run along K is transposed on its way, by copies of one element: 8 lanes take 8
// neighbours of a row, a sector, and 32 lanes store to 32 banks, for the pitch is 4 more than a multiple of 32.
// The others are copied 4 elements at a time where rows are multiples of 16 bytes, else one by one too.
//
// No copy in the main loop has a guard. Past the edge of M or N the last row or column is copied again:
// what it yields is never stored. The remainder of K, filled up with zeros, comes in the first tile.
//
// The order of the multiply-adds decides how many registers each must read: down a column of the thread tile
// b stays, at its end the next column is climbed up, so a stays. An operand that stays comes from the
// reuse cache, the other two from the two banks of the register file. nvcc 13 moves many of them all the same.
//
// Bound by the issue of instructions: for sm_90 nvcc 13 makes a main loop of 1122, 1024 of them FFMA, of which
// one in seven reads the same bank twice.

#define WARPS_N (BN / WN)
#define THREADS (BM / WM * WARPS_N * 32)
#define LANES_M (WM / TM)
#define LANES_N (WN / TN)

// Start a copy of BYTES, or of zeros. It is there after wait_for_copies and a barrier.
template <int BYTES> __device__ void copy_async(float* to, const float* from, bool inside) {
    const unsigned place = unsigned(__cvta_generic_to_shared(to));
    const int bytes = inside ? BYTES : 0;
    if (BYTES == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(bytes));
    else asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(place), "l"(from), "r"(bytes));
}
__device__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LATER> __device__ void wait_for_copies() {  // for all groups but the last LATER
    asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
}

// A thread's share of the copies of one operand, tile after tile along K. A tile is kept K-major, BK x TILE.
// `extent` is the operand's other size, M or N; ALONG_K: its rows in memory run along K.
template <int TILE, bool ALONG_K, bool WIDE> struct Copier {
    static constexpr int PITCH = TILE + 4, SIZE = BK * PITCH, WIDTH = WIDE && !ALONG_K ? 4 : 1;
    static constexpr int STEP_K = ALONG_K ? 8 : THREADS * WIDTH > TILE ? THREADS * WIDTH / TILE : 1;
    static constexpr int STEP_X = THREADS / STEP_K * WIDTH, PASSES = TILE / STEP_X, COUNT = PASSES * BK / STEP_K;

    const float* from;  // where the next tile begins
    int offset[COUNT];  // from there, in elements
    int k0, place;

    __device__ Copier(const float* matrix, int extent, int K, int start) {
        k0 = ALONG_K ? threadIdx.x % STEP_K : threadIdx.x * WIDTH / STEP_X;
        const int x0 = ALONG_K ? threadIdx.x / STEP_K : threadIdx.x * WIDTH % STEP_X;
        place = k0 * PITCH + x0;
        from = matrix + size_t(start) * (ALONG_K ? K : 1);
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const int k = k0 + k_of(i), x = min(x0 + x_of(i), extent - WIDTH - start);
            offset[i] = ALONG_K ? x * K + k : k * extent + x;
        }
    }
    static constexpr __device__ int k_of(int i) { return i / PASSES * STEP_K; }
    static constexpr __device__ int x_of(int i) { return i % PASSES * STEP_X; }

    __device__ void first(float* tile, int depth, int extent) {  // depth: how many k the tile has
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const bool inside = k0 + k_of(i) < depth;
            copy_async<4 * WIDTH>(tile + place + k_of(i) * PITCH + x_of(i), inside ? from + offset[i] : from, inside);
        }
        from += depth * size_t(ALONG_K ? 1 : extent);
    }
    __device__ void next(float* tile, int extent) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
            copy_async<4 * WIDTH>(tile + place + k_of(i) * PITCH + x_of(i), from + offset[i], true);
        from += BK * size_t(ALONG_K ? 1 : extent);
    }
};

template <bool WIDE>
__device__ void multiply(int M, int N, int K, const float* A, const float* B, float* shared, float (&sum)[TM][TN]) {
    using CopyA = Copier<BM, !TRANS_A, WIDE>;
    using CopyB = Copier<BN, TRANS_B, WIDE>;
    constexpr int STAGE = CopyA::SIZE + CopyB::SIZE, LAST = (STAGES - 1) * STAGE;
    float* const As = shared;
    float* const Bs = shared + CopyA::SIZE;
    CopyA copy_a(A, M, K, blockIdx.y * BM);
    CopyB copy_b(B, N, K, blockIdx.x * BN);

    // Begin the first STAGES - 1 tiles. Past the last one a group is empty, so that groups count tiles.
    const int tiles = (K + BK - 1) / BK, remainder = K - (tiles - 1) * BK;
    copy_a.first(As, remainder, M);
    copy_b.first(Bs, remainder, N);
    commit_copies();
#pragma unroll
    for (int tile = 1; tile < STAGES - 1; ++tile) {
        if (tile < tiles) copy_a.next(As + tile * STAGE, M), copy_b.next(Bs + tile * STAGE, N);
        commit_copies();
    }

    // A lane's rows and columns come in fours, those of its neighbours between them.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const float* const a_from = As + warp / WARPS_N * WM + lane / LANES_N * 4;
    const float* const b_from = Bs + warp % WARPS_N * WN + lane % LANES_N * 4;
    float a[2][TM], b[2][TN];  // for this k and the next
    auto load = [&](int to, int k, int buffer) {
#pragma unroll
        for (int m = 0; m < TM; m += 4)
            reinterpret_cast<float4&>(a[to][m]) =
                reinterpret_cast<const float4&>(a_from[buffer + k * CopyA::PITCH + m * LANES_M]);
#pragma unroll
        for (int n = 0; n < TN; n += 4)
            reinterpret_cast<float4&>(b[to][n]) =
                reinterpret_cast<const float4&>(b_from[buffer + k * CopyB::PITCH + n * LANES_N]);
    };

    wait_for_copies<STAGES - 2>();
    __syncthreads();
    load(0, 0, 0);
    for (int tile = 0, read = 0, write = LAST; tile < tiles; ++tile) {
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            if (k == BK - 1) {
                wait_for_copies<STAGES - 2>();
                __syncthreads();  // the next tile is there, and nobody reads this one any more
                read = read == LAST ? 0 : read + STAGE;
            }
            load((k + 1) % 2, (k + 1) % BK, read);
            if (k == 0) {
                if (tile + STAGES - 1 < tiles) copy_a.next(As + write, M), copy_b.next(Bs + write, N);
                commit_copies();
                write = write == LAST ? 0 : write + STAGE;
            }
#pragma unroll
            for (int n = 0; n < TN; ++n)
#pragma unroll
                for (int i = 0; i < TM; ++i) {
                    const int m = n % 2 ? TM - 1 - i : i;
                    sum[m][n] += a[k % 2][m] * b[k % 2][n];
                }
        }
    }
    wait_for_copies<0>();
}

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    extern __shared__ __align__(16) float shared[];  // dynamic: it may be more than 48 KB
    float sum[TM][TN] = {};
    const bool a_wide = !TRANS_A || (size_t(A) | M * sizeof(float)) % 16 == 0;
    const bool b_wide = TRANS_B || (size_t(B) | N * sizeof(float)) % 16 == 0;
    if (a_wide && b_wide) multiply<true>(M, N, K, A, B, shared, sum);
    else multiply<false>(M, N, K, A, B, shared, sum);
    __syncthreads();  // the buffers are free

    // Through shared memory, one row of each lane at a time, so that a warp stores whole rows of its tile.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row0 = blockIdx.y * BM + warp / WARPS_N * WM, column0 = blockIdx.x * BN + warp % WARPS_N * WN;
    constexpr int PITCH = WN + 4;
    float* const Cs = shared + warp * LANES_M * PITCH;
#pragma unroll
    for (int m = 0; m < TM; ++m) {
#pragma unroll
        for (int n = 0; n < TN; ++n)
            Cs[lane / LANES_N * PITCH + (n / 4 * LANES_N + lane % LANES_N) * 4 + n % 4] = alpha * sum[m][n];
        __syncwarp();
#pragma unroll
        for (int e = lane; e < LANES_M * WN; e += 32) {
            const int row = row0 + (m / 4 * LANES_M + e / WN) * 4 + m % 4, column = column0 + e % WN;
            if (row >= M || column >= N) continue;
            TC* c = C + size_t(row) * N + column;
            const float value = Cs[e / WN * PITCH + e % WN];
            *c = beta == 0 ? value : value + beta * *c;  // beta 0: C is not read
        }
        __syncwarp();
    }
}
