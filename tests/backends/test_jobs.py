"""Scaling, comparing and checksums of operands in the host's memory."""

import numpy as np
import pytest

from gemmbench.backends.base import Range, ScaledArray
from gemmbench.backends.fake.backend import FakeMemory
from gemmbench.planning.precisions import BFLOAT16, E4M3, FLOAT16, FLOAT32, FLOAT64, INT8, INT32

TYPES = [FLOAT32, FLOAT64, FLOAT16, BFLOAT16, E4M3]
KINDS = pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
COUNT = 37
OTHER = 4096


@pytest.fixture
def memory():
    """Two arrays of each type fit: one at 0 and one at OTHER."""
    return FakeMemory(2 * OTHER)


def write(memory, kind, at, values):
    memory.write(at, np.asarray(values, np.float64).astype(kind.numpy_type()))


def unlike(memory, kind, factor, count=COUNT):
    return memory.count_unlike([ScaledArray(0, OTHER, factor)], kind, count)


@pytest.mark.parametrize("factor", [1, -1, 2, -2, -4, 0.5])
@KINDS
def test_a_scaled_array_is_like_its_source(memory, kind, factor):
    write(memory, kind, 0, np.linspace(-1, 1, COUNT))
    memory.scale([ScaledArray(0, OTHER, factor)], kind, COUNT)
    assert unlike(memory, kind, factor) == [0]
    assert unlike(memory, kind, -factor) == [COUNT - 1]  # all but the zero in the middle
    source, target = (memory.array(at, (COUNT,), kind.numpy_type()).astype(float) for at in (0, OTHER))
    assert (target == source * factor).all()


@pytest.mark.parametrize("kind", [INT8, INT32], ids=lambda kind: kind.name)
def test_integers_are_scaled_and_compared_exactly_and_back(memory, kind):
    numbers = np.append(np.arange(COUNT - 1) - 18, 2 ** (kind.significand - 2) - 1)
    write(memory, kind, 0, numbers)
    memory.scale([ScaledArray(0, OTHER, -4)], kind, COUNT)
    assert unlike(memory, kind, -4) == [0] and unlike(memory, kind, -2) == [COUNT - 1]
    memory.array(OTHER, (COUNT,), kind.numpy_type())[-1] += 1
    assert unlike(memory, kind, -4) == [1]
    memory.array(OTHER, (COUNT,), kind.numpy_type())[-1] -= 1
    memory.scale([ScaledArray(OTHER, OTHER, -0.25)], kind, COUNT)
    assert (memory.array(OTHER, (COUNT,), kind.numpy_type()) == numbers).all()


def test_an_array_may_be_scaled_in_place(memory):
    write(memory, FLOAT32, 0, np.arange(COUNT))
    memory.scale([ScaledArray(0, 0, -2)], FLOAT32, COUNT)
    assert (memory.array(0, (COUNT,), "f4") == -2.0 * np.arange(COUNT)).all()


@KINDS
def test_nan_is_unlike_anything_and_zeros_of_both_signs_are_alike(memory, kind):
    write(memory, kind, 0, [np.nan, 1, np.nan, 0.0, -0.0])
    write(memory, kind, OTHER, [np.nan, np.nan, 1, -0.0, -0.0])
    assert unlike(memory, kind, 1, 5) == [3]


@KINDS
def test_one_step_is_allowed_below_the_smallest_normal_number_only(memory, kind):
    normal, step = kind.smallest_normal, kind.subnormal_step
    write(memory, kind, 0, [normal - step, 3 * step, 3 * step, normal])
    write(memory, kind, OTHER, [normal, 4 * step, 5 * step, normal + step])
    assert [unlike(memory, kind, 1, count) for count in (1, 2, 3, 4)] == [[0], [0], [1], [2]]


@KINDS
def test_a_multiple_may_be_normal_where_its_source_was_rounded_below_that(memory, kind):
    exact = 0.625 * kind.smallest_normal + kind.subnormal_step / 4  # as a sum in float64; twice it is normal
    write(memory, kind, 0, [exact])
    write(memory, kind, OTHER, [2 * exact + kind.subnormal_step / 4])
    assert unlike(memory, kind, 1, 1) == [1]
    assert unlike(memory, kind, 2, 1) == [0]


def test_the_limits_of_a_type_are_those_of_its_format():
    assert (FLOAT16.smallest_normal, FLOAT16.subnormal_step) == (2.0**-14, 2.0**-24)
    assert (FLOAT32.smallest_normal, FLOAT32.subnormal_step) == (2.0**-126, 2.0**-149)
    assert (E4M3.smallest_normal, E4M3.subnormal_step) == (2.0**-6, 2.0**-9)


def test_each_pair_is_counted_for_itself(memory):
    write(memory, FLOAT32, 0, [1, 2, 3])
    write(memory, FLOAT32, OTHER, [1, 2, 4])
    pairs = [ScaledArray(0, OTHER, 1), ScaledArray(0, 0, 1), ScaledArray(OTHER, 0, -1)]
    assert memory.count_unlike(pairs, FLOAT32, 3) == [1, 0, 3]


@pytest.mark.parametrize("changed", [3, 20, 99])
def test_a_checksum_changes_with_any_byte_of_its_range(memory, changed):
    ranges = [Range(3, 100), Range(200, 300)]
    before = memory.checksums(ranges)
    memory.fill(changed, 1, 1)
    after = memory.checksums(ranges)
    assert before[0] != after[0] and before[1] == after[1]
    memory.fill(changed, 1, 0)
    assert memory.checksums(ranges) == before


def test_a_checksum_changes_with_the_order(memory):
    write(memory, FLOAT64, 0, [1, 2])
    before = memory.checksums([Range(0, 16)])
    write(memory, FLOAT64, 0, [2, 1])
    assert memory.checksums([Range(0, 16)]) != before


@KINDS
def test_the_sign_of_single_elements_changes_and_twice_is_as_before(memory, kind):
    values = np.linspace(-1, 1, COUNT)
    write(memory, kind, OTHER, values)
    before, offsets = memory.bytes.copy(), OTHER + np.array([3, 0, COUNT - 1]) * kind.nbytes(1)
    memory.negate(offsets, kind)
    signs = np.ones(COUNT)
    signs[[3, 0, COUNT - 1]] = -1
    found = memory.array(OTHER, (COUNT,), kind.numpy_type()).astype(float)
    assert (found == signs * values.astype(kind.numpy_type()).astype(float)).all()
    memory.negate(offsets, kind)
    assert (memory.bytes == before).all()
