"""Who is announced while code runs: the runner blames that row if the device is lost."""

from contextlib import closing

import pytest

from gemmbench.backends.base import Window
from gemmbench.bench.experiments.context import AnnouncedExecutable, ExperimentContext
from gemmbench.errors import DeviceLost
from gemmbench.planning.plans.plan import Target


class Loaded:
    """An executable under a steady load that fails after one window, or when it is closed."""

    def __init__(self, fails="", closes=""):
        self.fails, self.closes = fails, closes

    def time(self, launches):
        return Window(launches * 1e-3, launches)

    def sustain(self, launches, watch):
        try:
            yield self.time(launches)
            if self.fails:
                raise DeviceLost(self.fails)
            yield self.time(launches)
        finally:
            if self.closes:
                raise DeviceLost(self.closes)


@pytest.fixture
def announced():
    return []


@pytest.fixture
def start(announced):
    def sustain(executable):
        return AnnouncedExecutable(executable, 3, lambda *row: announced.append(row)).sustain(2, lambda: None)

    return sustain


def test_a_load_that_is_closed_is_not_announced_any_more(start, announced):
    with closing(start(Loaded())) as windows:
        next(windows)
        assert announced[-1][0] == 3
    assert announced[-1] == (None,)


def test_a_row_that_loses_the_device_under_load_stays_announced(start, announced):
    with pytest.raises(DeviceLost, match="an illegal address"):
        list(start(Loaded(fails="an illegal address")))
    assert announced[-1][0] == 3


def test_a_row_whose_queued_launches_lose_the_device_stays_announced(start, announced):
    windows = start(Loaded(closes="an illegal address"))
    next(windows)
    with pytest.raises(DeviceLost, match="an illegal address"):
        windows.close()
    assert announced[-1][0] == 3


@pytest.mark.parametrize(("is_gpu", "seconds"), [(True, [3.0, 0.3, 0.3]), (False, [0.3, 0.3, 0.3])])
def test_the_first_warm_up_of_a_gpu_is_long(is_gpu, seconds):
    context = ExperimentContext({})
    target = Target("any", 0, 1, 0, 0, 0, is_gpu=is_gpu)
    assert [context.warm_seconds(target) for _ in seconds] == seconds


def test_the_seconds_of_short_loads_count_as_warm_up():
    context, gpu = ExperimentContext({}), Target("any", 0, 1, 0, 0, 0, is_gpu=True)
    context.add_short_load(1.0)
    assert [context.warm_seconds(gpu) for _ in range(2)] == [2.0, 0.3]
