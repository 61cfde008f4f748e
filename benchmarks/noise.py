"""How reliable verdicts and intervals are, on simulated devices.

Run `python benchmarks/noise.py [RUNS]` (default 300, about ten minutes). The real Rounds measure two
kernels of known speed on a device whose windows have noise of their own, and

    walk     a clock that is a random walk with steps of 0.2 % per window
    wander   a clock that returns to its mean: standard deviation 0.8 %, correlated over 20 windows
    spikes   like walk, but one window in ten is disturbed, by 5 % on average
    sticky   two modes of each kernel, 2 % apart; it changes its mode every ten windows on average
    placed   two modes of each kernel, 2 % apart; a block's placement decides the mode

For each rule of stopping.py it prints the mean number of rounds and, in percent of the runs: alarms
(identical code called faster or slower), found (a difference of 2 % called faster) and covered
(intervals that contain the true ratio, over both).
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping

import numpy as np

from gemmbench.backends.base import Window
from gemmbench.bench.timing.blocks import NoSteps
from gemmbench.bench.timing.rounds import ENOUGH_BLOCKS, DoublingRule, Rounds, StoppingRule
from gemmbench.bench.timing.stats import speed_ratio, verdict
from gemmbench.planning.sweeps.policy import Policy

DRIFT, SECONDS, MOST = 0.008, 2e-3, Policy().rounds
MODES_APART, CHANGES = 0.02, 0.1
NOISES = {
    "walk": (0.002, 0.004, 0.01, 0.02),
    "wander": (0.002, 0.004, 0.01, 0.02),
    "spikes": (0.002, 0.01),
    "sticky": (0.0005,),
    "placed": (0.0005,),
}
ALWAYS = DoublingRule(until=0.0)
UNTIL = Policy().until


class EveryBlockRule(DoublingRule):
    """Checks the intervals after every block, which gemmbench's rule avoids."""

    def is_due(self, blocks: int) -> bool:
        """As StoppingRule."""
        return blocks >= ENOUGH_BLOCKS


RULES: dict[str, tuple[int, StoppingRule]] = {
    "10 rounds": (10, ALWAYS),
    "30 rounds": (30, ALWAYS),
    f"{MOST} rounds": (MOST, ALWAYS),
    "every block": (MOST, EveryBlockRule(UNTIL)),
    "the rule": (MOST, DoublingRule(UNTIL)),
    "the rule, 0.2 %": (MOST, DoublingRule(0.002)),
}


class Device(NoSteps):
    """Two kernels on one clock; it takes part in a measurement as its BlockSteps."""

    def __init__(self, kind: str, noise: float, seed: int):
        self.kind, self.noise, self.rng, self.clock = kind, noise, np.random.default_rng(seed), 0.0
        self.slow = self.rng.random(2) < 0.5  # the mode of each kernel

    def begin(self, block: int, launches: Mapping[int, int]) -> Collection[int]:
        """Place the operands again."""
        if self.kind == "placed":
            self.slow = self.rng.random(2) < 0.35
        return launches

    def factor(self, kernel: int) -> float:
        """The factor by which the kernel's next window takes longer than its own time."""
        own = float(np.exp(self.rng.normal(0, self.noise)))
        if self.kind in ("sticky", "placed"):
            if self.kind == "sticky" and self.rng.random() < CHANGES:
                self.slow[kernel] = not self.slow[kernel]
            return own * (1 + MODES_APART * float(self.slow[kernel]))
        return own * self._drift() * self._disturbance()

    def _drift(self) -> float:
        if self.kind == "wander":
            kept = np.exp(-1 / 20)
            self.clock = kept * self.clock + self.rng.normal(0, DRIFT * np.sqrt(1 - kept**2))
        else:
            self.clock += self.rng.normal(0, DRIFT / 4)
        return 1 + self.clock

    def _disturbance(self) -> float:
        disturbed = self.kind == "spikes" and self.rng.random() < 0.1
        return 1 + self.rng.exponential(0.05) if disturbed else 1.0


class Kernel:
    """An executable on a simulated device."""

    def __init__(self, device: Device, number: int, seconds: float):
        self.device, self.number, self.seconds = device, number, seconds

    def time(self, launches: int) -> Window:
        """Simulate a window of this many launches."""
        return Window(self.seconds * launches * self.device.factor(self.number), launches)


def simulate(
    kind: str, noise: float, rounds: int, rule: StoppingRule, true: float, count: int
) -> Iterator[tuple[int, str, bool]]:
    """Rounds taken, verdict, and whether the interval holds the true ratio, for `count` runs."""
    policy = Policy(rounds=rounds)
    for seed in range(count):
        device = Device(kind, noise, seed)
        kernels = [Kernel(device, 0, SECONDS * true), Kernel(device, 1, SECONDS)]
        experiment = Rounds(
            kernels, policy, 1000, lambda: False, lambda *_: None, anchors=[0], rule=rule, steps=device, seed=seed
        )
        base, faster = experiment.run(0.0)
        ratio = speed_ratio(faster.samples, base.samples)
        yield len(faster.samples), verdict(ratio), ratio.low <= true <= ratio.high


def main() -> None:
    """Print a line for each device, noise and rule."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    print(f"{'device':8} {'noise':>7} {'rule':16} {'rounds':>6} {'alarms':>6} {'found':>6} {'covered':>7}")
    for kind, noises in NOISES.items():
        for noise in noises:
            for name, (rounds, rule) in RULES.items():
                same = list(simulate(kind, noise, rounds, rule, 1.0, count))
                faster = list(simulate(kind, noise, rounds, rule, 1.02, count))
                taken = np.mean([number for number, _, _ in same + faster])
                alarms = np.mean([called in ("faster", "slower") for _, called, _ in same])
                hits = np.mean([called == "faster" for _, called, _ in faster])
                covered = np.mean([holds for _, _, holds in same + faster])
                shares = f"{100 * alarms:6.1f} {100 * hits:6.1f} {100 * covered:7.1f}"
                print(f"{kind:8} {100 * noise:5.2f} % {name:16} {taken:6.1f} {shares}", flush=True)


if __name__ == "__main__":
    main()
