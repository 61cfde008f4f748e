/*---
summary: tf32 by wgmma, which reads shared memory along K only; other operands come through registers
order: 255
precisions: [tf32]
layouts: [nn, nt, tn, tt]
arch: [90a]                     # setmaxnreg
epilogue: [bias, relu]
params:
  BM: [128, 256]                # of the product that is computed: in nn it is that of the transposes
  BN: [256, 192, 128]
  STAGES: [4, 3]
  CLUSTER_M: [2, 1]             # blocks with the same columns
  CLUSTER_N: [1, 2]             # blocks with the same rows
let:
  cluster: CLUSTER_M * CLUSTER_N
  swaps: not TRANS_A and not TRANS_B    # C^T = B^T A^T
  copies: TRANS_A and not TRANS_B       # B is transposed first
  rows: N if swaps else M               # of the product
  columns: M if swaps else N
  pitch: cdiv(K, 4) * 4                 # of the transposed B
  box_rows: BM / CLUSTER_N if TRANS_B and not TRANS_A else 32
  box_columns: BN / CLUSTER_M
require:
  - cluster <= 2                # larger ones leave SMs without work
  - BM * BN <= (49152 if TRANS_B and not TRANS_A else 32768)  # else sums and fragments do not fit in registers
  - STAGES * ((BM + BN) * 128 + 16) + 32768 <= SMEM
  - lda % 4 == 0              # TMA needs rows that are multiples of 16 bytes
  - ldb % 4 == 0
  - N % 4 == 0
tile:
  - BN * CLUSTER_N if swaps else BM * CLUSTER_M
  - BM * CLUSTER_M if swaps else BN * CLUSTER_N
maps_by_value: true
tensor_maps:
  - {operand: A, box: [32, box_columns if swaps else box_rows], swizzle: 128}
  - {operand: B, box: [32, box_rows if swaps else box_columns], swizzle: 128, when: not copies}
  - {operand: C, box: [32, 32], swizzle: 128}
  - operand: workspace
    shape: [K, N]
    pitch: pitch
    box: [32, box_columns]
    swizzle: 128
    when: copies
workspace: 4 * N * pitch if copies else 0
launches:
  - symbol: transpose
    grid:
      - cdiv(N, 64)
      - cdiv(K, 64)
    block: [256]
    when: copies
  - symbol: gemm
    grid:
      - cluster * min(SMS // cluster, cdiv(rows, BM * CLUSTER_M) * cdiv(columns, BN * CLUSTER_N))
    block: [384]
    shared: STAGES * ((BM + BN) * 128 + 16) + 32768
sass:                           # of the main loop
  - 15 * tensor >= instructions # ptxas may put waits and moves between products that it does not see through
  - spills == 0
source: https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions
---*/

// Compared with wgmma_cluster: elements have 32 bits, of which wgmma reads 19 (a row of a tile is 32 k). wgmma
// transposes 16-bit operands as it reads shared memory, but not 32-bit ones, so both operands must run along K. But
// it can also read rows from registers, and registers can be loaded from anywhere.
//
//     layout   rows of the product            columns of the product          result
//
//     nt       A, in shared memory            B, in shared memory             C
//     tt       A, runs along M: registers     B, in shared memory             C
//     nn       B, runs along N: registers     A, in shared memory             C^T = B^T A^T
//     tn       A, runs along M: registers     B, transposed in the workspace  C
//
// A fragment fixes only the order of k. The row of C that a lane computes is free, so a lane uses one 8-byte load for
// two rows that are neighbours in memory. The swizzle puts part p of row k, which has 16 bytes, at p XOR k % 8. Half a
// warp loads at a time, four k of four pairs of rows; the pairs lie 4 parts apart, so no two lanes share a bank:
//
//     part       0        1        2        3        4        5        6        7
//     k = 0    g = 0, 1                            g = 2, 3                          lanes 4 g + k
//     k = 1             0, 1                                2, 3
//     k = 2                      0, 1                                2, 3
//     k = 3                               0, 1                                2, 3
//
// The elements of the next eight k are loaded while the products of these run; then the two sets of registers swap
// roles.
//
// Bound by the power limit, and by shared memory: with 128 x 256, TMA and the tensor cores use all of its 128 bytes
// per cycle.

#define ROWS_ALONG_K (!TRANS_A && TRANS_B)
#define COLUMNS_ALONG_K true

#include "raster.cuh"

using Cluster = Member<CLUSTER_M, CLUSTER_N>;
constexpr bool kSwaps = !TRANS_A && !TRANS_B, kCopies = TRANS_A && !TRANS_B;
constexpr bool kThroughRegisters = !ROWS_ALONG_K;
constexpr int kReaders = kThroughRegisters ? 4 * kGroups : kGroups;  // that release a stage: warps or groups

// The rows of a group are divided among teams of one or two warps: 32 rows each, as many as a 128-byte row of a tile
// along M or N holds.
constexpr int kTeamWarps = 2 / kParts;
constexpr int kTeamBoxes = 2 / kParts;  // of 32 x 32 elements of C

struct Lane {
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;

    __device__ int team() const { return warp / kTeamWarps; }

    // The row of the team to which its sum 0 belongs, and how far below it the others are: a sum of another part, or
    // with half 1 the one that multiply_add has 8 rows below.
    __device__ int top() const {
        if (kThroughRegisters) return g / 2 % 2 * 16 + g / 4 * 4 + g % 2 * 2 + (kParts == 1 ? warp % 2 * 8 : 0);
        return g + (kParts == 1 ? warp % 2 * 16 : 0);
    }
    static constexpr __device__ int rows_below(int part, int half) {
        if (kThroughRegisters) return part * 8 + half;
        return part * 8 + half * (kParts == 1 ? 8 : 16);
    }

    __device__ void meet_team() const {
        if (kTeamWarps == 1) __syncwarp();
        else meet_pair(team());
    }
};

// The elements of a lane for one instruction of each part.
struct Fragments {
    unsigned a[kParts][4];

    // Load them from a tile that runs along M or N.
    __device__ void load(unsigned tile, const Lane& lane, int step) {
        const unsigned swizzled = lane.t * (kRowBytes + 16) ^ lane.top() / 4 * 16;  // row t, part XOR t
        const unsigned from = tile + lane.team() * 32 * kRowBytes + swizzled + lane.top() % 4 * 4;
#pragma unroll
        for (int part = 0; part < kParts; ++part) {  // k = t, and k = t + 4
            const unsigned at = from ^ part * 32;
            load_shared(at + step * 8 * kRowBytes, a[part][0], a[part][1]);
            load_shared((at ^ 64) + (step * 8 + 4) * kRowBytes, a[part][2], a[part][3]);
        }
    }
};

// Queue one instruction along K for each part of a group.
template <typename OPERAND>
__device__ void multiply_step(const OPERAND& a, uint64_t b, float (&sum)[kParts][BN / 2], bool adds) {
#pragma unroll
    for (int part = 0; part < kParts; ++part) multiply_add<BN>(sum[part], a[part], b, adds);
}

// How C leaves a block: a team writes 32 columns of the product to a box, whose parts are swizzled as in a tile, and
// one lane stores it by TMA.
struct Epilogue {
    int M, N;
    float alpha, beta;
    const TC *C, *bias;

    // Turn the sums of a box into elements of C. The rows of the team begin at `row`, the box at `column`.
    __device__ void finish_sums(float (&sum)[kParts][BN / 2], int box, const Lane& lane, int row, int column) const {
        if (beta == 0 && !BIAS) {
#pragma unroll
            for (int part = 0; part < kParts; ++part)
#pragma unroll
                for (int i = 0; i < 16; ++i)
                    sum[part][box * 16 + i] = finish(sum[part][box * 16 + i], alpha, 0.f, nullptr, nullptr, 0);
            return;
        }
#pragma unroll
        for (int part = 0; part < kParts; ++part)
#pragma unroll
            for (int i = 0; i < 16; ++i) {
                const int x = row + lane.top() + Lane::rows_below(part, i / 2 % 2);
                const int y = column + i / 4 * 8 + lane.t * 2 + i % 2;
                const int m = kSwaps ? y : x, n = kSwaps ? x : y;
                float& value = sum[part][box * 16 + i];  // elements outside C are not read
                if (m < M && n < N) value = finish(value, alpha, beta, C + size_t(m) * N + n, bias, n);
            }
    }

    // Write them to shared memory. `turned` lanes go in the opposite order, so that lanes that store at the same time
    // do not share a bank.
    static __device__ void write(unsigned to, const float (&sum)[kParts][BN / 2], int box, const Lane& lane) {
        if constexpr (kSwaps) {  // rows of the product are columns of C
            const bool turned = lane.t >= 2;
            const int row = lane.t * 2 + turned, column = lane.top();
            to += row * kRowBytes + (column / 4 ^ row) * 16 + column % 4 * 4;
#pragma unroll
            for (int j = 0; j < 4; ++j)
#pragma unroll
                for (int i = 0; i < 2 * kParts; ++i) {
                    const float* const v = sum[i / 2] + (box * 4 + j) * 4;
                    const int flip = i % 2 * (kRowBytes + 16) ^ i / 2 * 32;  // the other row, the other part
                    store_shared((to ^ flip) + j * 8 * kRowBytes, turned ? v[1 - i % 2] : v[i % 2],
                                 turned ? v[3 - i % 2] : v[2 + i % 2]);
                }
        } else {
            constexpr int kOther = 2;  // columns are written in another order
            const bool turned = kThroughRegisters ? lane.g / 2 % 2 : lane.g % 2;
            const int row = lane.top(), column = (turned ? kOther * 8 : 0) + lane.t * 2;
            to += row * kRowBytes + (column / 4 ^ row % 8) * 16 + column % 4 * 4;
#pragma unroll
            for (int j = 0; j < 4; ++j)
#pragma unroll
                for (int i = 0; i < 2 * kParts; ++i) {
                    const float* const here = sum[i / 2] + (box * 4 + j) * 4 + i % 2 * 2;
                    const float* const there = sum[i / 2] + (box * 4 + (j ^ kOther)) * 4 + i % 2 * 2;
                    const int below = Lane::rows_below(i / 2, i % 2), flip = (j * 2 ^ below % 8) * 16;
                    store_shared((to ^ flip) + below * kRowBytes, turned ? there[0] : here[0], turned ? there[1] : here[1]);
                }
        }
    }

    // Store a tile of the product. `stored` counts the boxes of the team.
    template <typename RING>
    __device__ void store(float (&sum)[kParts][BN / 2], const Lane& lane, const RING& ring, int& stored,
                          const CUtensorMap* map, int2 at) const {
        const bool leads = threadIdx.x % (32 * kTeamWarps) == 0;
#pragma unroll
        for (int box = 0; box < BN / 32; ++box, ++stored) {
            const unsigned to = ring.box(lane.team() * kTeamBoxes + stored % kTeamBoxes, 0);
            const int row = at.x + lane.team() * 32, column = at.y + box * 32;
            finish_sums(sum, box, lane, row, column);
            if (leads) wait_for_reads<kTeamBoxes - 1>();
            lane.meet_team();
            write(to, sum, box, lane);
            publish_writes();
            lane.meet_team();
            if (leads) store_box(map, kSwaps ? column : row, kSwaps ? row : column, to);
        }
    }
};

// Transpose B, 4 x 4 elements per thread: a block takes 64 k and 64 columns, and a warp takes 32 k and 16 columns.
extern "C" __global__ void __launch_bounds__(256)
    transpose(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias,
              void* workspace, const __grid_constant__ Maps<4> maps) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int n = blockIdx.x * 64 + warp % 4 * 16 + lane % 4 * 4, k = blockIdx.y * 64 + warp / 4 * 32 + lane / 4 * 4;
    if (n >= N || k >= K) return;
    float v[4][4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        float4 row = make_float4(0, 0, 0, 0);
        if (k + i < K) row = *reinterpret_cast<const float4*>(B + size_t(k + i) * N + n);
        v[i][0] = row.x, v[i][1] = row.y, v[i][2] = row.z, v[i][3] = row.w;
    }
    const size_t pitch = (K + 3) / 4 * 4;
    float* const to = static_cast<float*>(workspace) + n * pitch + k;
#pragma unroll
    for (int i = 0; i < 4; ++i)
        *reinterpret_cast<float4*>(to + i * pitch) = make_float4(v[0][i], v[1][i], v[2][i], v[3][i]);
}

extern "C" __global__ void __launch_bounds__(kThreads, 1) __cluster_dims__(Cluster::BLOCKS, 1, 1)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias,
         void* workspace, const __grid_constant__ Maps<4> maps) {
    extern __shared__ __align__(1024) char shared[];
    const Ring<kBoxes> ring{uniform(address(shared))};
    const Raster<CLUSTER_M, CLUSTER_N> raster(kSwaps ? N : M, kSwaps ? M : N);
    const int tiles = raster.rows * raster.columns, steps = (K + kDepth - 1) / kDepth;
    const int group = uniform(threadIdx.x / 128), thread = threadIdx.x % 128;
    const int first = blockIdx.x / Cluster::BLOCKS, stride = gridDim.x / Cluster::BLOCKS;
    const Cluster block = Cluster::find();
    const CUtensorMap *const of_rows = maps.map + kSwaps, *const of_columns = maps.map + (kSwaps ? 0 : kCopies ? 3 : 1);
    if (threadIdx.x == kFetcher) prefetch_maps(of_rows, of_columns, maps.map + 2, N);
    if (threadIdx.x == 0) ring.initialize_barriers(Cluster::SHARERS * kReaders);
    __syncthreads();
    Cluster::meet();

    Place place;
    if (group == kGroups) {
        release_registers<40>();
        for (int tile = first; thread == 0 && tile < tiles; tile += stride) {
            const int2 at = raster.origin(tile, block);
            for (int step = 0; step < steps; ++step, place.advance()) {
                await(ring.emptied(place.stage), place.parity ^ 1);  // a fresh barrier lets the first round pass
                block.fetch_stage(ring, place.stage, of_rows, of_columns, at, step * kDepth);
            }
        }
        __syncwarp();
        Cluster::meet();  // so that no block writes to one that has ended
        return;
    }

    take_registers<232>();
    const Lane lane;
    const Epilogue epilogue{M, N, alpha, beta, C, bias};
    int stored = 0;  // boxes of this team
    const int fetcher = block.find_fetcher(kThroughRegisters ? thread % 32 : thread);
    for (int tile = first; tile < tiles; tile += stride) {
        float sum[kParts][BN / 2];
        Fragments fragments[2];
        int last = 0;  // the stage before
        for (int step = 0; step < steps; ++step, place.advance()) {
            await(ring.filled(place.stage), place.parity);
            const uint64_t b = TileB::describe(ring.b(place.stage), 0);
#pragma unroll
            for (int i = 0; i < kSteps; ++i) {
                if constexpr (kThroughRegisters) {
                    Fragments& next = fragments[i % 2];
                    next.load(ring.a(place.stage), lane, i);
                    begin_products();
                    multiply_step(next.a, b + i * TileB::STEP, sum, step > 0 || i > 0);
                } else {
                    uint64_t a[kParts];
                    for (int part = 0; part < kParts; ++part)
                        a[part] = TileA::describe<kParts>(ring.a(place.stage), group * kParts * 64) +
                                  part * (kBlockBytes / 16) + i * TileA::STEP;  // so that the rows of a team touch
                    if (i == 0) begin_products();
                    multiply_step(a, b + i * TileB::STEP, sum, step > 0 || i > 0);
                }
                if (!kThroughRegisters && i < kSteps - 1) continue;  // the products of a stage form one batch
                commit_products();
                wait_for_products<1>();
                if (step > 0 && (!kThroughRegisters || i == 0)) Cluster::release(ring.emptied(last), fetcher);
            }
            last = place.stage;
        }
        wait_for_products<0>();
        Cluster::release(ring.emptied(last), fetcher);
        epilogue.store(sum, lane, ring, stored, maps.map + 2, raster.origin(tile, block));
    }
    wait_for_reads<0>();  // a block may end once its boxes are read
    __syncwarp();
    Cluster::meet();
}
