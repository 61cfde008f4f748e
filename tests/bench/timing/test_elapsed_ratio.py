"""How much longer gemmbench waited for windows than their process says they took."""

import pytest

from gemmbench.backends.base import Window
from gemmbench.bench.timing.blocks import Measurement
from gemmbench.bench.timing.stats import Round


def measure(*windows):
    measurement = Measurement(1)
    measurement.windows.update({Round(0, number): window for number, window in enumerate(windows)})
    return measurement.elapsed_ratio


PROMPT, DELAYED = Window(0.010, 1, elapsed=0.0105), Window(0.001, 1, elapsed=0.0203)


@pytest.mark.parametrize(
    ("prompt", "delayed", "ratio"), [(1, 5, 1.02), (0, 6, 20), (1, 10, 1.02), (1, 11, 20), (22, 74, 20), (23, 73, 1.02)]
)
def test_the_ratio_is_exceeded_in_nearly_all_of_few_windows_and_in_most_of_many(prompt, delayed, ratio):
    assert measure(*prompt * [PROMPT], *delayed * [DELAYED]) == pytest.approx(ratio)


def test_few_windows_have_a_ratio_only_if_they_are_long():
    assert measure() is None
    assert measure(*5 * [DELAYED]) is None
    assert measure(Window(0.1, 1, elapsed=0.2003)) == pytest.approx(2)


def test_short_windows_and_those_of_a_library_have_no_ratio_even_if_some_were_delayed():
    assert measure(*3 * [Window(1e-5, 1, elapsed=9e-4)], *9 * [Window(1e-5, 1, elapsed=9e-3)]) is None
    assert measure(*8 * [Window(0.01, 1)]) is None


def test_only_windows_with_the_most_launches_count():
    assert measure(*6 * [PROMPT], *6 * [Window(0.001, 7, elapsed=0.0203)]) == pytest.approx(20)
