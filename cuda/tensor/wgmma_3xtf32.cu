/*---
summary: f32 results from tensor cores; factors are split into two TF32 parts, for three products instead of one
order: 270
precisions: [3xtf32]
layouts: [nn, nt, tn, tt]
arch: [90a]                     # setmaxnreg
epilogue: [bias, relu]
params:
  BM: [128]
  BN: [128, 64]
  STAGES: [4, 3, 2]
  PROMOTE: [32, 64, 128, 0]     # k that the tensor cores sum before float registers take over; 0: all
  TURNS: [1, 0]                 # 1: the two groups that multiply take turns
let:
  height_a: K if TRANS_A else M  # rows of A as it is stored, each of lda elements
  height_b: N if TRANS_B else K
  copy_a: lda % 4 != 0          # TMA needs rows that are multiples of 16 bytes: others are copied and padded
  copy_b: ldb % 4 != 0
  bytes_a: 16 * height_a * cdiv(lda, 4) if copy_a else 0  # of the copies
  bytes_b: 16 * height_b * cdiv(ldb, 4) if copy_b else 0
  box_a: 32 if TRANS_A else BM
  box_b: BN if TRANS_B else 32
  bytes: STAGES * (BM + 2 * BN) * 128 + STAGES * 24 + 16   # tiles of A, and of both parts of B; barriers
require:
  - bytes <= SMEM
tile: [BM, BN]
maps_by_value: true
tensor_maps:
  - {operand: A, box: [32, box_a], swizzle: 128, when: not copy_a}
  - {operand: B, box: [32, box_b], swizzle: 128, when: not copy_b}
  - operand: workspace          # the copy of A, and that of B
    shape: [lda, height_a]
    pitch: cdiv(lda, 4) * 4
    box: [32, box_a]
    swizzle: 128
    when: copy_a
  - operand: workspace
    offset: bytes_a
    shape: [ldb, height_b]
    pitch: cdiv(ldb, 4) * 4
    box: [32, box_b]
    swizzle: 128
    when: copy_b
workspace: bytes_a + bytes_b
launches:
  - symbol: pad
    grid:
      - min(4 * SMS, cdiv(bytes_a + bytes_b, 512))
    block: [256]
    when: copy_a or copy_b
  - symbol: gemm
    grid: ["min(SMS, cdiv(M, BM) * cdiv(N, BN))"]
    block: [512]
    shared: bytes
sass:
  - spills == 0                 # in the main loop
source: https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions
---*/

// Compared with wgmma_ring: 24-bit factors on tensor cores that multiply 11 bits. A factor x is split into
//
//     big = x rounded to TF32, small = x - big, of whose 12 bits TF32 has 11
//
//     a b = big_a big_b + big_a small_b + small_a big_b, and small_a small_b, which is left out: 2^-22 of a b at most
//
// A is split on its way into registers, because wgmma can read A from there. B must be in shared memory, and in tf32 it
// must run along K. A third warpgroup therefore splits the tiles of B in the ring, in order, and transposes those that
// run along N. A warp takes 32 columns of B, 4 KB, which occupy the same place either way.
//
//     group 3, one thread   fetch A, B
//                             | filled                                     a stage
//     group 2                 +----> split B                             +----------------------------+
//                             |        | split                           | A, 128 x 32                |
//     groups 0 and 1          +--------+--> split A, multiply, emptied   | B as fetched, then its big |
//                                                                        | small of B                 |
//                                                                        +----------------------------+
//
// Tensor cores truncate when they add, always towards 0, and these errors accumulate. So they sum only PROMOTE k at a
// time, and the partial sums are added in registers, where additions round to nearest. Small products go first, while
// the sum is still small. With PROMOTE=0 the tensor cores sum everything, with small products separate from the
// others.
//
// Rows that TMA cannot fetch are first copied to longer ones, as in wgmma_cluster.
//
// The groups that multiply take turns: the products of one are running while the other adds partial sums and splits the
// next tile of A.
//
// Bound by the tensor cores, which do three times the work at the clock that the power limit allows, and by shared
// memory, through which B passes ten times: it is fetched, loaded, stored in two parts, and read three times by both
// groups.

#include <climits>

#include "epilogue.cuh"
#include "pad.cuh"
#include "ring.cuh"

constexpr int kAllThreads = 512, kSplitters = kGroups, kFetchers = kGroups + 1;
constexpr int kWarps = 4;               // of a group
constexpr int kBandRows = 16;           // tiles of C that are walked together
constexpr bool kPromotes = PROMOTE > 0;
constexpr int kSpan = kPromotes ? PROMOTE / kDepth : INT_MAX;  // stages that the tensor cores sum

// K may be summed in any order. Element `slot` of the 8 k of an instruction is this one. Lanes that load a fragment of
// A (one row of A and 4 k, or 8 rows and one k) then find it in 32 banks of shared memory.
__device__ constexpr int k_of_slot(int slot) { return TRANS_A ? slot % 4 * 2 + slot / 4 : slot; }

// STAGES stages: tiles of A and B with the barriers of each stage, and the barriers at which groups take turns.
struct Stages {
    static constexpr int BYTES = TileA::BYTES + 2 * TileB::BYTES;
    unsigned tiles;

    __device__ unsigned a(int stage) const { return tiles + stage * BYTES; }
    __device__ unsigned big(int stage) const { return a(stage) + TileA::BYTES; }
    __device__ unsigned small(int stage) const { return big(stage) + TileB::BYTES; }
    __device__ unsigned filled(int stage) const { return tiles + STAGES * BYTES + 24 * stage; }
    __device__ unsigned split(int stage) const { return filled(stage) + 8; }
    __device__ unsigned emptied(int stage) const { return filled(stage) + 16; }
    __device__ unsigned turn(int group) const { return filled(STAGES) + 8 * group; }

    __device__ void initialize_barriers() const {
        for (int stage = 0; stage < STAGES; ++stage) {
            initialize(filled(stage), 1);
            initialize(split(stage), kWarps);
            initialize(emptied(stage), kGroups * kWarps);
        }
        for (int group = 0; group < kGroups; ++group) initialize(turn(group), kWarps);
        publish_barriers();
        publish_writes();
    }
};

// One warp arrives after all of its lanes have done what the barrier waits for.
__device__ void arrive_as_warp(unsigned barrier) {
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(barrier);
}

// A number as the sum of two TF32 numbers, except for its last bit. If the first one exceeds the largest number, it is
// infinite; a NaN leaves at least one NaN.
struct Parts {
    static constexpr unsigned TF32 = 0xffffe000, HALF = 0x1000;  // the bits that it has, and half of the last one
    unsigned big, small;

    __device__ explicit Parts(float value)
        : big((__float_as_uint(value) + HALF) & TF32), small(__float_as_uint(value - __uint_as_float(big)) & TF32) {}
};

// Where tiles begin: up to kBandRows of them down a column, then the next column, so concurrent blocks share rows of A
// and columns of B in L2.
__device__ int2 find_origin(int tile, int rows, int columns) {
    const int band = tile / (kBandRows * columns), rest = tile % (kBandRows * columns);
    const int height = min(rows - band * kBandRows, kBandRows);
    return make_int2((band * kBandRows + rest % height) * BM, rest / height * BN);
}

// Split a tile of B in place: each warp takes 32 columns, and each lane takes one of them, with 32 k.
__device__ void split_tile(unsigned big, unsigned small) {
    const int lane = threadIdx.x % 32;
    for (int chunk = threadIdx.x % 128 / 32; chunk < BN / kDepth; chunk += kWarps) {
        const unsigned at = chunk * kDepth * kRowBytes, row = at + lane * kRowBytes;
        float b[kDepth];
        if (TRANS_B) {
#pragma unroll
            for (int part = 0; part < 8; ++part) {
                const uint4 v = load_part(big + row + (part ^ lane % 8) * 16);
                b[part * 4] = __uint_as_float(v.x), b[part * 4 + 1] = __uint_as_float(v.y);
                b[part * 4 + 2] = __uint_as_float(v.z), b[part * 4 + 3] = __uint_as_float(v.w);
            }
        } else {
#pragma unroll
            for (int k = 0; k < kDepth; ++k)
                b[k] = __uint_as_float(load_shared(big + at + k * kRowBytes + (lane / 4 ^ k % 8) * 16 + lane % 4 * 4));
            __syncwarp();  // all have loaded what the others overwrite
        }
#pragma unroll
        for (int part = 0; part < 8; ++part) {
            const int k = part / 2 * 8, slot = part % 2 * 4;
            const Parts v[4] = {Parts(b[k + k_of_slot(slot)]), Parts(b[k + k_of_slot(slot + 1)]),
                                Parts(b[k + k_of_slot(slot + 2)]), Parts(b[k + k_of_slot(slot + 3)])};
            const unsigned to = row + (part ^ lane % 8) * 16;
            store_part(big + to, make_uint4(v[0].big, v[1].big, v[2].big, v[3].big));
            store_part(small + to, make_uint4(v[0].small, v[1].small, v[2].small, v[3].small));
        }
    }
}

// A group's 64 rows of a tile of A: fragments for the instructions of a stage.
struct FragmentsA {
    unsigned big[kSteps][4], small[kSteps][4];

    __device__ void load(unsigned tile, int first_row) {
        const int lane = threadIdx.x % 32, row = first_row + threadIdx.x % 128 / 32 * 16 + lane / 4;
#pragma unroll
        for (int step = 0; step < kSteps; ++step)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const Parts v(load_element(tile, row + i % 2 * 8, step * 8 + k_of_slot(lane % 4 + i / 2 * 4)));
                big[step][i] = v.big, small[step][i] = v.small;
            }
    }

    static __device__ float load_element(unsigned tile, int m, int k) {
        const int row = TRANS_A ? m / kDepth * kDepth + k : m, column = TRANS_A ? m % kDepth : k;
        return __uint_as_float(load_shared(tile + row * kRowBytes + (column / 4 ^ row % 8) * 16 + column % 4 * 4));
    }
};

// Queue the products of a stage, the small ones first. The other group has its turn while the big ones are queued, so
// that its first product is ready when they are done.
__device__ void multiply_parts(float (&sum_of_small)[BN / 2], float (&sum)[BN / 2], const FragmentsA& a,
                               unsigned tile_big, unsigned tile_small, bool adds, unsigned next_turn) {
    using Split = Tile<BN, true>;
    const uint64_t big = Split::describe(tile_big, 0), small = Split::describe(tile_small, 0);
    begin_products();
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
        multiply_add<BN>(sum_of_small, a.small[i], big + i * Split::STEP, adds || i > 0);
        multiply_add<BN>(sum_of_small, a.big[i], small + i * Split::STEP, true);
    }
    if (TURNS) arrive_as_warp(next_turn);
#pragma unroll
    for (int i = 0; i < kSteps; ++i)
        multiply_add<BN>(sum, a.big[i], big + i * Split::STEP, kPromotes || adds || i > 0);
    commit_products();
}

extern "C" __global__ void __launch_bounds__(kPadThreads, kPadBlocks)
    pad(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias, void* workspace,
        const __grid_constant__ Maps<4> maps) {
    copy_operands(M, N, K, A, B, workspace);
}

extern "C" __global__ void __launch_bounds__(kAllThreads, 1)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias,
         void* workspace, const __grid_constant__ Maps<4> maps) {
    extern __shared__ __align__(1024) char shared[];
    const Stages ring{uniform(address(shared))};
    const int rows = (M + BM - 1) / BM, columns = (N + BN - 1) / BN, tiles = rows * columns;
    const int steps = (K + kDepth - 1) / kDepth, group = uniform(threadIdx.x / 128);
    const Sources<> sources(M, N, K);
    const CUtensorMap *const map_a = sources.map_a(maps.map, 2), *const map_b = sources.map_b(maps.map, 2);
    if (threadIdx.x == 0) ring.initialize_barriers();
    __syncthreads();

    Place place;
    if (group == kFetchers) {
        release_registers<24>();
        if (threadIdx.x % 128 != 0) return;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int2 at = find_origin(tile, rows, columns);
            for (int step = 0; step < steps; ++step, place.advance()) {
                const unsigned filled = ring.filled(place.stage);
                await(ring.emptied(place.stage), place.parity ^ 1);  // a fresh barrier lets the first round pass
                arrive_and_expect(filled, TileA::BYTES + TileB::BYTES);
                TileA::fetch_from(map_a, ring.a(place.stage), at.x, step * kDepth, filled);
                TileB::fetch_from(map_b, ring.big(place.stage), at.y, step * kDepth, filled);
            }
        }
        return;
    }
    if (group == kSplitters) {
        release_registers<72>();
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
            for (int step = 0; step < steps; ++step, place.advance()) {
                await(ring.filled(place.stage), place.parity);
                split_tile(ring.big(place.stage), ring.small(place.stage));
                publish_writes();
                arrive_as_warp(ring.split(place.stage));
            }
        return;
    }

    take_registers<208>();
    unsigned turn_parity = group == 0;  // the first group need not wait for its first turn
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        float sum[BN / 2] = {}, partial[BN / 2];  // partial: of kSpan stages, or of all small products
        for (int step = 0; step < steps; ++step, place.advance()) {
            FragmentsA a;
            await(ring.filled(place.stage), place.parity);
            a.load(ring.a(place.stage), group * 64);
            await(ring.split(place.stage), place.parity);
            if (TURNS) await(ring.turn(group), turn_parity);
            multiply_parts(partial, kPromotes ? partial : sum, a, ring.big(place.stage), ring.small(place.stage),
                           step % kSpan > 0, ring.turn(1 - group));
            turn_parity ^= 1;
            wait_for_products<0>();
            arrive_as_warp(ring.emptied(place.stage));
            if (step % kSpan == kSpan - 1 || step == steps - 1) {
#pragma unroll
                for (int i = 0; i < BN / 2; ++i) sum[i] += partial[i];
            }
        }
        const int2 at = find_origin(tile, rows, columns);
        store_sums<BN>(sum, M, N, at.x + group * 64, at.y, alpha, beta, C, bias);
    }
}
