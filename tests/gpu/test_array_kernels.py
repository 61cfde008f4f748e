"""Scaling, comparing and checksums on a GPU: the same answers as on the host."""

import numpy as np
import pytest

from gemmbench.backends.base import Range, ScaledArray
from gemmbench.backends.fake.backend import FakeMemory
from gemmbench.planning.precisions import BFLOAT16, E4M3, E5M2, FLOAT16, FLOAT32, FLOAT64, INT8, INT32

TYPES = [FLOAT32, FLOAT64, FLOAT16, BFLOAT16, E4M3, E5M2, INT8, INT32]
COUNT, STEP = 300_001, 1 << 22
"""Elements of an array, and bytes from one array to the next."""


@pytest.fixture
def memories(backend):
    """The same bytes on the GPU and on the host."""
    there, here = backend.allocate(3 * STEP), FakeMemory(3 * STEP)
    yield there, here
    there.free()


def fill(memories, kind, seed=0):
    """Values of all sizes, subnormal ones, zeros and NaN among them."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(COUNT) * kind.smallest_normal ** rng.random(COUNT)
    values[rng.integers(0, COUNT, 1000)] = 0
    values[rng.integers(0, COUNT, 1000)] = 3 * kind.subnormal_step
    values[rng.integers(0, COUNT, 10)] = np.nan
    if kind.is_integer:  # as they are timed, times 4 at most
        values = rng.integers(-(2 ** (kind.significand - 2)) + 1, 2 ** (kind.significand - 2), COUNT)
    for memory in memories:
        memory.write(0, values.astype(kind.numpy_type()))


def read(memory, at, kind):
    found = np.empty(COUNT, kind.numpy_type())
    memory.read(at, found)
    return found


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
def test_a_gpu_scales_as_the_host_does(memories, kind):
    fill(memories, kind)
    pairs = [ScaledArray(0, STEP, -2), ScaledArray(0, 2 * STEP, 4)]
    for memory in memories:
        memory.scale(pairs, kind, COUNT)
    for at in (STEP, 2 * STEP):
        found = [read(memory, at, kind).astype(np.float64) for memory in memories]  # NaN equals no other bfloat16
        np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("count", [1, 3, 5000])
@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
def test_a_gpu_changes_the_sign_of_single_elements(memories, kind, count):
    fill(memories, kind)
    offsets = np.random.default_rng(1).permutation(COUNT)[:count] * kind.nbytes(1)
    for memory in memories:
        memory.negate(offsets, kind)
    found = [read(memory, 0, kind).astype(np.float64) for memory in memories]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
def test_a_gpu_counts_what_the_host_counts(memories, kind):
    there, here = memories
    fill(memories, kind)
    pairs = [ScaledArray(0, STEP, -2), ScaledArray(0, 2 * STEP, 1)]
    for memory in memories:
        memory.scale(pairs, kind, COUNT)
    changed = read(here, STEP, kind)
    changed[::1000] = np.nextafter(changed[::1000].astype(np.float64), 1).astype(kind.numpy_type())
    changed[7::999] = 1
    changed[::7] += changed.dtype.type(kind.subnormal_step)
    for memory in memories:
        memory.write(STEP, changed)
    counts = here.count_unlike(pairs, kind, COUNT)
    assert there.count_unlike(pairs, kind, COUNT) == counts
    assert counts[0] > 300 and counts[1] <= 10  # the second pair differs in nothing but NaN


@pytest.mark.parametrize("count", [1, 2, 31, 255, 256, 257])
def test_no_element_of_a_short_array_is_left_out(memories, count):
    there, _ = memories
    for index in range(count):
        there.fill(0, 2 * STEP, 0)
        there.write(STEP + 4 * index, np.ones(1, np.float32))
        assert there.count_unlike([ScaledArray(0, STEP, 1)], FLOAT32, count) == [1]


@pytest.mark.parametrize(("start", "end"), [(0, 1), (3, 5), (5, 8), (1, 17), (8, 64), (13, 4099), (1024, STEP)])
def test_a_checksum_changes_with_any_byte_inside_and_none_outside(memories, start, end):
    there, _ = memories
    there.fill(0, STEP, 0xA5)
    before = there.checksums([Range(start, end), Range(2 * STEP, 2 * STEP + 9)])
    for at in {start, min(start + 1, end - 1), (start + end) // 2, end - 1}:
        there.fill(at, 1, 0)
        assert there.checksums([Range(start, end)])[0] != before[0], at
        there.fill(at, 1, 0xA5)
    for at in {max(start - 1, 0), end} - {start}:
        there.fill(at, 1, 0)
    assert there.checksums([Range(start, end), Range(2 * STEP, 2 * STEP + 9)]) == before


def test_a_checksum_changes_with_the_order(memories):
    there, _ = memories
    sums = []
    for values in ([1, 2], [2, 1]):
        there.write(0, np.array(values, np.float64))
        sums += there.checksums([Range(0, 16)])
    assert sums[0] != sums[1]


def test_a_range_outside_the_memory_is_refused(memories):
    there, _ = memories
    with pytest.raises(ValueError, match="outside an allocation"):
        there.count_unlike([ScaledArray(0, 3 * STEP - 4, 1)], FLOAT32, 2)
    with pytest.raises(ValueError, match="outside an allocation"):
        there.checksums([Range(0, 3 * STEP + 1)])
    with pytest.raises(ValueError, match="outside an allocation"):
        there.negate(np.array([0, 3 * STEP]), FLOAT32)
