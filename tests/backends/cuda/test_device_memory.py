"""Memory on the GPU, through a driver that only notes what it is asked."""

from types import SimpleNamespace

import pytest

from gemmbench.backends.cuda import device_memory


class CudaError(Exception):
    pass


@pytest.fixture
def calls(monkeypatch):
    """What the driver was asked; allocations begin at multiples of 1 << 20."""
    asked, places = [], iter(range(1 << 20, 1 << 30, 1 << 20))
    driver = SimpleNamespace(
        Error=CudaError,
        MemoryError=MemoryError,
        mem_alloc=lambda nbytes: next(places),
        memset_d8=lambda *fill: asked.append(fill),
        memset_d2d8=lambda *fill: asked.append(("2d", *fill)),
    )
    monkeypatch.setattr(device_memory, "load_driver", lambda: driver)
    return asked


def test_many_ranges_at_equal_distances_are_filled_in_one_call(calls):
    memory = device_memory.DeviceMemory(1000)
    memory.fill_each(range(8, 8 + 20 * 40, 40), 16, 0xFF)
    assert calls == [("2d", (1 << 20) + 8, 40, 0xFF, 16, 20)]


@pytest.mark.parametrize("offsets", [[0], [0, 40, 80], [*range(0, 640, 40), 650], range(0, 20 * 12, 12)])
def test_other_ranges_are_filled_one_by_one(calls, offsets):
    memory = device_memory.DeviceMemory(1000)
    memory.fill_each(offsets, 16, 1)
    assert calls == [((1 << 20) + offset, 1, 16) for offset in offsets]


def test_ranges_of_several_allocations_are_filled_one_by_one(calls):
    memory = device_memory.SeparateMemory([64] * 20)
    memory.fill_each(memory.starts, 64, 1)
    assert calls == [(start, 1, 64) for start in memory.starts]


def test_no_range_may_reach_beyond_the_memory(calls):
    memory = device_memory.DeviceMemory(20 * 40 - 25)
    with pytest.raises(ValueError, match="outside an allocation"):
        memory.fill_each(range(0, 20 * 40, 40), 16, 1)
    assert not calls
