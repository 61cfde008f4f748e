"""Who is announced while code runs: the runner blames that row if the device is lost."""

import pytest

from gemmbench.backends.base import Window
from gemmbench.bench.experiments.context import AnnouncedExecutable, ExperimentContext
from gemmbench.errors import DeviceLost
from gemmbench.planning.plans.plan import Target


class Loaded:
    """An executable under a steady load that loses the device after one window, or when it is closed."""

    def __init__(self, fails="", closes=""):
        self.fails, self.closes = fails, closes

    def sustain(self, launches, watch):
        try:
            yield Window(launches * 1e-3, launches)
            raise DeviceLost(self.fails)
        finally:
            if self.closes:
                raise DeviceLost(self.closes)


@pytest.fixture
def announced():
    return []


@pytest.fixture
def start(announced):
    """The windows of row 3 under a load, after the first."""

    def sustain(**faults):
        executable = AnnouncedExecutable(Loaded(**faults), 3, lambda *row: announced.append(row))
        windows = executable.sustain(2, lambda: None)
        next(windows)
        assert announced[-1][0] == 3
        return windows

    return sustain


def test_a_load_that_is_closed_is_not_announced_any_more(start, announced):
    start().close()
    assert announced[-1] == (None,)


@pytest.mark.parametrize(("fault", "end"), [("fails", next), ("closes", lambda windows: windows.close())])
def test_a_row_that_loses_the_device_under_load_or_in_queued_launches_stays_announced(start, announced, fault, end):
    windows = start(**{fault: "an illegal address"})
    with pytest.raises(DeviceLost, match="an illegal address"):
        end(windows)
    assert announced[-1][0] == 3


@pytest.mark.parametrize(
    ("is_gpu", "short_load", "seconds"),
    [(True, 0.0, [3.0, 0.3, 0.3]), (True, 1.0, [2.0, 0.3, 0.3]), (False, 0.0, [0.3, 0.3, 0.3])],
)
def test_the_first_warm_up_of_a_gpu_is_long_and_short_loads_count_as_a_part_of_it(is_gpu, short_load, seconds):
    context, target = ExperimentContext({}), Target("any", 0, 1, 0, 0, 0, is_gpu=is_gpu)
    context.add_short_load(short_load)
    assert [context.warm_seconds(target) for _ in seconds] == seconds
