"""Interleaved rounds: their order, windows, time limits, failures, and what an interval is worth."""

import itertools

import numpy as np
import pytest

from gemmbench.backends.base import Window
from gemmbench.bench.measure import Rounds
from gemmbench.bench.stats import speed_ratio, verdict
from gemmbench.errors import LaunchError, LaunchTimeout
from gemmbench.spec.sweep import Measuring


class Kernel:
    """Takes scripted seconds a launch (the last one for ever); notes every window in a shared log."""

    def __init__(self, name, *seconds, log=None, clock=0.0, fails_at=None, fault=None):
        self.name, self.seconds, self.clock, self.log = name, list(seconds), clock, log if log is not None else []
        self.fails_at, self.fault, self.windows = fails_at, fault, []

    def time(self, launches):
        if len(self.windows) == self.fails_at:
            raise self.fault
        seconds = self.seconds[min(len(self.windows), len(self.seconds) - 1)]
        self.windows.append(launches)
        self.log.append(self.name)
        return Window(seconds * launches, launches, self.clock)


@pytest.fixture
def measure():
    def run(kernels, warm=0.0, most=1000, interrupted=lambda: False, progress=lambda done, of: None, **policy):
        return Rounds(kernels, Measuring(**policy), most, interrupted, progress).run(warm)

    return run


def orders(measure, seed, rounds=6):
    log = []
    kernels = [Kernel(name, 1.0, log=log) for name in "abcd"]
    measure(kernels, rounds=rounds, seed=seed, max_time=100)
    timed = log[4:]  # one window each to size them
    return [tuple(timed[start : start + 4]) for start in range(0, len(timed), 4)]


def test_every_round_is_a_permutation_and_the_next_its_mirror(measure):
    found = orders(measure, seed=0)
    assert len(found) == 6 and all(sorted(order) == list("abcd") for order in found)
    assert [order[::-1] for order in found[::2]] == found[1::2]


def test_the_permutations_are_fresh_and_follow_from_the_seed(measure):
    found = orders(measure, 0, rounds=20)
    assert len(set(found[::2])) > 5
    assert orders(measure, 0) == orders(measure, 0) != orders(measure, 1)


def test_a_sample_is_the_window_over_its_launches(measure):
    (found,) = measure([Kernel("a", 1e-4, clock=1.5e9)], rounds=4)
    assert found.launches == 11
    assert found.samples == {round_: pytest.approx(1e-4) for round_ in range(4)}
    assert found.clocks == [1.5e9] * 4 and found.stopped == "rounds"


def test_a_clock_that_is_not_known_is_not_kept(measure):
    assert measure([Kernel("a", 1.0)], rounds=2)[0].clocks == []


@pytest.mark.parametrize(
    ("seconds", "most", "launches"),
    [(1.0, 1000, 1), (1e-3, 1000, 1), (5e-4, 1000, 3), (1e-5, 1000, 110), (1e-6, 500, 500)],
)
def test_a_window_holds_launches_for_a_millisecond_and_no_more_than_the_back_end_allows(
    measure, seconds, most, launches
):
    kernel = Kernel("a", seconds)
    (found,) = measure([kernel], rounds=2, most=most)
    assert found.launches == launches
    assert kernel.windows[-2:] == [launches, launches]


def test_a_slow_first_launch_does_not_fix_the_window(measure):
    for first in (1e-4, 1e-2):
        kernel = Kernel("a", first, 1e-6)
        (found,) = measure([kernel], rounds=2, most=5000)
        assert found.launches * 1e-6 >= 1e-3


def test_the_windows_that_size_and_warm_are_no_samples(measure):
    kernel = Kernel("a", *[9e-3] * 5, 8e-3, 7e-3, 6e-3, 5e-3)
    (found,) = measure([kernel], warm=1e9, rounds=4, max_time=1e9)
    assert len(kernel.windows) > len(found.samples) == 4


def test_a_settled_kernel_is_warmed_no_longer(measure):
    kernel = Kernel("a", 4e-3)
    measure([kernel], warm=1e9, rounds=4)
    assert len(kernel.windows) <= 2 + 2 + 4  # to size, to see that nothing changes, to measure


def test_warming_goes_on_until_the_clock_has_settled(measure):
    kernel = Kernel("a", *(9e-3 * 0.9**step for step in range(20)), 1e-3)
    (found,) = measure([kernel], warm=1e9, rounds=4, max_time=1e9)
    assert list(found.samples.values()) == [1e-3] * 4


def test_warming_ends_when_its_time_is_over(measure):
    kernel = Kernel("a", *[1e-3, 2e-3] * 10_000)
    measure([kernel], warm=0.3, rounds=4)
    assert 0.3 / 2e-3 - 4 <= len(kernel.windows) <= 0.3 / 1.5e-3 + 10


def test_a_single_round_needs_no_warming(measure):
    kernel = Kernel("a", *[1e-3, 2e-3] * 100)
    measure([kernel], warm=1e9, rounds=1, max_time=1e9)
    assert len(kernel.windows) <= 3


@pytest.mark.parametrize(
    ("seconds", "rounds", "stopped"),
    [(0.1, 16, "rounds"), (1.0, 10, "max-time"), (3.0, 2, "max-time"), (6.0, 1, "max-time"), (60.0, 1, "max-time")],
)
def test_a_slow_kernel_gets_whole_pairs_under_its_time_or_one_launch(measure, seconds, rounds, stopped):
    kernel = Kernel("a", seconds)
    (found,) = measure([kernel], rounds=16, max_time=10.5)
    assert (len(found.samples), found.stopped) == (rounds, stopped)
    assert sorted(found.samples) == list(range(rounds))


def test_a_slow_kernel_leaves_the_rounds_of_the_others_alone(measure):
    fast, slow = measure([Kernel("fast", 0.01), Kernel("slow", 1.0)], rounds=16, max_time=4.0)
    assert (len(fast.samples), fast.stopped) == (16, "rounds")
    assert (sorted(slow.samples), slow.stopped) == ([0, 1, 2, 3], "max-time")


@pytest.mark.parametrize("fault", [LaunchError("crashed"), LaunchTimeout("too long")])
@pytest.mark.parametrize("fails_at", [0, 1, 3])
def test_a_kernel_that_fails_drops_out_and_the_others_go_on(measure, fault, fails_at):
    good, bad = Kernel("good", 1.0), Kernel("bad", 1.0, fails_at=fails_at, fault=fault)
    first, second = measure([good, bad], rounds=4, max_time=100)
    assert len(first.samples) == 4 and first.fault is None
    assert second.fault is fault and second.stopped == "failed"
    assert len(second.samples) == max(0, fails_at - 1)
    assert len(bad.windows) == fails_at


def test_an_interruption_keeps_the_samples_there_are(measure):
    log = []
    kernels = [Kernel(name, 1.0, log=log) for name in "ab"]
    first, second = measure(kernels, rounds=8, max_time=100, interrupted=lambda: len(log) >= 7)
    assert len(log) == 7
    assert len(first.samples) + len(second.samples) == 5
    assert {first.stopped, second.stopped} == {"interrupted"}


def test_progress_counts_the_rounds(measure):
    seen = []
    measure([Kernel("a", 1.0)], rounds=3, max_time=100, progress=lambda done, of: seen.append((done, of)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_nothing_to_measure_is_no_fault(measure):
    assert measure([], rounds=4) == []


# What an interval is worth, on a device whose clock wanders


class Drifting:
    """Kernels of one device: its speed wanders as time goes by, and every window has noise of its own."""

    def __init__(self, seed, drift=0.008, noise=0.004):
        rng = np.random.default_rng(seed)
        self.walk = itertools.accumulate(rng.normal(0, drift / 4) for _ in itertools.count())
        self.noise = (rng.lognormal(0, noise) for _ in itertools.count())

    def kernel(self, seconds):
        device = self

        class Executable:
            def time(self, launches):
                factor = (1 + next(device.walk)) * next(device.noise)
                return Window(seconds * launches * factor, launches)

        return Executable()


def ratios(measure, true, count=120):
    for seed in range(count):
        device = Drifting(seed)
        base, mine = measure([device.kernel(true * 2e-3), device.kernel(2e-3)], rounds=16, seed=seed, max_time=9)
        yield speed_ratio(mine.samples, base.samples)


def test_the_interval_of_the_paired_ratio_covers_the_truth_under_drift(measure):
    covered = [ratio.low <= 1.02 <= ratio.high for ratio in ratios(measure, 1.02)]
    assert np.mean(covered) > 0.88


def test_identical_kernels_are_never_called_faster_or_slower(measure):
    verdicts = [verdict(ratio) for ratio in ratios(measure, 1.0)]
    assert {"faster", "slower"}.isdisjoint(verdicts)
    assert verdicts.count("same") > 100


def test_five_percent_are_always_found(measure):
    assert {verdict(ratio) for ratio in ratios(measure, 1.05, 40)} == {"faster"}
