"""What the stopping rule of bench/measure.py is worth, on simulated devices.

Run with `python benchmarks/noise.py [RUNS]` (default 300, about five minutes). Two kernels of known speed are
measured by the real Rounds on a device whose clock drifts by 0.8 % and whose windows have noise of their own:

    walk     the clock is a random walk, 0.2 % a window
    wander   the clock comes back: standard deviation 0.8 %, correlated over 20 windows
    spikes   as walk, and every tenth window is disturbed, by 5 % on average

For each rule it prints rounds (mean), alarms (the same code called faster or slower), found (a difference of
2 % called faster) and covered (intervals that hold the truth, over both), in percent of the runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from gemmbench.backends.base import Window
from gemmbench.bench.timing import rounds as measure
from gemmbench.bench.timing.stats import speed_ratio, verdict
from gemmbench.planning.sweeps.policy import Measuring

DRIFT, SECONDS, MOST = 0.008, 2e-3, 64
FIXED = Measuring(rounds=16, until=0.0)
RULE = Measuring(rounds=MOST)
AS_RELEASED = measure._looks
RULES = {
    "16 rounds": (FIXED, AS_RELEASED),
    "64 rounds": (Measuring(rounds=MOST, until=0.0), AS_RELEASED),
    "every pair": (RULE, lambda policy: range(10, policy.rounds, 2)),
    "the rule": (RULE, AS_RELEASED),
}


class Device:
    """Two kernels on one clock."""

    def __init__(self, kind: str, noise: float, seed: int):
        self.kind, self.noise, self.rng, self.clock = kind, noise, np.random.default_rng(seed), 0.0

    def factor(self) -> float:
        """What the next window takes, times the kernel's own time."""
        rng = self.rng
        if self.kind == "wander":
            kept = np.exp(-1 / 20)
            self.clock = kept * self.clock + rng.normal(0, DRIFT * np.sqrt(1 - kept**2))
        else:
            self.clock += rng.normal(0, DRIFT / 4)
        spike = 1 + rng.exponential(0.05) if self.kind == "spikes" and rng.random() < 0.1 else 1.0
        return float((1 + self.clock) * np.exp(rng.normal(0, self.noise)) * spike)


class Kernel:
    """An Executable of a simulated device."""

    def __init__(self, device: Device, seconds: float):
        self.device, self.seconds = device, seconds

    def time(self, launches: int) -> Window:
        """A window of so many launches."""
        return Window(self.seconds * launches * self.device.factor(), launches)


def runs(kind: str, noise: float, policy: Measuring, true: float, count: int) -> Iterator[tuple[int, str, bool]]:
    """Rounds taken, verdict, and whether the interval holds the truth."""
    for seed in range(count):
        device = Device(kind, noise, seed)
        kernels = [Kernel(device, SECONDS * true), Kernel(device, SECONDS)]
        rounds = measure.Rounds(kernels, policy, 1000, lambda: False, lambda done, of: None, references=[0])
        base, mine = rounds.run(0.0)
        found = speed_ratio(mine.samples, base.samples)
        yield len(mine.samples), verdict(found), found.low <= true <= found.high


def main() -> None:
    """Print a line for each device, noise and rule."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    print(f"{'device':8} {'noise':>6} {'rule':11} {'rounds':>6} {'alarms':>6} {'found':>6} {'covered':>7}")
    for kind in ("walk", "wander", "spikes"):
        for noise in (0.002, 0.004, 0.01, 0.02):
            for name, (policy, measure._looks) in RULES.items():
                same = list(runs(kind, noise, policy, 1.0, count))
                faster = list(runs(kind, noise, policy, 1.02, count))
                taken = np.mean([rounds for rounds, _, _ in same + faster])
                alarms = np.mean([said in ("faster", "slower") for _, said, _ in same])
                hits = np.mean([said == "faster" for _, said, _ in faster])
                covered = np.mean([held for _, _, held in same + faster])
                shares = f"{100 * alarms:6.1f} {100 * hits:6.1f} {100 * covered:7.1f}"
                print(f"{kind:8} {100 * noise:4.1f} % {name:11} {taken:6.1f} {shares}", flush=True)


if __name__ == "__main__":
    main()
