"""A against A, on a device whose noise is known."""

import itertools

import numpy as np
import pytest

from gemmbench.backends.fake.backend import FakeBackend
from gemmbench.backends.fake.script import Script
from gemmbench.bench.experiments.noise import compare_with_itself
from gemmbench.bench.timing.stats import Interval, verdict
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.errors import BuildError, LaunchError
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy
from tests.bench.conftest import CODE

ALL = Policy(until=0.0, rounds=64, cache="hot")


@pytest.fixture
def noise(make_plan, short_warm_up):
    def run(times=1e-3, built=CODE, policy=ALL, **script):
        worker = LocalWorker({"fake": FakeBackend(Script(times={"naive": times}, **script))})
        return compare_with_itself(worker, make_plan("naive", Problem(16, 16, 16)), built, policy)

    return run


def make_noisy_times(seed, sigma):
    return (1e-3 * np.random.default_rng(seed).lognormal(0, sigma, 400)).tolist()


def test_a_quiet_device_shows_one_percent(noise):
    found = noise(2e-3)
    assert (found.ratio.value, found.floor, found.scatter, found.verdict) == (1.0, 0.0, 0.0, "same")
    assert found.time.value == 2e-3 and found.least == pytest.approx(0.01)
    assert len(found.record.samples) == 64


def test_the_scatter_is_that_of_a_pair(noise):
    sigma = 0.02
    found = noise(make_noisy_times(3, sigma))
    # the mean of two log ratios, each of two windows
    assert found.scatter == pytest.approx(sigma, rel=0.3)
    assert found.floor == pytest.approx(1.96 * 1.2533 * sigma / 32**0.5, rel=0.4)
    assert found.least == pytest.approx(0.01 + 1.839 * found.floor, rel=1e-3)


def test_a_difference_of_the_least_size_is_found_in_most_runs(noise):
    """What `least` claims, by trying: 95 of 100, here of 40."""
    floors, hits = [], 0
    for seed in range(100, 140):
        found = noise(make_noisy_times(seed, 0.01))
        floors.append(found.least)
        true = 1 + float(np.mean(floors))
        shifted = Interval(*(true * each for each in (found.ratio.value, found.ratio.low, found.ratio.high)))
        hits += verdict(shifted) == "faster"
    assert hits >= 35


def test_two_that_differ_are_seen_to_differ(noise, monkeypatch):
    codes, bind = list[object](), FakeBackend.bind

    def load(*arguments):
        codes.append(object())
        return codes[-1]

    def biased(backend, name, steps, *arguments, **options):
        executable = bind(backend, name, steps, *arguments, **options)
        executable.times = itertools.repeat(1e-3 if steps[0].loaded is codes[-1] else 1.1e-3)
        return executable

    monkeypatch.setattr(FakeBackend, "load", load)
    monkeypatch.setattr(FakeBackend, "bind", biased)
    found = noise()
    assert found.verdict in ("faster", "slower")
    assert found.ratio.value in (pytest.approx(1.1), pytest.approx(1 / 1.1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"faults": {"naive": "zero"}}, "naive at 16: wrong: exact check"),
        ({"built": BuildError("x.cu:1: no")}, "naive at 16: failed: x.cu:1: no"),
        ({"policy": Policy(until=0.0, rounds=64, max_time=2e-3)}, "naive at 16: too few rounds in 0.002 s"),
    ],
)
def test_what_cannot_be_measured_is_an_error(noise, options, message):
    with pytest.raises(LaunchError, match=message):
        noise(**options)
