/*---
summary: a whole network in one kernel, ROWS rows of the batch per block
order: 900
computes: mlp
symbol: mlp
precisions: [f32]
layouts: [nn]                   # weights are inputs x outputs
params:
  ROWS: [1, 2, 4, 8, 16]
  THREADS: [1024, 512, 256]
  DEPTH: [4, 8, 16]             # weights that a thread requests before it needs the first
require:
  - ROWS * THREADS <= 8192      # the sums fit the registers
grid:
  - cdiv(M, ROWS)
block:
  - THREADS
shared: 4 * ROWS * (IN + 2 * WIDEST + max(4 * THREADS, WIDEST))
source: "https://medium.com/@robinheijmans/building-a-matrix-multiplication-kernel-from-scratch-using-\
  cuda-and-applying-it-to-neural-networks-8da95a296de5"
---*/

// Compared with a chain of GEMMs: nothing leaves the SM between layers, and one launch replaces
// between three and six. A block carries ROWS rows of the batch from the input to the output. It
// reads the weights once, straight into registers, and each weight serves ROWS rows; no block
// waits for another.
//
// Bound by reading the weights: every block reads all of them from L2, at 64 bytes per cycle per SM. Few blocks
// with many rows save traffic; many blocks with few rows use more of the SMs.
//
//    in: K x ROWS, shared     W: K x N, global            thread (slice, group)
//      k  [ r r r r ]          k  [ v v v v . . . . ]     columns group * V ... + V - 1
//      k' [ r r r r ]          k' [ v v v v . . . . ]     k = slice, slice + SLICES, ...
//           |                        |
//           +--- ROWS x V sums per thread, added over the slices in shared memory, + bias, activation
//
// Neighbouring threads read neighbouring columns, then the next rows of W, so the block reads W in one stream. V is
// 4 where the width of the layer is a multiple of 4, otherwise 2 or 1.

constexpr int kSize[] = {SIZES}, kActivation[] = {ACTIVATIONS}, kWeights[] = {WEIGHTS_AT}, kBias[] = {BIASES_AT};
constexpr int kRelu = 1, kSoftmax = 2;
constexpr int kMostSlices = 32;  // more would cost more to add up than they save

__host__ __device__ constexpr int least(int a, int b) { return a < b ? a : b; }

template <int COUNT> struct __align__(COUNT == 4 ? 16 : COUNT == 2 ? 8 : 4) Vector {
    TACC at[COUNT];
};

template <int L> struct Layer {
    static constexpr int K = kSize[L], N = kSize[L + 1], ACTIVATION = kActivation[L];
    static constexpr int V = N % 4 == 0 ? 4 : N % 2 == 0 ? 2 : 1;
    static constexpr int GROUPS = N / V;
    static constexpr int SLICES = GROUPS >= THREADS ? 1 : least(least(THREADS / GROUPS, K), kMostSlices);
};

constexpr int kInWidth = ROWS % 4 == 0 ? 4 : ROWS % 2 == 0 ? 2 : 1;

template <int V> __device__ void multiply(TACC (&sum)[ROWS][V], const TACC* in, const Vector<V>& w) {
#pragma unroll
    for (int r0 = 0; r0 < ROWS; r0 += kInWidth) {
        const Vector<kInWidth> x = *reinterpret_cast<const Vector<kInWidth>*>(in + r0);
#pragma unroll
        for (int r = 0; r < kInWidth; ++r)
#pragma unroll
            for (int v = 0; v < V; ++v) sum[r0 + r][v] += x.at[r] * w.at[v];
    }
}

// Adds up the products of one thread's k and columns and stores them to `partial`, which is SLICES x ROWS x N.
template <int L> __device__ void multiply_layer(int unit, const TACC* in, const TB* __restrict__ W, TACC* partial) {
    using S = Layer<L>;
    constexpr int V = S::V;
    const int group = unit % S::GROUPS, slice = unit / S::GROUPS;
    const TB* const w0 = W + kWeights[L] + group * V;

    TACC sum[ROWS][V] = {};
    for (int k0 = slice; k0 < S::K; k0 += S::SLICES * DEPTH) {
        Vector<V> w[DEPTH];
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            const int k = k0 + d * S::SLICES;
            w[d] = k < S::K ? *reinterpret_cast<const Vector<V>*>(w0 + size_t(k) * S::N) : Vector<V>{};
        }
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            multiply<V>(sum, in + min(k0 + d * S::SLICES, S::K - 1) * ROWS, w[d]);  // past K: zeros times any row
        }
    }

#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        Vector<V> out;
#pragma unroll
        for (int v = 0; v < V; ++v) out.at[v] = sum[r][v];
        *reinterpret_cast<Vector<V>*>(partial + (slice * ROWS + r) * S::N + group * V) = out;
    }
}

// out, N x ROWS = the sums over the slices, plus bias, then the activation (except softmax, which
// needs a whole row).
template <int L> __device__ void finish_layer(const TACC* partial, const TB* __restrict__ W, TACC* out) {
    using S = Layer<L>;
    for (int e = threadIdx.x; e < ROWS * S::N; e += THREADS) {
        const int n = e % S::N, r = e / S::N;
        TACC z = W[kBias[L] + n];
#pragma unroll 8
        for (int s = 0; s < S::SLICES; ++s) z += partial[(s * ROWS + r) * S::N + n];
        out[n * ROWS + r] = S::ACTIVATION == kRelu && z < 0 ? TACC(0) : z;  // a NaN stays
    }
}

__device__ TACC most_of_warp(TACC value) {
#pragma unroll
    for (int flip = 16; flip; flip /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, flip));
    return value;
}

__device__ TACC sum_of_warp(TACC value) {
#pragma unroll
    for (int flip = 16; flip; flip /= 2) value += __shfl_xor_sync(0xffffffffu, value, flip);
    return value;
}

// One warp per row: softmax if the network ends in one, then the store.
__device__ void store_rows(int M, int row0, TACC* z, TC* Y) {
    constexpr int N = kSize[LAYERS], WARPS = THREADS / 32, ACTIVATION = kActivation[LAYERS - 1];
    const int lane = threadIdx.x % 32;
    for (int r = threadIdx.x / 32; r < ROWS; r += WARPS) {
        TACC scale = 1;
        if (ACTIVATION == kSoftmax) {
            TACC most = -INFINITY, sum = 0;
            for (int n = lane; n < N; n += 32) most = fmaxf(most, z[n * ROWS + r]);
            most = most_of_warp(most);
            for (int n = lane; n < N; n += 32) sum += z[n * ROWS + r] = expf(z[n * ROWS + r] - most);
            scale = 1 / sum_of_warp(sum);
        }
        if (row0 + r >= M) continue;
        for (int n = lane; n < N; n += 32) Y[size_t(row0 + r) * N + n] = TC(z[n * ROWS + r] * scale);
    }
}

template <int L> __device__ TACC* forward(TACC* in, TACC* out, TACC* partial, const TB* __restrict__ W) {
    using S = Layer<L>;
    for (int unit = threadIdx.x; unit < S::GROUPS * S::SLICES; unit += THREADS)
        multiply_layer<L>(unit, in, W, partial);
    __syncthreads();
    finish_layer<L>(partial, W, out);
    __syncthreads();
    if constexpr (L + 1 == LAYERS) return out;
    else return forward<L + 1>(out, L ? in : out + ROWS * WIDEST, partial, W);  // two buffers, alternating
}

extern "C" __global__ void __launch_bounds__(THREADS)
    mlp(int M, const TA* __restrict__ X, const TB* __restrict__ W, TC* __restrict__ Y) {
    extern __shared__ float4 shared[];
    constexpr int K = kSize[0];
    TACC* const partial = reinterpret_cast<TACC*>(shared);
    TACC* const in = partial + ROWS * (4 * THREADS > WIDEST ? 4 * THREADS : WIDEST);
    TACC* const out = in + ROWS * K;

    const int row0 = blockIdx.x * ROWS;
    for (int e = threadIdx.x; e < ROWS * K; e += THREADS) {
        const int k = e % K, r = e / K;
        in[k * ROWS + r] = row0 + r < M ? TACC(X[size_t(row0 + r) * K + k]) : TACC(0);
    }
    __syncthreads();
    store_rows(M, row0, forward<0>(in, out, partial, W), Y);
}
