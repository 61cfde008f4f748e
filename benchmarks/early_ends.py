"""How often intervals hold the truth if rounds end once they are narrow, on simulated blocks.

Run `python benchmarks/early_ends.py` (a few seconds; needs no GPU). The values of blocks are normally
distributed around 0, and end after 5, 10 or 16 blocks, as the rule of `timing/stopping.py` says. A row
of the table is a deviation of the blocks in units of the wanted half-width, and how often the interval
of Student's t and the wider one of gemmbench hold 0.
"""

import numpy as np
from claims import format_table

from gemmbench.bench.timing.stats import WIDENING, t_quantile

RUNS, ENDS = 40_000, (5, 10, 16)
DEVIATIONS = (0.2, 0.5, 0.8, 1.1, 1.25, 1.4, 1.6, 1.8, 2.5, 4.0)


def simulate(deviation: float, widening: float) -> tuple[float, float]:
    """The share of runs whose interval holds the truth, and the mean of the blocks that they take."""
    values = np.random.default_rng(0).normal(0, deviation, (RUNS, ENDS[-1]))
    holds, blocks = np.zeros(RUNS, bool), np.zeros(RUNS, int)
    for count in ENDS:
        seen = values[:, :count]
        reach = widening * t_quantile(count - 1) * seen.std(axis=1, ddof=1) / np.sqrt(count)
        ended = (blocks == 0) & ((reach <= 1) | (count == ENDS[-1]))
        holds[ended], blocks[ended] = (np.abs(seen.mean(axis=1)) <= reach)[ended], count
    return float(holds.mean()), float(blocks.mean())


def main() -> None:
    """Print the table."""
    rows = []
    for deviation in DEVIATIONS:
        (plain, _), (wide, blocks) = (simulate(deviation, widening) for widening in (1.0, WIDENING))
        rows.append((deviation, f"{100 * plain:.1f} %", f"{100 * wide:.1f} %", f"{blocks:.1f}"))
    print(format_table(rows, ("deviation", "Student's t", "as gemmbench", "blocks")))


if __name__ == "__main__":
    main()
