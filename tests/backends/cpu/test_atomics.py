"""Atomic functions hold between blocks, which run in different processes."""

import numpy as np

COUNTS = """
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


def test_nothing_is_lost_between_blocks(bench):
    plan = bench.plan(COUNTS, (1, 6, 1), grid=(300,), block=(64,), beta=1.0)
    result = bench.run(plan, c=np.zeros((1, 6), np.float32))[0]
    count = 300 * 64
    words = result.view(np.uint32)
    assert result[0] == count
    assert words[1] == count
    assert words[2] == count - 1
    assert words[3] == count % 1000
    assert words[4] == count - 1
    assert words[5] == (1 << 20) - 1
