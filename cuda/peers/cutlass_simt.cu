/*---
summary: CUTLASS on the CUDA cores, device::Gemm with cp.async; tiles as parameters
order: 950
precisions: [f32]
layouts: [nn, nt, tn, tt]
min_sm: 80
include: [cutlass]
params:
  BM: [128, 256, 64]
  BN: [256, 128, 64]
  BK: [8, 16]
  WM: [64, 32]                    # the part of a tile that one warp computes
  WN: [64, 32]
  STAGES: [4, 5, 3]
require:
  - (BM / WM) * (BN / WN) == 8 or (BM / WM) * (BN / WN) == 4
  - WM * WN >= 2048 or BM * BN < 32768   # else 8 warps are too few for the tile
  - STAGES * (BM + BN) * BK * 4 <= SMEM
tile: [BM, BN]
host: run
source: https://github.com/NVIDIA/cutlass
---*/

// CUTLASS's single-precision GEMM for CUDA cores, called as any program would call it: the host function below chooses
// neither grid nor block, because CUTLASS derives both from the tile. It copies single floats, so rows may have any
// length. Bound by the FMA units: each thread computes 8 x 8 or more results from registers, and cp.async fills STAGES
// buffers.
//
//            BK       BN
//          +----+   +--------+-- WN --+
//       BM | A  |   | warp   | warp   | WM     a block computes BM x BN of C, a warp of it WM x WN;
//          |    |   +--------+--------+        K passes by in steps of BK
//          +----+   | warp   | warp   |

#include <cutlass/cutlass.h>
#include <cutlass/gemm/device/gemm.h>

#include <stdexcept>

namespace peer {

template <bool TRANSPOSED>
using Layout = std::conditional_t<TRANSPOSED, cutlass::layout::ColumnMajor, cutlass::layout::RowMajor>;

using Gemm = cutlass::gemm::device::Gemm<
    float, Layout<TRANS_A>,
    float, Layout<TRANS_B>,
    float, cutlass::layout::RowMajor,
    float, cutlass::arch::OpClassSimt, cutlass::arch::Sm80,
    cutlass::gemm::GemmShape<BM, BN, BK>,
    cutlass::gemm::GemmShape<WM, WN, BK>,
    cutlass::gemm::GemmShape<1, 1, 1>,
    cutlass::epilogue::thread::LinearCombination<float, 1, float, float>,
    cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>,
    STAGES>;

}  // namespace peer

// CUTLASS does not read C if beta == 0.
extern "C" void run(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C, void*,
                    cudaStream_t stream) {
    const int lda = TRANS_A ? M : K, ldb = TRANS_B ? K : N;  // of the arrays as they are stored
    peer::Gemm gemm;
    const auto status = gemm({{M, N, K}, {A, lda}, {B, ldb}, {C, N}, {C, N}, {alpha, beta}}, nullptr, stream);
    if (status != cutlass::Status::kSuccess) throw std::runtime_error(cutlass::cutlassGetStatusString(status));
}
