// Computes the rows and columns of C beyond the whole tiles, where there are so few that extra tiles would be mostly
// empty. A launch of matrix-vector products computes them from A and B as stored.

#pragma once

constexpr int kThin = 4;                         // most rows or columns that are an edge, not a tile
constexpr int kEdgeThreads = 256, kOutputs = 8;  // of a block; outputs along the edge

// Number of whole tiles along M or N. The part of `extent` beyond them is an edge.
__device__ constexpr int tiles(int extent, int tile) {
    return extent <= tile ? 1 : (extent + tile - 1 - kThin) / tile;
}

__device__ constexpr int edge(int extent, int tile) {
    return extent > tiles(extent, tile) * tile ? extent - tiles(extent, tile) * tile : 0;
}

struct Matrix {
    const float* first;
    size_t per_k, per_output;  // floats from one to the next

    __device__ float at(int k, int output) const { return first[k * per_k + output * per_output]; }
};

// sum[e] of output `first` + lane % 8 over the k of a warp: the product of edge line e of `x` and P, where P is the
// whole other operand. Where P is contiguous along the outputs, each of 8 neighbouring outputs gets its own thread;
// where it is contiguous along k, one thread computes all 8. Lanes then exchange halves until each has one sum,
// which takes 7 shuffles; reducing the 8 sums one by one would take 24.
template <bool ALONG_K, int E>
__device__ void multiply_edge(const Matrix& x, const Matrix& P, int lines, int first, int outputs, int K, float* sum) {
    constexpr int EACH = ALONG_K ? kOutputs : 1, STEP = kEdgeThreads * EACH / kOutputs;
    constexpr int UNROLL = (72 - E * EACH) / (E + EACH);  // as many loads in flight as there are registers
    const int lane = threadIdx.x % 32, begin = threadIdx.x * EACH / kOutputs;
    if (!ALONG_K) first += lane % kOutputs;
    float total[E][EACH] = {};
#pragma unroll 1
    for (int k0 = begin; k0 < K; k0 += UNROLL * STEP) {
        float p[UNROLL][EACH], v[UNROLL][E];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            const int k = k0 + u * STEP;
#pragma unroll
            for (int j = 0; j < EACH; ++j) p[u][j] = k < K && first + j < outputs ? P.at(k, first + j) : 0;
#pragma unroll
            for (int e = 0; e < E; ++e) v[u][e] = k < K && e < lines ? x.at(k, e) : 0;
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
#pragma unroll
            for (int e = 0; e < E; ++e)
#pragma unroll
                for (int j = 0; j < EACH; ++j) total[e][j] += v[u][e] * p[u][j];
    }
#pragma unroll
    for (int e = 0; e < E; ++e) {
#pragma unroll
        for (int half = EACH / 2; half > 0; half /= 2)
#pragma unroll
            for (int j = 0; j < half; ++j) {
                const float low = total[e][j], high = total[e][j + half];
                const bool upper = lane & half;
                total[e][j] = (upper ? high : low) + __shfl_xor_sync(0xffffffffu, upper ? low : high, half);
            }
#pragma unroll
        for (int other = kOutputs; other < 32; other *= 2) total[e][0] += __shfl_xor_sync(0xffffffffu, total[e][0], other);
        sum[e] = total[e][0];
    }
}

// The rows of C below the whole tiles of BM x BN, in all columns, followed by the columns to the right of them in the
// other rows. A block of kEdgeThreads takes 8 outputs along an edge and splits K among its threads. Bound by memory: A
// or B is read once for all lines of the edge.
__device__ inline void multiply_edges(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
    constexpr int WARPS = kEdgeThreads / 32;
    __shared__ float parts[WARPS][kThin][kOutputs];
    const int m0 = M - edge(M, BM), n0 = N - edge(N, BN);
    const int blocks_rows = m0 < M ? (N + kOutputs - 1) / kOutputs : 0;
    const bool rows = int(blockIdx.x) < blocks_rows;
    const int lines = rows ? M - m0 : N - n0, outputs = rows ? N : m0;
    const int first = (blockIdx.x - (rows ? 0 : blocks_rows)) * kOutputs;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    float sum[kThin] = {};
    const size_t a_k = TRANS_A ? M : 1, a_m = TRANS_A ? 1 : K, b_k = TRANS_B ? 1 : N, b_n = TRANS_B ? K : 1;
    const Matrix a = {A, a_k, a_m}, row = {A + m0 * a_m, a_k, a_m}, b = {B, b_k, b_n}, column = {B + n0 * b_n, b_k, b_n};
    if (rows && lines == 1) multiply_edge<TRANS_B, 1>(row, b, lines, first, outputs, K, sum);
    else if (rows) multiply_edge<TRANS_B, kThin>(row, b, lines, first, outputs, K, sum);
    else if (lines == 1) multiply_edge<!TRANS_A, 1>(column, a, lines, first, outputs, K, sum);
    else multiply_edge<!TRANS_A, kThin>(column, a, lines, first, outputs, K, sum);

    if (lane < kOutputs)
#pragma unroll
        for (int e = 0; e < kThin; ++e) parts[warp][e][lane] = sum[e];
    __syncthreads();
    const int e = threadIdx.x / kOutputs, output = first + threadIdx.x % kOutputs;
    if (e >= lines || output >= outputs) return;
    float total = 0;
    for (int w = 0; w < WARPS; ++w) total += parts[w][e][threadIdx.x % kOutputs];
    float* const c = C + (rows ? size_t(m0 + e) * N + output : size_t(output) * N + n0 + e);
    *c = beta == 0 ? alpha * total : alpha * total + beta * *c;
}
