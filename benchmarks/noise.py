"""Compares stopping rules (bench/timing/stopping.py) on simulated devices.

Run `python benchmarks/noise.py [RUNS]` (default 300, about five minutes). The real Rounds measure two
kernels of known speed on a device whose clock drifts by 0.8 % and whose windows have additional noise:

    walk     the clock is a random walk with steps of 0.2 % per window
    wander   the clock returns to its mean: standard deviation 0.8 %, correlated over 20 windows
    spikes   like walk, but one window in ten is disturbed, by 5 % on average

For each rule it prints the mean number of rounds and, in percent of the runs: alarms (identical code
called faster or slower), found (a difference of 2 % called faster), covered (intervals that contain the
true ratio, over both).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from gemmbench.backends.base import Window
from gemmbench.bench.timing.rounds import Rounds
from gemmbench.bench.timing.stats import MIN_BLOCKS, speed_ratio, verdict
from gemmbench.bench.timing.stopping import DoublingRule, StoppingRule
from gemmbench.planning.sweeps.policy import Policy

DRIFT, SECONDS, MOST = 0.008, 2e-3, 64
ALWAYS = DoublingRule(until=0.0)
UNTIL = Policy().until


class EveryPairRule(DoublingRule):
    """Checks the intervals after every pair of rounds, which the rule of gemmbench avoids."""

    def is_due(self, blocks: int) -> bool:
        """As StoppingRule."""
        return blocks >= MIN_BLOCKS


RULES: dict[str, tuple[int, StoppingRule]] = {
    "16 rounds": (16, ALWAYS),
    "64 rounds": (MOST, ALWAYS),
    "every pair": (MOST, EveryPairRule(UNTIL)),
    "the rule": (MOST, DoublingRule(UNTIL)),
}


class Device:
    """Two kernels on one clock."""

    def __init__(self, kind: str, noise: float, seed: int):
        self.kind, self.noise, self.rng, self.clock = kind, noise, np.random.default_rng(seed), 0.0

    def factor(self) -> float:
        """How much longer than the kernel's own time the next window takes, as a factor."""
        rng = self.rng
        if self.kind == "wander":
            kept = np.exp(-1 / 20)
            self.clock = kept * self.clock + rng.normal(0, DRIFT * np.sqrt(1 - kept**2))
        else:
            self.clock += rng.normal(0, DRIFT / 4)
        spike = 1 + rng.exponential(0.05) if self.kind == "spikes" and rng.random() < 0.1 else 1.0
        return float((1 + self.clock) * np.exp(rng.normal(0, self.noise)) * spike)


class Kernel:
    """An executable on a simulated device."""

    def __init__(self, device: Device, seconds: float):
        self.device, self.seconds = device, seconds

    def time(self, launches: int) -> Window:
        """Simulate a window of this many launches."""
        return Window(self.seconds * launches * self.device.factor(), launches)


def simulate(
    kind: str, noise: float, rounds: int, rule: StoppingRule, true: float, count: int
) -> Iterator[tuple[int, str, bool]]:
    """Rounds taken, verdict, and whether the interval holds the true ratio, for `count` runs."""
    policy = Policy(rounds=rounds)
    for seed in range(count):
        device = Device(kind, noise, seed)
        kernels = [Kernel(device, SECONDS * true), Kernel(device, SECONDS)]
        experiment = Rounds(kernels, policy, 1000, lambda: False, lambda *_: None, anchors=[0], rule=rule)
        base, faster = experiment.run(0.0)
        ratio = speed_ratio(faster.samples, base.samples)
        yield len(faster.samples), verdict(ratio), ratio.low <= true <= ratio.high


def main() -> None:
    """Print a line for each device, noise and rule."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    print(f"{'device':8} {'noise':>6} {'rule':11} {'rounds':>6} {'alarms':>6} {'found':>6} {'covered':>7}")
    for kind in ("walk", "wander", "spikes"):
        for noise in (0.002, 0.004, 0.01, 0.02):
            for name, (rounds, rule) in RULES.items():
                same = list(simulate(kind, noise, rounds, rule, 1.0, count))
                faster = list(simulate(kind, noise, rounds, rule, 1.02, count))
                taken = np.mean([number for number, _, _ in same + faster])
                alarms = np.mean([called in ("faster", "slower") for _, called, _ in same])
                hits = np.mean([called == "faster" for _, called, _ in faster])
                covered = np.mean([holds for _, _, holds in same + faster])
                shares = f"{100 * alarms:6.1f} {100 * hits:6.1f} {100 * covered:7.1f}"
                print(f"{kind:8} {100 * noise:4.1f} % {name:11} {taken:6.1f} {shares}", flush=True)


if __name__ == "__main__":
    main()
