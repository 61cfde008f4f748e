"""A simulated GPU at its power limit: interleaved windows hide what a hungry kernel costs, a steady load shows it.

Power is 100 W + k (f / f0)^3; a governor moves the clock f so that the average power stays at 700 W.
Kernel A is 3 % faster than B at equal clocks and draws 12 % more power.
"""

import math

import pytest

from gemmbench.backends.base import Reading, Window
from gemmbench.bench.experiments.steady_loads import LoadSensors, measure_load
from gemmbench.bench.record import Sustained
from gemmbench.bench.timing.rounds import Rounds
from gemmbench.bench.timing.stats import speed_ratio
from gemmbench.planning.sweeps.policy import Policy

LIMIT, SETTLING, STEP, GAP = 700.0, 0.02, 1e-3, 4e-4


class Gpu:
    """The clock and the average power of a device; its own monitor."""

    def __init__(self):
        self.clock, self.average, self.seconds, self.joules = 1.0, 100.0, 0.0, 0.0

    def run(self, seconds, k):
        power = 100.0 + k * self.clock**3
        share = 1 - math.exp(-seconds / SETTLING)
        self.average += share * (power - self.average)
        self.clock = min(1.0, max(0.4, self.clock * (1 + 0.3 * share * (LIMIT - self.average) / LIMIT)))
        self.seconds, self.joules = self.seconds + seconds, self.joules + power * seconds

    def now(self):
        return self.seconds

    def energy(self):
        return self.joules

    def read(self):
        return Reading(self.average, 50.0)


class Kernel:
    """A launch of `work` seconds at the full clock, with the power factor k."""

    def __init__(self, gpu, work, k):
        self.gpu, self.work, self.k = gpu, work, k

    def time(self, launches):
        self.gpu.run(GAP, 0.0)  # the host queues a window
        return self._run(launches)

    def sustain(self, launches, watch):
        while True:
            yield self._run(launches)
            watch()

    def _run(self, launches):
        left, seconds, cycles = self.work * launches, 0.0, 0.0
        while left > 1e-12:
            step = min(STEP, left / self.gpu.clock)
            left, seconds, cycles = left - step * self.gpu.clock, seconds + step, cycles + step * self.gpu.clock
            self.gpu.run(step, self.k)
        return Window(seconds, launches, 2e9 * cycles / seconds)


@pytest.fixture
def kernels():
    gpu = Gpu()
    return gpu, Kernel(gpu, 2e-4 / 1.03, 1000.0), Kernel(gpu, 2e-4, 1000.0 / 1.12)


def test_interleaved_windows_compare_at_equal_clocks(kernels):
    _, a, b = kernels
    rounds = Rounds([a, b], Policy(rounds=40, until=0.0), 512, lambda: False, lambda *_: None, [1])
    found = rounds.run(1.0)
    assert speed_ratio(found[0].samples, found[1].samples).value == pytest.approx(1.03, abs=0.01)


def test_a_steady_load_shows_the_hungry_kernel_to_be_slower(kernels):
    gpu, a, b = kernels
    loads = [measure_load(each, 100, 1.0, LoadSensors(gpu), lambda: False) for each in (a, b, b, a)]
    found = Sustained(own=[loads[0], loads[3]], baseline=[loads[1], loads[2]])
    assert found.speed_ratio == pytest.approx(1.03 / 1.12 ** (1 / 3), abs=0.005)  # 0.992
    assert found.watts == pytest.approx(LIMIT, rel=0.01) and found.settled
