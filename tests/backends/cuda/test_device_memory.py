"""Memory on the GPU, through a driver that only notes what it is asked."""

import pytest

from gemmbench.backends.cuda.device_memory import DeviceMemory, SeparateMemory


@pytest.fixture
def calls(stub_pycuda):
    """What the driver was asked; allocations begin at multiples of 1 << 20."""
    asked, places = [], iter(range(1 << 20, 1 << 30, 1 << 20))
    stub_pycuda(
        MemoryError=MemoryError,
        mem_alloc=lambda nbytes: next(places),
        memset_d8=lambda *fill: asked.append(fill),
        memset_d2d8=lambda *fill: asked.append(("2d", *fill)),
    )
    return asked


def test_many_ranges_at_equal_distances_are_filled_in_one_call(calls):
    DeviceMemory(1000).fill_each(range(8, 8 + 20 * 40, 40), 16, 0xFF)
    assert calls == [("2d", (1 << 20) + 8, 40, 0xFF, 16, 20)]


@pytest.mark.parametrize("offsets", [[0], [0, 40, 80], [*range(0, 640, 40), 650], range(0, 20 * 12, 12)])
def test_other_ranges_are_filled_one_by_one(calls, offsets):
    DeviceMemory(1000).fill_each(offsets, 16, 1)
    assert calls == [((1 << 20) + offset, 1, 16) for offset in offsets]


def test_ranges_of_several_allocations_are_filled_one_by_one(calls):
    memory = SeparateMemory([64] * 20)
    memory.fill_each(memory.starts, 64, 1)
    assert calls == [(start, 1, 64) for start in memory.starts]


def test_no_range_may_reach_beyond_the_memory(calls):
    with pytest.raises(ValueError, match="outside an allocation"):
        DeviceMemory(20 * 40 - 25).fill_each(range(0, 20 * 40, 40), 16, 1)
    assert not calls
