/*---
summary: tensor cores through the C++ fragments of wmma, on tiles of A and B in shared memory
order: 200
symbol: gemm
precisions: [bf16, f16, tf32, f16_f16, bf16_f32, f16_f32, int8]
layouts: [nn, nt, tn, tt]
kinds: [one, many, padded, separate_c]
min_sm: 80
epilogue: [bias, relu]
params:
  BM: [128, 64]
  BN: [128, 64]
  BK: [32, 64, 16]
  WM: [64, 32]                    # a warp's part of the block tile
  WN: [32, 64]
require:
  - BM % WM == 0
  - BN % WN == 0
  - BK * BYTES <= (128 if (BM / WM) * (BN / WN) <= 8 else 64)   # all fits static shared memory
  - WM * WN * BYTES <= 8192       # in tf32 a warp holds two sets of sums
tile: [BM, BN]
grid:
  - cdiv(N, BN)
  - cdiv(M, BM)
  - count
block:
  - (BM / WM) * (BN / WN) * 32
source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#wmma-type-definitions
---*/

// Compared with blocktile_2d: a warp multiplies rather than a thread. It holds tiles of A, B and C in fragments, whose
// elements are spread over its 32 lanes, and one instruction of the tensor cores multiplies 16 x 16 x 16 elements (16 x
// 16 x 8 in tf32). Where an element lies in a fragment is unspecified; only loading, multiplying and storing are
// defined.
//
// Bound by the two barriers per step: the tensor cores wait while the next tiles of A and B are loaded.
//
//              BN
//            +----+----+----+----+      a warp's part, WM x WN:
//            |    |    |    |    |        +--+--+
//         BM |    |warp|    |    |        |  |  |  16 x 16 each: WM / 16 fragments of A and
//            +----+----+----+----+        +--+--+  WN / 16 of B give all of them
//            |    |    |    |    |        |  |  |
//            +----+----+----+----+        +--+--+
//
// A and B keep the order of rows and columns that they have in memory; a fragment's type says whether its tile is
// stored by rows or by columns. Rows in shared memory are padded by 16 bytes, so 8 consecutive rows lie in different
// banks.
//
// Tensor cores truncate the lowest bits of a sum at every instruction. In tf32, whose instructions add only four
// products per element, this error accumulates: 17 u at K = 4096. There, the sums of each tile therefore begin at 0
// and are added to the earlier ones by ordinary additions, which round.

#include <mma.h>

namespace wmma = nvcuda::wmma;

#ifndef LDA  // rows are packed
#define LDA (TRANS_A ? M : K)
#define LDB (TRANS_B ? K : N)
#define LDC N
#define LDD N
#endif

constexpr bool kTf32 = sizeof(TA) == 4;
constexpr int kDepth = kTf32 ? 8 : 16;  // k of one instruction
constexpr int kWarpsN = BN / WN, kWarps = BM / WM * kWarpsN, kThreads = kWarps * 32;
constexpr int kWide = 16 / sizeof(TA);  // elements of a 16-byte load

constexpr int kRowsA = TRANS_A ? BK : BM, kColumnsA = TRANS_A ? BM : BK;
constexpr int kRowsB = TRANS_B ? BN : BK, kColumnsB = TRANS_B ? BK : BN;
constexpr int kPitchA = kColumnsA + kWide, kPitchB = kColumnsB + kWide;

using Element = std::conditional_t<kTf32, wmma::precision::tf32, TA>;
using OrderA = std::conditional_t<TRANS_A, wmma::col_major, wmma::row_major>;
using OrderB = std::conditional_t<TRANS_B, wmma::col_major, wmma::row_major>;
using FragmentA = wmma::fragment<wmma::matrix_a, 16, 16, kDepth, Element, OrderA>;
using FragmentB = wmma::fragment<wmma::matrix_b, 16, 16, kDepth, Element, OrderB>;
using FragmentC = wmma::fragment<wmma::accumulator, 16, 16, kDepth, TACC>;
using Sums = FragmentC[WM / 16][WN / 16];  // of a warp
template <typename T> struct Wide { using type = float; };
template <> struct Wide<int> { using type = int; };
using Value = Wide<TACC>::type;  // of an element of the result before it is rounded

// Load ROWS x COLUMNS elements of a row-major matrix, with zeros outside it. Rows that begin and end at multiples of 16
// bytes are loaded 16 bytes at a time. `leading` elements lie between the beginnings of two rows.
template <int ROWS, int COLUMNS, typename T>
__device__ void load_tile(T* tile, const T* matrix, int rows, int columns, int leading, int row0, int column0) {
    constexpr int PITCH = COLUMNS + kWide;
    if ((size_t(matrix) | columns * sizeof(T) | leading * sizeof(T)) % 16 == 0) {
        for (int e = threadIdx.x * kWide; e < ROWS * COLUMNS; e += kThreads * kWide) {
            const int row = row0 + e / COLUMNS, column = column0 + e % COLUMNS;
            const uint4* from = reinterpret_cast<const uint4*>(matrix + size_t(row) * leading + column);
            const bool inside = row < rows && column < columns;
            *reinterpret_cast<uint4*>(tile + e / COLUMNS * PITCH + e % COLUMNS) = inside ? *from : uint4{0, 0, 0, 0};
        }
    } else {
        for (int e = threadIdx.x; e < ROWS * COLUMNS; e += kThreads) {
            const int row = row0 + e / COLUMNS, column = column0 + e % COLUMNS;
            const bool inside = row < rows && column < columns;
            tile[e / COLUMNS * PITCH + e % COLUMNS] = inside ? matrix[size_t(row) * leading + column] : T(0);
        }
    }
}

__device__ void clear(Sums& sums) {
#pragma unroll
    for (int m = 0; m < WM / 16; ++m)
#pragma unroll
        for (int n = 0; n < WN / 16; ++n) wmma::fill_fragment(sums[m][n], TACC(0));
}
__device__ void add(Sums& sums, const Sums& others) {
#pragma unroll
    for (int m = 0; m < WM / 16; ++m)
#pragma unroll
        for (int n = 0; n < WN / 16; ++n)
#pragma unroll
            for (int i = 0; i < FragmentC::num_elements; ++i) sums[m][n].x[i] += others[m][n].x[i];
}

// TF32 keeps 10 bits after the point: round to nearest, because the instruction would truncate the others.
template <typename Fragment> __device__ void round_to_tf32(Fragment& fragment) {
#pragma unroll
    for (int i = 0; i < fragment.num_elements; ++i) fragment.x[i] = wmma::__float_to_tf32(fragment.x[i]);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, const TC* C, const TC* bias,
         TC* D) {
    __shared__ __align__(32) TA As[kRowsA * kPitchA];
    __shared__ __align__(32) TB Bs[kRowsB * kPitchB];
    __shared__ __align__(32) TACC patches[kWarps][16 * 16];

#if MANY  // product blockIdx.z of a batch
    A += blockIdx.z * size_t(TRANS_A ? K : M) * LDA, B += blockIdx.z * size_t(TRANS_B ? N : K) * LDB;
    C += blockIdx.z * size_t(M) * LDC, D += blockIdx.z * size_t(M) * LDD;
    if (BIAS) bias += blockIdx.z * size_t(N);
#endif
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / kWarpsN * WM, warp_column = warp % kWarpsN * WN;

    Sums sums, of_tile;  // of all tiles, and of one
    clear(sums);

    for (int k0 = 0; k0 < K; k0 += BK) {
        load_tile<kRowsA, kColumnsA>(As, A, TRANS_A ? K : M, TRANS_A ? M : K, LDA, TRANS_A ? k0 : row0,
                                     TRANS_A ? row0 : k0);
        load_tile<kRowsB, kColumnsB>(Bs, B, TRANS_B ? N : K, TRANS_B ? K : N, LDB, TRANS_B ? column0 : k0,
                                     TRANS_B ? k0 : column0);
        __syncthreads();
        if constexpr (kTf32) clear(of_tile);
#pragma unroll
        for (int k = 0; k < BK; k += kDepth) {
            FragmentA a[WM / 16];
#pragma unroll
            for (int m = 0; m < WM / 16; ++m) {
                const int row = warp_row + m * 16;
                wmma::load_matrix_sync(a[m], As + (TRANS_A ? k * kPitchA + row : row * kPitchA + k), kPitchA);
                if constexpr (kTf32) round_to_tf32(a[m]);
            }
#pragma unroll
            for (int n = 0; n < WN / 16; ++n) {
                const int column = warp_column + n * 16;
                FragmentB b;
                wmma::load_matrix_sync(b, Bs + (TRANS_B ? column * kPitchB + k : k * kPitchB + column), kPitchB);
                if constexpr (kTf32) round_to_tf32(b);
#pragma unroll
                for (int m = 0; m < WM / 16; ++m) {
                    FragmentC& sum = kTf32 ? of_tile[m][n] : sums[m][n];
                    wmma::mma_sync(sum, a[m], b, sum);
                }
            }
        }
        if constexpr (kTf32) add(sums, of_tile);
        __syncthreads();  // before the tiles are overwritten
    }

    // Only a store reveals where the elements of a fragment belong, so each 16 x 16 tile goes through shared memory.
    TACC* const patch = patches[warp];
#pragma unroll
    for (int m = 0; m < WM / 16; ++m) {
#pragma unroll
        for (int n = 0; n < WN / 16; ++n) {
            wmma::store_matrix_sync(patch, sums[m][n], 16, wmma::mem_row_major);
            __syncwarp();
            for (int e = lane; e < 16 * 16; e += 32) {
                const int row = row0 + warp_row + m * 16 + e / 16, column = column0 + warp_column + n * 16 + e % 16;
                if (row >= M || column >= N) continue;
                Value value = Value(alpha) * Value(patch[e]);
                if (beta != TACC(0)) value += Value(beta) * Value(C[size_t(row) * LDC + column]);  // beta 0: C is not read
                if (BIAS) value += Value(bias[column]);
                if (RELU && value < 0) value = 0;  // a NaN stays
                D[size_t(row) * LDD + column] = TC(value);
            }
            __syncwarp();
        }
    }
}
