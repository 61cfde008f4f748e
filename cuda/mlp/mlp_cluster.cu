/*---
summary: a whole network in one kernel, a cluster of blocks for each ROWS rows of the batch
order: 910
computes: mlp
symbol: mlp
precisions: [f32]
layouts: [nn]                   # weights are inputs x outputs
min_sm: 90
params:
  ROWS: [16, 8, 32]             # of the batch per cluster
  CLUSTER: [4, 8]               # blocks per cluster
  THREADS: [256, 512, 384]
  TM: [8, 4, 2]                 # rows of sums per thread in the first layer
  DEPTH: [20, 10, 5]            # weights of the first layer that a thread requests before it needs the first
  FETCH: [1, 2, 0]              # later weights: 1 a bulk copy per block, 2 one per cluster (multicast), 0 on demand
let:                            # floats of shared memory
  part_of_x: (cdiv(IN, CLUSTER) + 32) * (ROWS + 4)
  partial_sums: max(4 * TM * THREADS, ROWS // CLUSTER * max(4 * THREADS, WIDEST))
  hidden: ROWS * FIRST + 2 * ROWS // CLUSTER * WIDEST
require:
  - ROWS % CLUSTER == 0         # each block finishes whole rows
  - ROWS % TM == 0
  - ROWS % 4 == 0
  - THREADS // 32 % (ROWS // 4) == 0
  - FIRST // (4 if FIRST % 4 == 0 else 2 if FIRST % 2 == 0 else 1) * (ROWS // TM) <= THREADS
  - TM * THREADS <= 4096        # the sums fit the registers
grid:
  - cdiv(M, ROWS) * CLUSTER
block:
  - THREADS
shared: 4 * ((REST if FETCH else 0) + part_of_x + partial_sums + hidden + 4)
source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#thread-block-clusters
---*/

// Compared with mlp_fused: there, every block reads all first-layer weights, which is nearly all of the
// traffic, just for its few rows. Here CLUSTER blocks share ROWS rows. Each multiplies its own part of
// K, so it reads only that part of W1 and of X, and the partial sums are exchanged once, through
// distributed shared memory. From then on each block has ROWS / CLUSTER whole rows and carries them to
// the output by itself. The weights of later layers are already in shared memory, because they were
// requested at the start.
//
//         block 0   block 1  ...             rows of the cluster
//    X  [  k0 ..  |  k1 ..  |  ...  ]        ROWS x K
//    W1 [  k0 ..  ]  k1 ..                   each block: ROWS x N sums over its k
//                                                 |
//         all to all, once: block b takes rows b * ROWS / CLUSTER ... of everyone's sums
//                                                 |
//         layer 2, 3, ..., softmax: within the block
//
// All memory requests are issued at once: X (cp.async, transposed to K x ROWS on the way), the first DEPTH weights of
// every thread (to registers), and the later layers (one bulk copy).
//
// Bound by a series of latencies: the launch, one trip to memory, the sums of layer 1 (half of all
// FFMA time at ROWS = 16), the exchange, and two short layers.

constexpr int kSize[] = {SIZES}, kActivation[] = {ACTIVATIONS}, kWeights[] = {WEIGHTS_AT}, kBias[] = {BIASES_AT};
constexpr int kRelu = 1, kSoftmax = 2;
constexpr int kMostSlices = 32;  // more would cost more to add up than they save

__host__ __device__ constexpr int least(int a, int b) { return a < b ? a : b; }
__host__ __device__ constexpr int most(int a, int b) { return a < b ? b : a; }
__host__ __device__ constexpr int up(int n, int grain) { return (n + grain - 1) / grain * grain; }
// At most `limit` slices of K. They have equal length if that leaves more than half as many.
__host__ __device__ constexpr int slices(int K, int limit) {
    for (int s = least(K, limit); 2 * s > least(K, limit); --s)
        if (K % s == 0) return s;
    return least(K, limit);
}
__host__ __device__ constexpr int width(int n) { return n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : 1; }  // of a vector that divides n

template <int COUNT> struct __align__(4 * COUNT) Vector {
    float at[COUNT];
};

constexpr int kOwn = ROWS / CLUSTER;  // rows that a block finishes
constexpr int kPitch = ROWS + 4;      // of X in shared memory: cp.async stores it without bank conflicts

struct First {
    static constexpr int K = kSize[0], N = kSize[1], V = width(N), GROUPS = N / V, TILES = ROWS / TM * GROUPS;
    static constexpr int ACTIVATION = kActivation[0];
    static constexpr int DEEP = (K + CLUSTER - 1) / CLUSTER;  // the k of a block
    static constexpr int SLICES = least(least(THREADS / TILES, DEEP), kMostSlices);
    static constexpr int STEPS = (DEEP + SLICES - 1) / SLICES;  // the k of a thread
    static constexpr int PADDED = STEPS * SLICES;               // at most DEEP + kMostSlices - 1
};

template <int L> struct Later {
    static constexpr int K = kSize[L], N = kSize[L + 1], V = width(N), GROUPS = N / V, ACTIVATION = kActivation[L];
    static constexpr int SLICES = GROUPS >= THREADS ? 1 : slices(K, least(THREADS / GROUPS, kMostSlices));
    static constexpr int STEPS = (K + SLICES - 1) / SLICES;
};

// Offsets in shared memory, in floats. Every part begins at a multiple of 16 bytes.
constexpr int kRestAt = 0;  // biases and weights after W1, in the order in which they lie in memory
constexpr int kXAt = kRestAt + (FETCH ? REST : 0);
constexpr int kPartialAt = kXAt + (First::DEEP + kMostSlices) * kPitch;
constexpr int kGatheredAt = kPartialAt + most(4 * TM * THREADS, up(kOwn * most(4 * THREADS, WIDEST), 4));
constexpr int kHiddenAt = kGatheredAt + ROWS * First::N;

__device__ unsigned address(const void* shared) { return unsigned(__cvta_generic_to_shared(shared)); }

__device__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
__device__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__device__ unsigned cluster_rank() {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// The mbarrier of a block counts the bytes that arrive there: its later weights, and the sums from
// all blocks of the cluster.

__device__ void initialize(unsigned barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ void expect(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ void await(unsigned barrier) {
    unsigned done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier)
                     : "memory");
    } while (!done);
}

__device__ unsigned in_block(unsigned here, unsigned rank) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
    return there;
}

// Store to the shared memory of block `rank`, at the address that `place` has here, and signal its
// mbarrier.
template <int V> __device__ void send(float* place, unsigned rank, const Vector<V>& value, unsigned barrier) {
    const unsigned to = in_block(address(place), rank), tell = in_block(barrier, rank);
    const float* v = value.at;
    if constexpr (V == 4)
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
                     "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]), "r"(tell)
                     : "memory");
    else if constexpr (V == 2)
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(to),
                     "f"(v[0]), "f"(v[1]), "r"(tell)
                     : "memory");
    else
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(to), "f"(v[0]),
                     "r"(tell)
                     : "memory");
}

__device__ void fetch(float* to, const float* from, unsigned bytes, unsigned barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     address(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
                 : "memory");
}

// The same for all blocks of the cluster, at the same address in each; each block's mbarrier counts
// it.
__device__ void fetch_for_all(float* to, const float* from, unsigned bytes, unsigned barrier) {
    const unsigned short everyone = (1 << CLUSTER) - 1;
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(
            address(to)),
        "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier), "h"(everyone)
        : "memory");
}

// A load that stays where it is written in the source. The compiler would move a load of constant data (nc) past the
// barrier, down to its use.
template <int V> __device__ Vector<V> load_now(size_t place) {
    Vector<V> w;
    float* v = w.at;
    if constexpr (V == 4)
        asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
                     : "l"(place));
    else if constexpr (V == 2)
        asm volatile("ld.global.v2.f32 {%0, %1}, [%2];" : "=f"(v[0]), "=f"(v[1]) : "l"(place));
    else
        asm volatile("ld.global.f32 %0, [%1];" : "=f"(v[0]) : "l"(place));
    return w;
}

// Distribute COUNT items over the threads.
template <int COUNT, class Work> __device__ void each(const Work& work) {
    constexpr int ROUNDS = (COUNT + THREADS - 1) / THREADS;
#pragma unroll 8
    for (int round = 0; round < ROUNDS; ++round) {
        const int item = threadIdx.x + round * THREADS;
        if (COUNT % THREADS == 0 || item < COUNT) work(item);
    }
}

// Request X for this block's rows and k, as PADDED x kPitch, with zeros beyond the batch and beyond
// K. A warp takes 8 k of 4 rows, so it reads whole sectors and stores to 32 banks.
__device__ void request_x(float* xs, const float* __restrict__ X, int M, int row0, int k0) {
    constexpr int GROUPS = ROWS / 4, STRIDE = THREADS / 32 / GROUPS * 8;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int r = warp % GROUPS * 4 + lane / 8, k = warp / GROUPS * 8 + lane % 8;
    const int left = row0 + r < M ? min(First::DEEP, First::K - k0) - k : 0;
    const size_t from = __cvta_generic_to_global(X + ptrdiff_t(row0 + r) * First::K + k0 + k);
    const unsigned to = address(xs + k * kPitch + r);
#pragma unroll
    for (int ahead = 0; ahead < First::PADDED; ahead += STRIDE) {
        if (ahead + STRIDE > First::PADDED && k + ahead >= First::PADDED) break;
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to + 4 * kPitch * ahead),
                     "l"(from + 4 * ahead), "r"(ahead < left ? 4 : 0)
                     : "memory");
    }
}

template <int COUNT, int V>
__device__ void multiply(float (&sum)[COUNT][V], const float* in, const Vector<V>& w) {
    constexpr int WIDE = width(COUNT);
#pragma unroll
    for (int r0 = 0; r0 < COUNT; r0 += WIDE) {
        const Vector<WIDE> x = *reinterpret_cast<const Vector<WIDE>*>(in + r0);
#pragma unroll
        for (int r = 0; r < WIDE; ++r)
#pragma unroll
            for (int v = 0; v < V; ++v) sum[r0 + r][v] += x.at[r] * w.at[v];
    }
}

// Store the sums of one thread as rows of SLICES x ROWS_ x N, from row `r0` on.
template <int ROWS_, int N, int COUNT, int V>
__device__ void keep(float* partial, const float (&sum)[COUNT][V], int slice, int r0, int group) {
#pragma unroll
    for (int r = 0; r < COUNT; ++r) {
        Vector<V> out;
#pragma unroll
        for (int v = 0; v < V; ++v) out.at[v] = sum[r][v];
        *reinterpret_cast<Vector<V>*>(partial + (slice * ROWS_ + r0 + r) * N + group * V) = out;
    }
}

__device__ float after(int activation, float z) { return activation == kRelu && z < 0 ? 0.0f : z; }  // a NaN stays

// Compute the later layers for the block's own rows: in is K x kOwn, out is N x kOwn.
template <int L> __device__ float* forward(float* in, float* out, float* partial, const float* __restrict__ parameters) {
    if constexpr (L == LAYERS) {
        return in;
    } else {
        using S = Later<L>;
        each<S::GROUPS * S::SLICES>([=](int unit) {
            const int group = unit % S::GROUPS, slice = unit / S::GROUPS;
            const float* const w = parameters + kWeights[L] + group * S::V;
            float sum[kOwn][S::V] = {};
#pragma unroll 16
            for (int step = 0; step < S::STEPS; ++step) {
                const int k = slice + step * S::SLICES;
                if (S::K % S::SLICES && k >= S::K) break;
                multiply(sum, in + k * kOwn, *reinterpret_cast<const Vector<S::V>*>(w + k * S::N));
            }
            keep<kOwn, S::N>(partial, sum, slice, 0, group);
        });
        __syncthreads();
        each<kOwn * S::N>([=](int e) {
            const int n = e % S::N, r = e / S::N;
            float z = parameters[kBias[L] + n];
#pragma unroll
            for (int s = 0; s < S::SLICES; ++s) z += partial[(s * kOwn + r) * S::N + n];
            out[n * kOwn + r] = after(S::ACTIVATION, z);
        });
        __syncthreads();
        return forward<L + 1>(out, in, partial, parameters);
    }
}

__device__ float most_of_warp(float value) {
#pragma unroll
    for (int flip = 16; flip; flip /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, flip));
    return value;
}

__device__ float sum_of_warp(float value) {
#pragma unroll
    for (int flip = 16; flip; flip /= 2) value += __shfl_xor_sync(0xffffffffu, value, flip);
    return value;
}

// One warp per row: softmax if the network ends in one, then the store.
__device__ void store_rows(int M, int row0, float* z, float* Y) {
    constexpr int N = kSize[LAYERS], WARPS = THREADS / 32, ACTIVATION = kActivation[LAYERS - 1];
    const int lane = threadIdx.x % 32;
    for (int r = threadIdx.x / 32; r < kOwn; r += WARPS) {
        float scale = 1;
        if (ACTIVATION == kSoftmax) {
            float top = -INFINITY, sum = 0;
            for (int n = lane; n < N; n += 32) top = fmaxf(top, z[n * kOwn + r]);
            top = most_of_warp(top);
            for (int n = lane; n < N; n += 32) sum += z[n * kOwn + r] = expf(z[n * kOwn + r] - top);
            scale = 1 / sum_of_warp(sum);
        }
        if (row0 + r >= M) continue;
        for (int n = lane; n < N; n += 32) Y[size_t(row0 + r) * N + n] = z[n * kOwn + r] * scale;
    }
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS)
    mlp(int M, const TA* __restrict__ X, const TB* __restrict__ W, TC* __restrict__ Y) {
    extern __shared__ float4 shared[];
    __shared__ unsigned long long arrivals;
    float* const rest = reinterpret_cast<float*>(shared) + kRestAt;
    float* const xs = reinterpret_cast<float*>(shared) + kXAt;
    float* const partial = reinterpret_cast<float*>(shared) + kPartialAt;
    float* const gathered = reinterpret_cast<float*>(shared) + kGatheredAt;
    float* const hidden = reinterpret_cast<float*>(shared) + kHiddenAt;

    using S = First;
    constexpr int V = S::V;
    const int t = threadIdx.x, rank = cluster_rank(), row0 = blockIdx.x / CLUSTER * ROWS, k0 = rank * S::DEEP;
    const unsigned barrier = address(&arrivals);

    // A thread's tile: neighbouring lanes take the row groups of the same columns, then the next columns.
    const int rows = t % (ROWS / TM) * TM, group = t % S::TILES / (ROWS / TM);
    const bool works = t / S::TILES < S::SLICES;
    const int slice = works ? t / S::TILES : 0, left = works ? min(S::DEEP, S::K - k0) - slice : 0;
    const size_t w0 = __cvta_generic_to_global(W + kWeights[0] + ptrdiff_t(k0 + slice) * S::N + group * V);
    const auto load = [=](int step) {
        Vector<V> w = {};
        if (step * S::SLICES < left) w = load_now<V>(w0 + step * (4 * S::SLICES * S::N));
        return w;
    };
    Vector<V> w[DEPTH];
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) w[d] = load(d);
    request_x(xs, X, M, row0, k0);
    asm volatile("cp.async.commit_group;" ::: "memory");

    const float* const source = W + kBias[0];  // of `rest`
    if (t == 0) {
        initialize(barrier);
        if (FETCH == 1) fetch(rest, source, 4 * REST, barrier);
    }
    __syncwarp();
    cluster_arrive();  // this block runs, and its mbarrier is initialized
    if (FETCH == 2 && t < 32) {
        cluster_wait();
        constexpr int PIECE = up(REST / 4, CLUSTER) / CLUSTER * 4;  // floats, in multiples of 16 bytes
        const int from = rank * PIECE, count = min(PIECE, REST - from);
        if (t == 0 && count > 0) fetch_for_all(rest + from, source + from, 4 * count, barrier);
        __syncwarp();
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    // Bytes that arrived earlier count too, because the phase stays open until this arrival.
    if (t == 0) expect(barrier, (FETCH ? 4 * REST : 0) + 4 * CLUSTER * kOwn * S::N);

    float sum[TM][V] = {};
#pragma unroll
    for (int step = 0; step < S::STEPS; step += DEPTH) {
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            if (step + d >= S::STEPS) break;
            const Vector<V> now = w[d];
            if (step + d + DEPTH < S::STEPS) w[d] = load(step + d + DEPTH);
            multiply(sum, xs + (slice + (step + d) * S::SLICES) * kPitch + rows, now);
        }
    }
    if (works) keep<ROWS, S::N>(partial, sum, slice, rows, group);
    __syncthreads();

    // Send the sums over the slices to the block that finishes their row.
    if (FETCH != 2 || t >= 32) cluster_wait();  // all blocks run, and their mbarriers are initialized
    each<ROWS * S::GROUPS>([=](int e) {
        const int n = e % S::GROUPS * V, r = e / S::GROUPS;
        Vector<V> total = {};
#pragma unroll
        for (int s = 0; s < S::SLICES; ++s) {
            const Vector<V> part = *reinterpret_cast<const Vector<V>*>(partial + (s * ROWS + r) * S::N + n);
#pragma unroll
            for (int v = 0; v < V; ++v) total.at[v] += part.at[v];
        }
        send(gathered + (rank * kOwn + r % kOwn) * S::N + n, r / kOwn, total, barrier);
    });
    await(barrier);  // nothing more is sent to this block, so it may exit at any time
    __syncthreads();  // before `partial` is used again

    const float* const parameters = FETCH ? rest - kBias[0] : W;
    each<kOwn * S::N>([=](int e) {
        const int n = e % S::N, r = e / S::N;
        float z = parameters[kBias[0] + n];
#pragma unroll
        for (int b = 0; b < CLUSTER; ++b) z += gathered[(b * kOwn + r) * S::N + n];
        hidden[n * kOwn + r] = after(S::ACTIVATION, z);
    });
    __syncthreads();
    store_rows(M, row0 + rank * kOwn, forward<1>(hidden, hidden + kOwn * WIDEST, partial, parameters), Y);
}
