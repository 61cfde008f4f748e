"""Which launches find their operands in the L2 cache, on a simulated device.

Run `python benchmarks/rotation.py`. The real Rounds time kernels that rotate through the operand sets of one arena. The
cache keeps the sets that were used last; a kernel is faster on a set that it finds there. If each kernel has its own
rotation, it meets sets that its neighbours have just used. With one rotation for all, it never does.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from gemmbench.backends.base import Rotation, Window
from gemmbench.bench.timing.rounds import Rounds
from gemmbench.bench.timing.stats import time_interval
from gemmbench.planning.sweeps.policy import Policy

SETS, CACHED = 80, 20  # at 512 cubed in f32 on an H200
SPEEDS = ((15.4e-6, 14.3e-6), (111.3e-6, 93.6e-6), (43e-6, 38.5e-6))  # cold and hot: cublas, blocktile_2d, tiled
NOISE = 0.0005
RUNS = 12


class Cache:
    """Keeps the `size` sets that were used last."""

    def __init__(self, size: int):
        self.size, self.kept = size, OrderedDict[int, None]()

    def use(self, number: int) -> bool:
        """Use a set; returns whether it was in the cache."""
        found = number in self.kept
        self.kept[number] = None
        self.kept.move_to_end(number)
        if len(self.kept) > self.size:
            self.kept.popitem(last=False)
        return found


@dataclass
class Kernel:
    """An executable that takes `cold` or `hot` seconds per launch."""

    cache: Cache
    rotation: Rotation
    cold: float
    hot: float
    rng: np.random.Generator
    launches: int = 0
    hits: int = 0

    def time(self, launches: int) -> Window:
        """Simulate a window."""
        found = [self.cache.use(number) for number in self.rotation.take(launches)]
        self.launches, self.hits = self.launches + launches, self.hits + sum(found)
        seconds = sum(self.hot if hot else self.cold for hot in found)
        return Window(seconds * float(np.exp(self.rng.normal(0, NOISE))), launches)


def simulate(count: int, shared: bool, seed: int) -> list[tuple[float, float]]:
    """For each of `count` kernels: the share of hot launches, and the error of its time."""
    rng, cache, common = np.random.default_rng(seed), Cache(CACHED), Rotation(SETS)
    kernels = []
    for number in range(count):
        cold, hot = SPEEDS[0] if not number else SPEEDS[rng.integers(len(SPEEDS))]
        scale = 1.0 if not number else rng.uniform(0.8, 1.25)
        kernels.append(Kernel(cache, common if shared else Rotation(SETS), scale * cold, scale * hot, rng))
    rounds = Rounds(kernels, Policy(until=0.002), 512, lambda: False, lambda *_: None, anchors=[0], seed=seed)
    times = [time_interval(measurement.samples).value for measurement in rounds.run(0.3)]
    return [
        (kernel.hits / kernel.launches, time / kernel.cold - 1) for kernel, time in zip(kernels, times, strict=True)
    ]


def main() -> None:
    """Print a line for each number of kernels, with separate rotations and with one for all."""
    print(f"{'kernels':>7} {'rotation':8} {'hot launches (%)':>16} {'most (%)':>8} {'worst error of a time (%)':>25}")
    for count in (2, 3, 16):
        for shared in (False, True):
            found = [each for seed in range(RUNS) for each in simulate(count, shared, seed)]
            hot, errors = (100 * np.array(values) for values in zip(*found, strict=True))
            worst = errors[np.argmax(np.abs(errors))]
            name = "one" if shared else "own"
            print(f"{count:7} {name:8} {hot.mean():16.1f} {hot.max():8.1f} {worst:25.2f}", flush=True)


if __name__ == "__main__":
    main()
