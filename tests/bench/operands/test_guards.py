"""Guard zones by themselves; what they do around operands stands in the tests of operands and of networks."""

import pytest

from gemmbench.backends.base import ALIGN
from gemmbench.backends.fake.backend import FakeBackend
from gemmbench.bench.operands.guards import LARGE_ALIGN, NAN, PATTERN, Breach, GuardedLayout, Zone
from gemmbench.planning.precisions import FLOAT32

BASE = 1 << 12


@pytest.fixture
def layout():
    """Guards of 512 bytes around an array of 100."""
    found = GuardedLayout()
    found.guard(512, NAN)
    found.add_output("C", FLOAT32, 100)
    assert found.outputs[0].offset == 512
    found.guard(512, PATTERN)
    return found


@pytest.fixture
def memory(layout):
    """With the zones of a set filled."""
    found = FakeBackend().allocate(1 << 14)
    layout.fill(found, [BASE])
    return found


def test_an_array_ends_in_guarded_bytes_and_zones_that_touch_and_hold_the_same_are_one(layout):
    assert layout.zones == [Zone(0, 512, NAN), Zone(612, -100 % ALIGN + 512, PATTERN)]
    assert layout.total % ALIGN == 0


def test_large_arrays_are_aligned_as_allocators_do_and_what_is_skipped_is_guarded():
    layout = GuardedLayout()
    layout.guard(512, NAN)
    layout.add_input("A", FLOAT32, 1000)
    assert layout.alignment == ALIGN
    layout.guard(512, NAN)
    layout.add_output("C", FLOAT32, 1 << 20)
    small, large = layout.regions
    assert (small.offset, large.offset) == (512, LARGE_ALIGN)
    assert layout.alignment == LARGE_ALIGN
    assert layout.zones[1:] == [Zone(1512, 512 + 24, NAN), Zone(2048, LARGE_ALIGN - 2048, PATTERN)]


def test_the_first_breach_is_told_all_are_restored_and_what_lies_in_the_array_or_outside_is_none(layout, memory):
    memory.fill(BASE + 512, 100, 1)
    memory.fill(BASE - 8, 8, 1)
    memory.fill(BASE + layout.total, 8, 1)
    assert layout.find_breach(memory, BASE) is None
    memory.fill(BASE + 500, 12, 0)
    memory.fill(BASE + 612, 3, 0)
    assert layout.find_breach(memory, BASE) == Breach(layout.zones[0], 500, 12, 511)
    assert layout.find_breach(memory, BASE) is None
