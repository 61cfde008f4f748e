"""Barriers and shuffles inside a warp."""

import numpy as np
import pytest

from gemmbench.errors import LaunchError

MODES = ("forward", "reverse")

SHUFFLES = """
SIGNATURE {
    const unsigned all = 0xffffffff;
    const int t = threadIdx.x;
    const float mine = A[t];
    C[0 * N + t] = __shfl_sync(all, mine, t + 5, 8);
    C[1 * N + t] = __shfl_up_sync(all, mine, 3);
    C[2 * N + t] = __shfl_down_sync(all, mine, 3, 16);
    C[3 * N + t] = __shfl_xor_sync(all, double(mine), 5);
    C[4 * N + t] = t % 32 < 16 ? __shfl_sync(0xffff, mine, 1) : mine;
    C[5 * N + t] = __popc(__ballot_sync(all, mine < 10));
    C[6 * N + t] = __any_sync(all, mine == 3) + 2 * __all_sync(all, mine < 32);
}
"""

# Each warp sums its numbers a number of times that depends on the warp; no barrier of the block between.
REDUCTION = """
SIGNATURE {
    __shared__ float tree[96];
    const int t = threadIdx.x, lane = t % 32;
    float sum = 0;
    for (int round = 0; round <= t / 32; ++round) {
        tree[t] = A[t];
        __syncwarp();
        for (int half = 16; half > 0; half /= 2) {
            if (lane < half) tree[t] += tree[t + half];
            __syncwarp();
        }
        sum += tree[t - lane];
        __syncwarp();
    }
    __syncthreads();
    tree[t] = sum;
    __syncthreads();
    C[t] = tree[95 - t];
}
"""

# Lanes 16 and above return; the others go on to shuffle and meet at a barrier of the block.
EARLY = """
SIGNATURE {
    const int t = threadIdx.x, lane = t % 32;
    C[t] = -1;
    if (lane >= 16) return;
    float sum = lane;
    for (int step = 8; step > 0; step /= 2) sum += __shfl_xor_sync(0xffff, sum, step);
    __syncthreads();
    __syncwarp();
    C[t] = sum;
}
"""


@pytest.mark.parametrize("mode", MODES)
def test_shuffles(bench, mode):
    t = np.arange(64)
    a = t.astype(np.float32)[None, :] % 32
    lane = t % 32
    expected = [
        t // 8 * 8 % 32 + (t + 5) % 8,
        np.where(lane >= 3, lane - 3, lane),
        np.where(lane % 16 < 13, lane + 3, lane),
        lane ^ 5,
        np.where(lane < 16, 1, lane),
        np.full(64, 10),
        np.full(64, 3),
    ]
    result = bench.run(bench.plan(SHUFFLES, (7, 64, 64), block=(64,)), a=np.repeat(a, 7, 0), mode=mode)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("mode", MODES)
def test_warps_synchronise_on_their_own(bench, mode):
    a = np.random.default_rng(1).integers(0, 9, (1, 96)).astype(np.float32)
    sums = np.repeat(a.reshape(3, 32).sum(1) * [1, 2, 3], 32)
    result = bench.run(bench.plan(REDUCTION, (1, 96, 96), block=(96,)), a=a, mode=mode)
    np.testing.assert_array_equal(result[0], sums[::-1])


@pytest.mark.parametrize("threads", [16, 48, 64])
@pytest.mark.parametrize("mode", MODES)
def test_lanes_that_returned_are_not_waited_for(bench, mode, threads):
    result = bench.run(bench.plan(EARLY, (1, threads, 1), block=(threads,)), mode=mode)
    np.testing.assert_array_equal(result[0], np.where(np.arange(threads) % 32 < 16, 120, -1))


def test_threads_at_different_barriers_are_a_fault(bench):
    text = "SIGNATURE { if (threadIdx.x == 0) __syncthreads(); else __syncwarp(); C[0] = 1; }"
    with pytest.raises(LaunchError, match=r"block \(0, 0, 0\) wait at different barriers: 1 of 32 at __syncthreads"):
        bench.run(bench.plan(text, block=(32,)))
