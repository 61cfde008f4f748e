"""Which math is chosen for f32, by times that are made up."""

import itertools

import pytest

from gemmbench.backends.cuda.cublas import MathChoice
from gemmbench.backends.cuda.library_variants import DEFAULT, PEDANTIC
from gemmbench.backends.cuda.window import Calls
from gemmbench.planning.problems import Problem

CANDIDATES = {math: Calls((), math) for math in (DEFAULT, PEDANTIC)}


@pytest.fixture
def make():
    """A choice by seconds per launch, and the launches in order."""

    def make(**seconds):
        launched = []

        def make_timer(calls):
            times = itertools.cycle(seconds[calls.launch.split()[0]])

            def time():
                launched.append(calls.launch)
                return next(times)

            return time

        return MathChoice(make_timer), launched

    return make


@pytest.mark.parametrize(("default", "pedantic", "chosen"), [(1e-3, 2e-3, DEFAULT), (2e-3, 1e-3, PEDANTIC)])
def test_the_faster_math_is_chosen(make, default, pedantic, chosen):
    choice, _ = make(default=[default], pedantic=[pedantic])
    assert choice.choose(Problem(8, 8, 8), CANDIDATES) == chosen


def test_one_slow_launch_and_the_first_of_all_decide_nothing(make):
    choice, _ = make(default=[0.1, *[1e-3] * 7, 1e-2, *[1e-3] * 7], pedantic=[1.1e-3])
    assert choice.choose(Problem(8, 8, 8), CANDIDATES) == DEFAULT


def test_a_shape_is_measured_once_whatever_its_scalars(make):
    choice, launched = make(default=[1e-3], pedantic=[2e-3])
    choice.choose(Problem(8, 8, 8), CANDIDATES)
    count = len(launched)
    assert choice.choose(Problem(8, 8, 8, alpha=2.0, beta=3.0), CANDIDATES) == DEFAULT and len(launched) == count
    choice.choose(Problem(8, 8, 8, "nt"), CANDIDATES)
    assert len(launched) == 2 * count


def test_rounds_are_mirrored_and_slow_launches_are_few(make):
    choice, launched = make(default=[1e-3], pedantic=[2e-3])
    choice.choose(Problem(8, 8, 8), CANDIDATES)
    assert launched[:4] == [DEFAULT, PEDANTIC, PEDANTIC, DEFAULT]
    choice, launched = make(default=[1.0], pedantic=[2.0])
    choice.choose(Problem(8, 8, 8), CANDIDATES)
    assert len(launched) == 6
