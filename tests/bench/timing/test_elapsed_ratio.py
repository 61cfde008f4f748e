"""How much longer gemmbench waited for windows than their process says they took."""

import pytest

from gemmbench.backends.base import Window
from gemmbench.bench.timing.blocks import Measurement
from gemmbench.bench.timing.stats import Round


def measure(*windows):
    measurement = Measurement(1)
    measurement.windows.update({Round(0, number): window for number, window in enumerate(windows)})
    return measurement.elapsed_ratio


def test_the_ratio_is_exceeded_in_three_long_windows_of_four():
    prompt, delayed = Window(0.010, 1, elapsed=0.0105), Window(0.001, 1, elapsed=0.0203)
    assert measure(prompt, prompt, delayed, delayed, delayed) == pytest.approx(1.02)
    assert measure(prompt, *4 * [delayed]) == pytest.approx(20)
    assert measure(delayed) == pytest.approx(20)
    assert measure(prompt, *3 * [delayed]) == pytest.approx(1.02)


def test_short_windows_and_those_of_a_library_have_no_ratio():
    assert measure(Window(1e-5, 1, elapsed=9e-4), Window(0.01, 1)) is None
