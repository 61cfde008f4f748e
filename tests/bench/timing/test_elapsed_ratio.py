"""How much longer gemmbench waited for windows than their process says they took."""

import pytest

from gemmbench.backends.base import Window
from gemmbench.bench.timing.blocks import Measurement
from gemmbench.bench.timing.stats import Round


def measure(*windows):
    measurement = Measurement(1)
    measurement.windows.update({Round(0, number): window for number, window in enumerate(windows)})
    return measurement.elapsed_ratio


def test_the_ratio_is_the_median_of_long_windows():
    honest, forged = Window(0.010, 1, elapsed=0.0105), Window(0.001, 1, elapsed=0.0203)
    assert measure(honest, honest, forged) == pytest.approx(1.02)
    assert measure(honest, forged, forged) == pytest.approx(20)


def test_short_windows_and_those_of_a_library_have_no_ratio():
    assert measure(Window(1e-5, 1, elapsed=9e-4), Window(0.01, 1)) is None


@pytest.mark.parametrize(
    ("competitors", "elapsed", "ratio"), [(0, 5e-3, 4.7), (2, 5e-3, 2.7), (5, 5e-3, 0), (99, 0.02, 14.7)]
)
def test_command_and_reply_may_wait_for_a_core_on_a_busy_host_but_not_for_ever(competitors, elapsed, ratio):
    assert measure(Window(1e-3, 1, competitors=competitors, elapsed=elapsed)) == pytest.approx(ratio)
