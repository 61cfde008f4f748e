"""Kernels run as they do on a GPU, and a kernel that is wrong there is wrong here."""

import numpy as np
import pytest

ORDERS = ("forward", "reverse")

TILED = """
SIGNATURE {
    __shared__ TA As[TILE][TILE];
    __shared__ TB Bs[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
    TACC sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0;
        Bs[ty][tx] = k0 + ty < K && column < N ? B[(k0 + ty) * N + column] : 0;
        __syncthreads();  // after the load
        for (int k = 0; k < TILE; ++k) sum += As[ty][k] * Bs[k][tx];
        __syncthreads();  // before the reuse
    }
    if (row < M && column < N) C[row * N + column] = beta == 0 ? alpha * sum : alpha * sum + beta * C[row * N + column];
}
"""

DYNAMIC = """
// This is extern, and so is: extern __shared__ float inside_a_comment[];
SIGNATURE {
    extern __shared__ __align__(sizeof(float4))
        float tile[];
    const int t = threadIdx.x;
    if (t >= N) return;  // the others are not waited for
    for (int k = 0; k < K; ++k) tile[t * K + k] = B[k * N + t];
    __syncthreads();
    TACC sum = 0;
    const int neighbour = N - 1 - t;
    for (int k = 0; k < K; ++k) sum += A[blockIdx.x * K + k] * tile[neighbour * K + k];
    C[blockIdx.x * N + neighbour] = sum;
}
"""

# Shared memory that nobody writes, in a template, in a class and in both forms of alignment.
UNWRITTEN = """
template <int COUNT> __device__ __forceinline__ float inner(int i) {
    __shared__ alignas(32) float unwritten[COUNT];
    return unwritten[i];
}
struct Holder {
    __device__ float outer(int i) {
        __shared__ float unwritten[2];
        return unwritten[i];
    }
};
SIGNATURE {
    extern __shared__ alignas(128) float dynamic[];
    __align__(16) __shared__ float unwritten[4];
    const int i = threadIdx.x;
    C[i] = i == 0 ? inner<8>(7) : i == 1 ? Holder().outer(1) : i == 2 ? dynamic[15] : unwritten[3];
}
"""

HOST = """
#include <cstddef>
static float unwritten[4];  // zeros: nothing here is shared memory
extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    for (size_t i = 0; i < size_t(M) * N; ++i) {
        TACC sum = unwritten[i % 4]++;
        unwritten[i % 4] = 0;
        for (int k = 0; k < K; ++k) sum += A[i / N * K + k] * B[k * N + i % N];
        C[i] = alpha * sum + (beta == 0 ? 0 : beta * C[i]);
    }
}
"""


ATOMICS = """
SIGNATURE {
    const int number = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&C[0], 1.0f);
    atomicAdd(reinterpret_cast<int*>(C + 1), 1);
    atomicMax(reinterpret_cast<unsigned*>(C + 2), number);
    atomicInc(reinterpret_cast<unsigned*>(C + 3), 999);
    int* const highest = reinterpret_cast<int*>(C + 4);
    for (int seen = *highest, expected; (expected = seen) < number;) seen = atomicCAS(highest, expected, number);
    if (number % 1000 == 0) atomicOr(reinterpret_cast<unsigned*>(C + 5), 1u << number / 1000);
}
"""


def tiled(bench, size, text=TILED, tile=16):
    m, n, _ = size
    return bench.plan(text, size, (-(-n // tile), -(-m // tile)), (tile, tile), TILE=tile)


@pytest.mark.parametrize("mode", ["", *ORDERS])
@pytest.mark.parametrize("size", [(1, 1, 1), (17, 17, 17), (127, 65, 33)])
def test_a_kernel_with_shared_tiles_is_exact(bench, size, mode):
    a, b, _, product = bench.operands(*size)
    np.testing.assert_array_equal(bench.run(tiled(bench, size), a, b, mode=mode), product)


@pytest.mark.parametrize("barrier", ["__syncthreads();  // after the load", "__syncthreads();  // before the reuse"])
def test_a_missing_barrier_is_seen_in_one_of_the_orders(bench, barrier):
    assert barrier in TILED
    a, b, _, product = bench.operands(40, 40, 40)
    plan = tiled(bench, (40, 40, 40), TILED.replace(barrier, ""))
    assert any((bench.run(plan, a, b, mode=mode) != product).any() for mode in ORDERS)


@pytest.mark.parametrize("mode", ORDERS)
def test_dynamic_shared_memory_and_threads_that_return_before_a_barrier(bench, mode):
    a, b, _, product = bench.operands(5, 37, 6)
    plan = bench.plan(DYNAMIC, (5, 37, 6), grid=(5,), block=(64,), shared=37 * 6 * 4)
    np.testing.assert_array_equal(bench.run(plan, a, b, mode=mode), product)


@pytest.mark.parametrize("mode", ORDERS)
def test_shared_memory_is_nan_when_a_block_begins(bench, mode):
    plan = bench.plan(UNWRITTEN, (1, 4, 1), block=(4,), shared=64)
    assert np.isnan(bench.run(plan, c=np.zeros((1, 4), np.float32), mode=mode)).all()


def test_launches_take_the_sets_in_turn_across_windows(bench):
    plan = bench.plan("SIGNATURE { C[0] += 1; }", beta=1.0)
    one = np.zeros((1, 1), np.float32)
    executable, results = bench.bind(plan, one, one, [one] * 3)
    executable.time(2)
    assert [float(c[0, 0]) for c in results] == [1, 1, 0]
    executable.time(2)
    assert [float(c[0, 0]) for c in results] == [2, 1, 1]


def test_every_block_of_a_three_dimensional_grid_runs_once_and_knows_where_it_is(bench):
    text = """SIGNATURE {
        const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
        const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
        C[block * N + thread] += 1000 * blockIdx.z + 100 * threadIdx.z + thread;
    }"""
    plan = bench.plan(text, (24, 24, 1), grid=(2, 3, 4), block=(4, 3, 2), beta=1.0)
    z, thread = np.arange(24)[:, None] // 6, np.arange(24)[None, :]
    expected = 1000 * z + 100 * (thread // 12) + thread
    np.testing.assert_array_equal(bench.run(plan, c=np.zeros((24, 24), np.float32)), expected)


@pytest.mark.parametrize("mode", ["", *ORDERS])
def test_a_host_function_is_called_once_a_launch(bench, mode):
    a, b, c, product = bench.operands(5, 3, 7)
    plan = bench.plan(HOST, (5, 3, 7), beta=2.0, kind="host")
    np.testing.assert_array_equal(bench.run(plan, a, b, c, mode), product + 2 * c)


def test_atomic_functions_lose_nothing_between_blocks(bench):
    plan = bench.plan(ATOMICS, (1, 6, 1), grid=(300,), block=(64,), beta=1.0)
    result, count = bench.run(plan, c=np.zeros((1, 6), np.float32))[0], 300 * 64
    assert result[0] == count
    assert result.view(np.uint32)[1:].tolist() == [count, count - 1, count % 1000, count - 1, (1 << 20) - 1]


def test_the_usual_words_are_there(bench):
    text = """
    #include <cuda_runtime.h>
    #include <algorithm>
    __constant__ float table[2] = {1, 2};
    __host__ __device__ __noinline__ constexpr int twice(int x) { return 2 * x; }
    SIGNATURE {
        const float4 v = *reinterpret_cast<const float4*>(A);
        float2 pair = make_float2(__ldg(&A[1]), __int_as_float(__float_as_int(v.z)));
        C[0] = v.x + pair.x + pair.y + v.w + table[1] + twice(3) + std::max(1, 2);
        C[1] = fmaf(2, 3, __fadd_rn(1, 1)) + min(3, 4u) + max(1.5f, 2) + fminf(NAN, 4);
        C[2] = sizeof(float3) + alignof(double2) + alignof(short4) + warpSize + __popc(7);
        C[3] = __fmul_rn(1 + 0x1p-12f, 1 + 0x1p-12f) - (1 + 0x1p-11f);
    }"""
    result = bench.run(bench.plan(text, (1, 4, 4)), a=np.array([[1, 2, 3, 4]], np.float32))
    expected = [10 + 2 + 6 + 2, 8 + 3 + 2 + 4, 12 + 16 + 8 + 32 + 3, 0]
    np.testing.assert_array_equal(result, [expected])
