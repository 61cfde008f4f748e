// C = alpha A B + beta C in bf16, whose rows are packed. M and N are multiples of 128, and K is a multiple of 32.
// Eight warps compute 128 x 128 elements of C, each 64 x 32 of them with WMMA.
#include <cuda_bf16.h>
#include <mma.h>

using namespace nvcuda;
using Element = __nv_bfloat16;

constexpr int BM = 128, BN = 128, BK = 32, PAD = 8, WM = 64, WN = 32, SIDE = 16, THREADS = 256;
constexpr int VECTOR = sizeof(uint4) / sizeof(Element);

extern "C" __global__ void __launch_bounds__(THREADS) multiply(
    const Element* A, const Element* B, Element* C, int M, int N, int K, float alpha, float beta) {
    __shared__ __align__(16) Element a[BM][BK + PAD], b[BK][BN + PAD];
    __shared__ float parts[THREADS / 32][SIDE][SIDE];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int warp_m = warp / (BN / WN) * WM, warp_n = warp % (BN / WN) * WN;
    A += (size_t)blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += (size_t)blockIdx.y * BM * N + blockIdx.x * BN;

    wmma::fragment<wmma::accumulator, SIDE, SIDE, SIDE, float> sums[WM / SIDE][WN / SIDE];
    for (auto& row : sums)
        for (auto& sum : row) wmma::fill_fragment(sum, 0.0f);

    for (int first = 0; first < K; first += BK) {
        for (int at = threadIdx.x * VECTOR; at < BM * BK; at += THREADS * VECTOR)
            *(uint4*)&a[at / BK][at % BK] = *(const uint4*)&A[(size_t)(at / BK) * K + first + at % BK];
        for (int at = threadIdx.x * VECTOR; at < BK * BN; at += THREADS * VECTOR)
            *(uint4*)&b[at / BN][at % BN] = *(const uint4*)&B[(size_t)(first + at / BN) * N + at % BN];
        __syncthreads();
        for (int k = 0; k < BK; k += SIDE) {
            wmma::fragment<wmma::matrix_a, SIDE, SIDE, SIDE, Element, wmma::row_major> left[WM / SIDE];
            wmma::fragment<wmma::matrix_b, SIDE, SIDE, SIDE, Element, wmma::row_major> right[WN / SIDE];
            for (int m = 0; m < WM / SIDE; ++m) wmma::load_matrix_sync(left[m], &a[warp_m + m * SIDE][k], BK + PAD);
            for (int n = 0; n < WN / SIDE; ++n) wmma::load_matrix_sync(right[n], &b[k][warp_n + n * SIDE], BN + PAD);
            for (int m = 0; m < WM / SIDE; ++m)
                for (int n = 0; n < WN / SIDE; ++n) wmma::mma_sync(sums[m][n], left[m], right[n], sums[m][n]);
        }
        __syncthreads();
    }

    for (int m = 0; m < WM / SIDE; ++m)
        for (int n = 0; n < WN / SIDE; ++n) {
            wmma::store_matrix_sync(&parts[warp][0][0], sums[m][n], SIDE, wmma::mem_row_major);
            __syncwarp();
            for (int at = lane; at < SIDE * SIDE; at += 32) {
                Element& c = C[(size_t)(warp_m + m * SIDE + at / SIDE) * N + warp_n + n * SIDE + at % SIDE];
                float product = alpha * parts[warp][at / SIDE][at % SIDE];
                c = __float2bfloat16(beta == 0 ? product : product + beta * __bfloat162float(c));
            }
            __syncwarp();
        }
}
