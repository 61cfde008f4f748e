/*---
summary: tiles of any size, the long side of C along the rows of products; K is split within clusters
order: 247
precisions: [bf16, f16, tf32, bf16_f32, f16_f32, e4m3, e4m3_fast]
layouts: [nn, nt, tn, tt]
arch: [90a]                     # wgmma
epilogue: [bias, relu]
params:
  BM: [64, 128, 192, 256]            # of the product that is computed: with SWAP it is that of the transposes
  BN: [64, 8, 16, 24, 32, 48, 96, 128, 160, 192, 224, 256]
  STAGES: [8, 4, 5, 6, 10, 12, 16]
  CLUSTER_M: [1, 2, 4]          # blocks with the same columns
  CLUSTER_N: [1, 2, 4, 8]       # blocks with the same rows
  CLUSTER_K: [1, 2, 4, 8]       # blocks that share the k of a tile
  SWAP: [0, 1]                  # 1: C^T = B^T A^T
let:
  rows: N if SWAP else M        # of the product
  columns: M if SWAP else N
  # wgmma reads 32-bit operands along K only. Rows of the product that run along M or N come through registers instead;
  # columns are transposed.
  turn_a: BYTES == 4 and TRANS_A and SWAP
  turn_b: BYTES == 4 and not TRANS_B and not SWAP
  copy_a: turn_a or lda * BYTES % 16 != 0  # TMA needs rows that are multiples of 16 bytes: others are copied and padded
  copy_b: turn_b or ldb * BYTES % 16 != 0
  a_along_k: turn_a or not TRANS_A    # as it is fetched
  b_along_k: turn_b or TRANS_B
  height_a: M if a_along_k else K
  height_b: N if b_along_k else K
  length_a: K if a_along_k else M
  length_b: K if b_along_k else N
  pitch_a: cdiv(length_a * BYTES, 16) * 16 // BYTES
  pitch_b: cdiv(length_b * BYTES, 16) * 16 // BYTES
  bytes_a: BYTES * height_a * pitch_a if copy_a else 0
  bytes_b: BYTES * height_b * pitch_b if copy_b else 0
  rows_along_k: b_along_k if SWAP else a_along_k
  columns_along_k: a_along_k if SWAP else b_along_k
  wide: 128 // BYTES            # elements of a row of a tile
  narrow: wide if BN % wide == 0 else 32 if BN % 32 == 0 else 16 if BN % 16 == 0 else 8
  cluster: CLUSTER_M * CLUSTER_N * CLUSTER_K
  partial: BN // 2 if PROMOTED_EVERY else 0     # promotion needs the sums of 64 rows twice
  # A tile that runs along M or N comes in chunks; where they cannot be dealt evenly, they are also cut along k.
  cuts_rows: CLUSTER_N if BM % (wide * CLUSTER_N) != 0 else 1
  cuts_columns: CLUSTER_M if BN // narrow % CLUSTER_M != 0 else 1
  # Boxes that no other block shares have no more rows than the operand, because TMA takes twice as long if a box
  # reaches beyond it.
  height_rows: min(BM, rows) if CLUSTER_N == 1 else BM // CLUSTER_N
  height_columns: min(BN, columns) if CLUSTER_M == 1 else BN // CLUSTER_M
  box_rows: height_rows if rows_along_k else wide // cuts_rows
  box_columns: height_columns if columns_along_k else 64 // cuts_columns
  width_columns: wide if columns_along_k else narrow
  swizzle_columns: 128 if columns_along_k else 0 if narrow == 8 else 2 * narrow
  owners: min(CLUSTER_K, BN // 8)  # blocks that add up and store columns of a tile
  stored: BN // owners          # columns that a block stores
  # C leaves by TMA, in boxes of so many columns of the product; with SWAP these are rows of C.
  boxes: 64 if stored % 64 == 0 else 32 if stored % 32 == 0 else 16 if stored % 16 == 0 else 8
  boxed: BYTES_C == 2 and N % 8 == 0 and (SWAP or boxes > 8)
  shared: STAGES * ((BM + BN) * 128 + 16) + (4 * BM * BN * CLUSTER_K // owners if CLUSTER_K > 1 else 0)
require:
  - BYTES > 1 or not TRANS_A and TRANS_B   # in fp8 both operands run along K
  - cluster <= 8
  - CLUSTER_K <= cdiv(K, wide)
  - BN // 8 % owners == 0
  - (BM // 64 + 1) * (BN // 2 + partial + 40) * 128 <= 65536  # else the sums do not fit in registers
  - cdiv(stored * BYTES_C, 128) <= STAGES or not SWAP and not boxed  # boxes of C take the places of tiles
  - CLUSTER_M == 1 or not columns_along_k or BN % (8 * CLUSTER_M) == 0
  - shared <= SMEM
tile:
  - BN * CLUSTER_N if SWAP else BM * CLUSTER_M
  - BM * CLUSTER_M if SWAP else BN * CLUSTER_N
maps_by_value: true
tensor_maps:
  - operand: A
    box: [width_columns if SWAP else wide, box_columns if SWAP else box_rows]
    swizzle: swizzle_columns if SWAP else 128
    when: not copy_a
  - operand: B
    box: [wide if SWAP else width_columns, box_rows if SWAP else box_columns]
    swizzle: 128 if SWAP else swizzle_columns
    when: not copy_b
  - operand: workspace          # the copy of A, and that of B
    shape: [length_a, height_a]
    pitch: pitch_a
    box: [width_columns if SWAP else wide, box_columns if SWAP else box_rows]
    swizzle: swizzle_columns if SWAP else 128
    when: copy_a
  - operand: workspace
    offset: bytes_a
    shape: [length_b, height_b]
    pitch: pitch_b
    box: [wide if SWAP else width_columns, box_rows if SWAP else box_columns]
    swizzle: 128 if SWAP else swizzle_columns
    when: copy_b
  - operand: C
    box: [64 if SWAP else boxes, boxes if SWAP else 16]
    swizzle: 128 if SWAP else 2 * boxes
    when: boxed
workspace: bytes_a + bytes_b
launches:
  - symbol: pad
    grid:
      - min(4 * SMS, cdiv(bytes_a + bytes_b, 512))
    block: [256]
    when: copy_a or copy_b
    pdl: true
  - symbol: gemm<boxed>
    grid:
      - cluster * cdiv(rows, BM * CLUSTER_M) * cdiv(columns, BN * CLUSTER_N)
    block: [BM * 2 + 128]
    shared: shared
    pdl: true
sass:                           # of the main loop
  - spills == 0
source: https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions
---*/

// Compared with wgmma_cluster, a block computes one tile and ends, which leaves less to prepare, and tiles may be small:
// several blocks then run on an SM, and a narrow C wastes less. With SWAP, the product is C^T = B^T A^T, so the long
// side of C always lies along the 64 rows of a product, and its columns may be as few as 8.
//
//      C: 12 x 4096                                     the product: 4096 x 12
//                                                                 16
//      +--------------------------- - - -              +---------+
//      |  A B                                  ->   64 | tile 0  |   blocks 0 and 1, each with half of K
//      +--------------------------- - - -              +---------+
//                                                   64 | tile 1  |   blocks 2 and 3
//                                                      +---------+
//
// Where there are too few tiles for all SMs, the blocks of a cluster each have a slice of K. When they have multiplied,
// each sends its sums of some columns to the block that adds up these columns, into shared memory, slice by slice in the
// order of k, so every run gives the same bits. Compared with wgmma_splitk, sums need not travel through L2, and
// nothing waits for a counter in memory.
//
// wgmma reads 32-bit operands in shared memory along K only, but rows of a product may also be in registers, which can
// be loaded from anywhere; see wgmma_tf32. So a large A or B that runs along M or N is not transposed. Here, lanes load
// 4 bytes at a time, two of which share a bank: memory is slower.
//
// In e4m3, sums are promoted to float every 128 products, as in wgmma_fp8; e4m3_fast leaves them in the tensor cores.
//
// Bound by memory where C is narrow, by L2 where tiles are small, and where the problem is small by the time that a
// launch and the first stage take.

#define A_ALONG_K (!TRANS_A || sizeof(TA) == 4 && SWAP)
#define B_ALONG_K (TRANS_B || sizeof(TB) == 4 && !SWAP)
#define ROWS_ALONG_K (SWAP ? B_ALONG_K : A_ALONG_K)
#define COLUMNS_ALONG_K (SWAP ? A_ALONG_K : B_ALONG_K)
#define WARPGROUPS (BM / 64)

#include "main_loop.cuh"
#include "pad.cuh"

constexpr bool kTurnsA = sizeof(TA) == 4 && TRANS_A && SWAP, kTurnsB = sizeof(TB) == 4 && !TRANS_B && !SWAP;
constexpr bool kThroughRegisters = sizeof(TA) == 4 && !(ROWS_ALONG_K);
constexpr int kReaders = kThroughRegisters ? 4 * kGroups : kGroups;  // that release a stage: warps or groups
constexpr int kOwners = CLUSTER_K < BN / 8 ? CLUSTER_K : BN / 8;  // blocks that add up and store columns of a tile
constexpr int kStored = BN / kOwners, kOwned = kStored / 8;       // columns of an owner, and blocks of 8 of them
constexpr int kSharedBytes = STAGES * (kStageBytes + 16) + (CLUSTER_K > 1 ? 4 * BM * BN * CLUSTER_K / kOwners : 0);
constexpr int kRegisters = BN / 2 * (1 + kPromotes) + 56;  // of a thread, about
constexpr int least(int one, int other) { return one < other ? one : other; }
constexpr int kRoom = least(232448 / (kSharedBytes + 1024), 65536 / (kThreads * kRegisters));
constexpr int kBlocks = kRoom < 1 ? 1 : least(kRoom, 4);  // of an SM
constexpr int kMultiplying = 128 * kGroups;

// The sums of a warpgroup, which become elements of C: 64 rows of the product and kStored columns, starting at
// (row0, column0). Boxes of C take the place of the group's part of the tiles, of which `tiles` is that of stage 0.
struct Result {
    static constexpr int kDivides = kStored % 64 == 0 ? 64 : kStored % 32 == 0 ? 32 : kStored % 16 == 0 ? 16 : 8;
    static constexpr int kColumns = SWAP ? kDivides : least(kDivides, kLineColumns);  // with SWAP, rows of C
    using Line = Box<kLineColumns>;
    static constexpr int kBoxesAcross = 64 / kLineColumns;  // with SWAP
    int M, N;
    float alpha, beta;
    TC* C;
    const TC* bias;
    int row0, column0;

    static __device__ unsigned find_box(unsigned tiles, int box) {
        constexpr int kBytes = SWAP ? kColumns * kRowBytes : 64 * kColumns * sizeof(TC);
        constexpr int kOfStage = kChunkBytes / kBytes;
        return tiles + box / kOfStage * kStageBytes + box % kOfStage * kBytes;
    }

    // Through boxes of 16 rows for each warp: by TMA, or row by row.
    template <bool BOXED>
    __device__ void store_boxes(const float (&sum)[kStored / 2], unsigned tiles, const CUtensorMap* map) const {
        using Rows = Box<kColumns>;
        const int warp = threadIdx.x % 128 / 32, row = row0 + warp * 16;
#pragma unroll
        for (int box = 0; box < kStored / kColumns; ++box) {
            const int column = column0 + box * kColumns;
            const unsigned to = find_box(tiles, BOXED ? box : box % 2) + warp * 16 * Rows::kPitch;
            Rows::write(to, sum + box * kColumns / 2);
            if (BOXED) publish_writes();
            __syncwarp();
            if (!BOXED) Rows::store(C, M, N, row, column, to, 0, 16);
            else if (threadIdx.x % 32 == 0) store_box(map, row, column, to);
        }
        if (BOXED && threadIdx.x % 32 == 0) wait_for_reads<0>();
    }

    // The transpose: write boxes of kColumns rows of C with 128 bytes each. The group has 64 columns of C.
    static __device__ void write_transposed(const float (&sum)[kStored / 2], unsigned tiles) {
        const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32, part = warp * 2 + lane / 8 % 2;  // of a row
#pragma unroll
        for (int i = 0; i < kStored / 8; ++i) {
            const int box = i * 8 / kColumns, row = i * 8 % kColumns;  // of columns 8 i to 8 i + 7 of the product
            if constexpr (sizeof(TC) == 4) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const int column = warp % 2 * 16 + j / 2 * 8 + lane / 4, below = lane % 4 * 2 + j % 2;
                    const unsigned to = find_box(tiles, box * kBoxesAcross + warp / 2);
                    store_sum(Line::find_part(to, row + below, column / 4) + column % 4 * 4, sum[4 * i + j]);
                }
            } else if (kColumns == 8) {
                const unsigned to = Line::find_part(find_box(tiles, box), lane % 8, part);
                store_transposed(to, pack_pair(sum, i, 0), pack_pair(sum, i, 1));
            } else if (i % 2 == 0) {
                const int next = i + 1 < kStored / 8 ? i + 1 : i;
                const unsigned v[4] = {pack_pair(sum, i, 0), pack_pair(sum, i, 1), pack_pair(sum, next, 0),
                                       pack_pair(sum, next, 1)};
                store_transposed(Line::find_part(find_box(tiles, box), row + lane / 16 * 8 + lane % 8, part), v);
            }
        }
    }

    // Sums `4 i + 2 half` and the next, which are neighbours in a row of the product.
    static __device__ unsigned pack_pair(const float (&sum)[kStored / 2], int i, int half) {
        return pack(sum[4 * i + 2 * half], sum[4 * i + 2 * half + 1]);
    }

    // The transpose: by TMA, or row by row.
    template <bool BOXED>
    __device__ void store_transposed_boxes(const float (&sum)[kStored / 2], unsigned tiles, const CUtensorMap* map,
                                           int group) const {
        write_transposed(sum, tiles);
        if (BOXED) publish_writes();
        meet_group(group);
        if (BOXED && threadIdx.x % 128 != 0) return;
        const int warp = threadIdx.x % 128 / 32, begin = warp * kColumns / 4, end = begin + kColumns / 4;
#pragma unroll
        for (int box = 0; box < kStored / kColumns * kBoxesAcross; ++box) {
            const int row = column0 + box / kBoxesAcross * kColumns, column = row0 + box % kBoxesAcross * kLineColumns;
            if (BOXED) store_box(map, row, column, find_box(tiles, box));
            else Line::store(C, M, N, row, column, find_box(tiles, box), begin, end);
        }
        if (BOXED) wait_for_reads<0>();
    }

    template <bool BOXED>
    __device__ void store(float (&sum)[kStored / 2], unsigned tiles, const CUtensorMap* map, int group) const {
        if constexpr (!SWAP && kColumns == 8)
            return store_sums<kStored>(sum, M, N, row0, column0, alpha, beta, C, bias);
        finish_sums<kStored, SWAP>(sum, M, N, row0, column0, alpha, beta, C, bias);
        if constexpr (SWAP) store_transposed_boxes<BOXED>(sum, tiles, map, group);
        else if constexpr (kColumns > 8) store_boxes<BOXED>(sum, tiles, map);
    }
};

// Send the sums of all columns to the blocks that add them up, and add up those of this block. `sums` is memory for what
// an owner gets: the sums of all threads of slice 0, 8 columns after 8 columns, then those of slice 1, and so on.
template <typename BLOCK>
__device__ void exchange(const float (&sum)[BN / 2], float (&total)[kStored / 2], unsigned sums, const BLOCK& block) {
    const auto place = [=](int slice, int i) { return sums + ((slice * kOwned + i) * kMultiplying + threadIdx.x) * 16; };
#pragma unroll
    for (int i = 0; i < BN / 8; ++i) {
        const float* const four = sum + 4 * i;
        const int owner = i / kOwned * BLOCK::OF_SLICE + block.column * CLUSTER_M + block.row;
        store_in_block(place(block.slice, i % kOwned), owner, {four[0], four[1], four[2], four[3]});
    }
    sync_cluster();
#pragma unroll
    for (int i = 0; i < kStored / 2; ++i) total[i] = 0;
    if (block.slice >= kOwners) return;
#pragma unroll
    for (int i = 0; i < kOwned; ++i)
#pragma unroll
        for (int slice = 0; slice < CLUSTER_K; ++slice) {
            const float4 v = load_quad(place(slice, i));
            total[4 * i] += v.x, total[4 * i + 1] += v.y, total[4 * i + 2] += v.z, total[4 * i + 3] += v.w;
        }
}

// Like multiply_stages, with rows that come from a tile that runs along M or N, through registers. The rows of the next
// eight k are loaded while the products of these are computed.
template <typename BLOCK, typename RING>
__device__ void multiply_from_registers(const RING& ring, Place& place, int steps, int group, int fetcher,
                                        float (&sum)[BN / 2]) {
    const int warp = threadIdx.x % 128 / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const int chunk = group * kChunkBytes + warp / 2 * (kDepth * kRowBytes);  // 32 rows of the product
    const int from = chunk + t * kRowBytes + ((warp % 2 * 4 + g / 4) ^ t) * 16 + g % 4 * 4;  // row g, k = t
    unsigned rows[2][4];
    int last = 0;  // the previous stage
    for (int step = 0; step < steps; ++step, place.advance()) {
        await(ring.filled(place.stage), place.parity);
        const unsigned tile = ring.a(place.stage) + from;
        const uint64_t columns = TileB::describe(ring.b(place.stage), 0);
#pragma unroll
        for (int i = 0; i < kSteps; ++i) {
#pragma unroll
            for (int j = 0; j < 4; ++j)  // row g + 8 is two parts further, k = t + 4 four rows
                rows[i % 2][j] =
                    load_shared((tile ^ (j % 2 * 32 + j / 2 * 64)) + i * kBlockBytes + j / 2 * (4 * kRowBytes));
            begin_products();
            multiply_add<BN>(sum, rows[i % 2], columns + i * TileB::STEP, step > 0 || i > 0);
            commit_products();
            wait_for_products<1>();
            if (step > 0 && i == 0) BLOCK::release(ring.emptied(last), fetcher);
        }
        last = place.stage;
    }
    wait_for_products<0>();
    BLOCK::release(ring.emptied(last), fetcher);
    meet_group(group);  // boxes of C take the place of tiles
}

extern "C" __global__ void __launch_bounds__(kPadThreads, kPadBlocks)
    pad(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias, void* workspace,
        const __grid_constant__ Maps<5> maps) {
    copy_operands<kTurnsA, kTurnsB>(M, N, K, A, B, workspace);
}

template <bool BOXED>
__global__ void __launch_bounds__(kThreads, kBlocks) __cluster_dims__(CLUSTER_M * CLUSTER_N * CLUSTER_K, 1, 1)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, const TC* bias,
         void* workspace, const __grid_constant__ Maps<5> maps) {
    extern __shared__ __align__(1024) char shared[];
    using Block = Member<CLUSTER_M, CLUSTER_N, CLUSTER_K>;
    const Ring<0> ring{uniform(address(shared))};
    const Block block = Block::find();
    const int rows = SWAP ? N : M, columns = SWAP ? M : N;
    const int down = (rows + BM * CLUSTER_M - 1) / (BM * CLUSTER_M), tile = blockIdx.x / Block::BLOCKS;
    const int2 at = {(tile % down * CLUSTER_M + block.row) * BM, (tile / down * CLUSTER_N + block.column) * BN};
    const int steps = (K + kDepth - 1) / kDepth;
    const int begin = steps * block.slice / CLUSTER_K, end = steps * (block.slice + 1) / CLUSTER_K;
    const int group = uniform(threadIdx.x / 128), thread = threadIdx.x % 128;
    const Sources<kTurnsA, kTurnsB> sources(M, N, K);
    const CUtensorMap *const map_a = sources.map_a(maps.map, 2), *const map_b = sources.map_b(maps.map, 2);
    if (threadIdx.x == kFetcher) prefetch(map_a), prefetch(map_b);
    if (threadIdx.x == 0) ring.initialize_barriers(Block::SHARERS * kReaders);
    __syncthreads();
    Block::meet();
    start_next_launch();

    Place place;
    if (group == kGroups) {
        const int bytes = Block::count_bytes(rows, columns);
        if (thread == 0) await_launch_before();  // the other groups wait for what this thread fetches
        for (int step = begin; thread == 0 && step < end; ++step, place.advance()) {
            await(ring.emptied(place.stage), place.parity ^ 1);  // a fresh barrier lets the first round pass
            block.fetch_stage(ring, place.stage, SWAP ? map_b : map_a, SWAP ? map_a : map_b, at, step * kDepth, bytes);
        }
        __syncwarp();
        Block::meet();  // so that no block writes to one that has ended
        return;
    }

    float sum[kParts][BN / 2];
    const int fetcher = block.find_fetcher(kThroughRegisters ? thread % 32 : thread);
    if constexpr (kThroughRegisters) multiply_from_registers<Block>(ring, place, end - begin, group, fetcher, sum[0]);
    else multiply_stages<Block>(ring, place, end - begin, group, fetcher, sum);
    float total[kStored / 2];
    if (CLUSTER_K == 1) {
#pragma unroll
        for (int i = 0; i < kStored / 2; ++i) total[i] = sum[0][i];
    } else {
        exchange<Block>(sum[0], total, ring.filled(STAGES), block);
        if (block.slice >= kOwners) return;
    }
    const Result result{M, N, alpha, beta, C, bias, at.x + group * 64, at.y + block.slice * kStored};
    result.store<BOXED>(total, ring.a(0) + group * kChunkBytes, maps.map + 4, group);
    if (CLUSTER_K == 1) Block::meet();
}
