/*---
summary: CUTLASS on Hopper's tensor cores, TMA and warp specialisation; schedule, tile and cluster as parameters
order: 951
precisions: [bf16, f16]
layouts: [nn, nt, tn, tt]
arch: [90a]
include: [cutlass]
params:
  PINGPONG: [0, 1]                # 0: two warp groups share a tile (cooperative), 1: each has its own
  BM: [128, 256, 64]
  BN: [256, 128]
  BK: [64]                        # 128 bytes of a row, the width of the swizzle
  CLUSTER_M: [2, 1]
  CLUSTER_N: [1, 2]
require:
  - lda % 8 == 0              # TMA needs rows that are multiples of 16 bytes
  - ldb % 8 == 0
  - N % 8 == 0
  - BM >= 128 or PINGPONG            # a cooperative tile gives each warp group 64 rows
  - BM <= 128 or not PINGPONG
  - BM * BN <= (16384 if PINGPONG else 32768)   # else the sums do not fit in registers
  - CLUSTER_M * CLUSTER_N <= 2
tile: [BM, BN]
host: run
workspace: {host: workspace}
source: https://github.com/NVIDIA/cutlass
---*/

// CUTLASS's GEMM for Hopper, assembled by its collective builders. One warp group of every block only starts TMA
// copies, which all blocks of a cluster share; two others multiply. Blocks stay on their multiprocessors and process
// one tile after another. Bound by the tensor cores; on large problems the GPU's power limit lowers their clock.
//
//     cooperative                          ping-pong
//     group 1 | upper half of a tile |     group 1 | tile 0 | store  | tile 2 | store  |
//     group 2 | lower half of a tile |     group 2 |        | tile 1 | store  | tile 3 |
//                                                     one multiplies while the other stores

#include <cutlass/cutlass.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

#include <stdexcept>

namespace peer {

using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
using Element = std::conditional_t<std::is_same_v<TA, __half>, cutlass::half_t, cutlass::bfloat16_t>;
using Tile = cute::Shape<cute::Int<BM>, cute::Int<BN>, cute::Int<BK>>;
using Cluster = cute::Shape<cute::Int<CLUSTER_M>, cute::Int<CLUSTER_N>, cute::_1>;
constexpr int ALIGNED = 8;  // elements: 16 bytes

using Mainloop = std::conditional_t<PINGPONG, cutlass::gemm::KernelTmaWarpSpecializedPingpong,
                                    cutlass::gemm::KernelTmaWarpSpecializedCooperative>;
using Store = std::conditional_t<PINGPONG, cutlass::epilogue::TmaWarpSpecialized,
                                 cutlass::epilogue::TmaWarpSpecializedCooperative>;

using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
    cutlass::epilogue::collective::EpilogueTileAuto,
    float, float,
    Element, Row, ALIGNED,
    Element, Row, ALIGNED,
    Store>::CollectiveOp;

using Product = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp,
    Element, std::conditional_t<TRANS_A, Column, Row>, ALIGNED,
    Element, std::conditional_t<TRANS_B, Column, Row>, ALIGNED,
    float, Tile, Cluster,
    cutlass::gemm::collective::StageCountAutoCarveout<int(sizeof(typename Epilogue::SharedStorage))>,
    Mainloop>::CollectiveOp;

using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Product, Epilogue>;
using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

// The stride of a matrix with packed rows or columns of `length` elements; the type fixes the other stride at 1.
template <class Stride>
Stride packed(int length) {
    Stride stride{};
    if constexpr (std::is_same_v<std::decay_t<decltype(cute::get<0>(stride))>, int64_t>)
        cute::get<0>(stride) = length;
    else
        cute::get<1>(stride) = length;
    return stride;
}

Gemm::Arguments arguments(int M, int N, int K, float alpha, const void* A, const void* B, float beta, void* C) {
    static const int sms = cutlass::KernelHardwareInfo::query_device_multiprocessor_count(0);
    const auto* a = static_cast<const Element*>(A);
    const auto* b = static_cast<const Element*>(B);
    auto* c = static_cast<Element*>(C);
    const auto stride_a = packed<typename Kernel::StrideA>(TRANS_A ? M : K);
    const auto stride_b = packed<typename Kernel::StrideB>(TRANS_B ? K : N);
    const auto stride_c = packed<typename Kernel::StrideC>(N);
    return {cutlass::gemm::GemmUniversalMode::kGemm,
            {M, N, K, 1},
            {a, stride_a, b, stride_b},
            {{alpha, beta}, c, stride_c, c, stride_c},
            {0, sms}};
}

}  // namespace peer

extern "C" size_t workspace(int M, int N, int K) {
    return peer::Gemm::get_workspace_size(peer::arguments(M, N, K, 1, nullptr, nullptr, 0, nullptr));
}

// CUTLASS does not read C if beta == 0.
extern "C" void run(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C, void* workspace,
                    cudaStream_t stream) {
    peer::Gemm gemm;
    auto status = gemm.initialize(peer::arguments(M, N, K, alpha, A, B, beta, C), workspace, stream);
    if (status == cutlass::Status::kSuccess) status = gemm.run(stream);
    if (status != cutlass::Status::kSuccess) throw std::runtime_error(cutlass::cutlassGetStatusString(status));
}
