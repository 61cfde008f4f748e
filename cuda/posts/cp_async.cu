/*---
summary: 2D block tile, tiles copied to STAGES shared buffers by cp.async, one barrier per tile
order: 116
symbol: gemm
precisions: [f32, f64, f16, bf16]
layouts: [nn, nt, tn, tt]
min_sm: 80
params:
  BM: [128, 64]
  BN: [128, 64]
  BK: [8, 16]
  TM: [8, 4]
  TN: [8, 4]
  STAGES: [3, 2, 4]
require:
  - BM * BN / (TM * TN) >= 32
  - BM * BN / (TM * TN) <= 1024
  - BM % 8 == 0
  - BN % 8 == 0
  - BK % 8 == 0                               # the rows of a tile are multiples of 16 bytes
tile: [BM, BN]
grid:
  - cdiv(N, BN)
  - cdiv(M, BM)
block:
  - BM * BN / (TM * TN)
shared: STAGES * ((BM + BN) * BK * BYTES + BN * 16)    # the tiles, and 16 bytes of padding per row of B as N x K
source: https://github.com/kHarshit/cuda-programming
---*/

// Our reconstruction of a step that "Matrix Multiplication in CUDA" mentions without showing code:
// asynchronous memory operations, here within the kernel. Compared with double_buffer: copies go from
// global to shared memory without passing through registers, in units of 16 bytes, and several tiles
// can be in flight.
//
//      tile t            0            1            2            3           STAGES = 3
//      wait for tile t   w            w            w
//      barrier            |            |            |                       all have left buffer (t + 2) % 3,
//      issue tile t + 2    |-> . . . .  |-> . . . .  |-> . . . .            which held tile t - 1
//      compute              |========|   |========|   |========|            from buffer t % 3
//
// A copy keeps its 16 bytes in the order of global memory, so nothing is transposed: As and Bs have
// the same order as A and B in memory. Where rows are not a multiple of 16 bytes, or an operand is
// not aligned to 16 bytes, each copy moves one element. Outside the matrices the copy reads 0 bytes
// and fills its destination with zeros.
//
// Bound by the issue of shared-memory loads and, when copying single elements, by the issue of the copies.
//
// The post means copies on streams, between host and device, and has no code for them; this
// applies the same idea on the device. The bug in the post's shared-memory kernel, fixed here: its
// guards compare positions within the tile with the sizes of the matrices, so it reads out of
// bounds when a size is not a multiple of the tile.

#define THREADS (BM * BN / (TM * TN))
#define RM (BM / TM)
#define RN (BN / TN)

// Start a copy of BYTES bytes, or of zeros. Returns at once; wait_for_copies waits for it.
template <int BYTES> __device__ void copy_async(void* to, const void* from, bool inside) {
    const unsigned place = unsigned(__cvta_generic_to_shared(to));
    const int bytes = inside ? BYTES : 0;
    if (BYTES == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(bytes));
    else asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(place), "l"(from), "r"(bytes), "n"(BYTES));
}
__device__ void commit_copies() { asm volatile("cp.async.commit_group;"); }
template <int LATER> __device__ void wait_for_copies() {  // for all groups except the last LATER
    asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
}

// Copy a tile of ROWS x COLUMNS from row r0 and column c0 of a matrix of rows x columns.
template <int ROWS, int COLUMNS, int PITCH, class T>
__device__ void copy_tile(T* to, const T* matrix, int rows, int columns, int r0, int c0, bool wide) {
    const int width = wide ? 16 / sizeof(T) : 1, units = ROWS * COLUMNS / width;
#pragma unroll 1  // one or two iterations if wide; unrolling costs registers
    for (int e = threadIdx.x; e < units; e += THREADS) {
        const int r = e * width / COLUMNS, c = e * width % COLUMNS;
        const bool inside = r0 + r < rows && c0 + c < columns;
        const T* from = inside ? matrix + size_t(r0 + r) * columns + c0 + c : matrix;
        T* place = to + r * PITCH + c;
        if (wide) copy_async<16>(place, from, inside);
        else if constexpr (sizeof(T) >= 4) copy_async<sizeof(T)>(place, from, inside);
        else *place = inside ? *from : T(0);  // cp.async moves at least 4 bytes
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    // As stored: A is M x K or K x M, B is K x N or N x K. The inner loop reads all rows of the
    // latter at once, so they are padded by 16 bytes.
    constexpr int A_ROWS = TRANS_A ? BK : BM, A_COLUMNS = TRANS_A ? BM : BK;
    constexpr int B_ROWS = TRANS_B ? BN : BK, B_COLUMNS = TRANS_B ? BK : BN;
    constexpr int B_PITCH = B_COLUMNS + (TRANS_B ? 16 / sizeof(TB) : 0);
    extern __shared__ __align__(16) unsigned char shared[];  // dynamic: may exceed 48 KB
    TA* const As = reinterpret_cast<TA*>(shared);
    TB* const Bs = reinterpret_cast<TB*>(As + STAGES * A_ROWS * A_COLUMNS);

    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;
    const int tx = threadIdx.x % RN, ty = threadIdx.x / RN;
    const int a_columns = TRANS_A ? M : K, b_columns = TRANS_B ? K : N;
    const bool a_wide = (size_t(A) | a_columns * sizeof(TA)) % 16 == 0;
    const bool b_wide = (size_t(B) | b_columns * sizeof(TB)) % 16 == 0;

    auto issue = [&](int tile) {  // past the last tile: an empty group, so that groups count tiles
        const int k0 = tile * BK, slot = tile % STAGES;
        if (k0 < K) {
            copy_tile<A_ROWS, A_COLUMNS, A_COLUMNS>(As + slot * A_ROWS * A_COLUMNS, A, TRANS_A ? K : M, a_columns,
                                                    TRANS_A ? k0 : row0, TRANS_A ? row0 : k0, a_wide);
            copy_tile<B_ROWS, B_COLUMNS, B_PITCH>(Bs + slot * B_ROWS * B_PITCH, B, TRANS_B ? N : K, b_columns,
                                                  TRANS_B ? column0 : k0, TRANS_B ? k0 : column0, b_wide);
        }
        commit_copies();
    };

    TACC sum[TM][TN] = {};
#pragma unroll 1  // one copy of the code is enough
    for (int tile = 0; tile < STAGES - 1; ++tile) issue(tile);
    for (int tile = 0; tile * BK < K; ++tile) {
        wait_for_copies<STAGES - 2>();
        __syncthreads();  // all copies of this tile have arrived, and the last tile's buffer is free
        issue(tile + STAGES - 1);
        const TA* a_tile = As + tile % STAGES * A_ROWS * A_COLUMNS;
        const TB* b_tile = Bs + tile % STAGES * B_ROWS * B_PITCH;
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            TACC a[TM], b[TN];
#pragma unroll
            for (int m = 0; m < TM; ++m) a[m] = TACC(a_tile[TRANS_A ? k * BM + ty + m * RM : (ty + m * RM) * BK + k]);
#pragma unroll
            for (int n = 0; n < TN; ++n)
                b[n] = TACC(b_tile[TRANS_B ? (tx + n * RN) * B_PITCH + k : k * BN + tx + n * RN]);
#pragma unroll
            for (int m = 0; m < TM; ++m)
#pragma unroll
                for (int n = 0; n < TN; ++n) sum[m][n] += a[m] * b[n];
        }
    }

#pragma unroll
    for (int m = 0; m < TM; ++m) {
#pragma unroll
        for (int n = 0; n < TN; ++n) {
            const int row = row0 + ty + m * RM, column = column0 + tx + n * RN;
            if (row >= M || column >= N) continue;
            TC* c = C + size_t(row) * N + column;
            *c = TC(beta == 0 ? alpha * sum[m][n] : alpha * sum[m][n] + beta * TACC(*c));  // beta 0: C is not read
        }
    }
}
