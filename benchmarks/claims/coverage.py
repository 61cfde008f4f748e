"""Whether 95 % intervals hold the truth: identical code compared in other bindings, processes and with other seeds."""

import json
import subprocess
import sys
from pathlib import Path

from claims import Claim, format_table
from gemmbench.bench.timing.stats import Interval, verdict

SIZES, PROCESSES, MEASUREMENTS = ("256", "512", "1024", "2048"), 5, 5
LEAST, MOST, FALSE_VERDICTS = 0.92, 0.98, 1
_PROGRAM = Path(__file__).with_name("compare_alike.py")


def check(folder: Path) -> Claim:
    """Measure three pairs 5 times in each of 5 processes at each of 4 sizes."""
    rows, every = [], []
    for size in SIZES:
        ratios = [ratio for number in range(PROCESSES) for ratio in _compare(size, number)]
        every += ratios
        rows.append((size, len(ratios), *_describe(ratios)))
        print(*rows[-1], file=sys.stderr, flush=True)
    covered, false = _count_covered(every) / len(every), _count_false(every)
    return Claim(
        f"{len(every)} comparisons of identical code: the 95 % interval holds 1 in 92 to 98 % of them; at most "
        f"{FALSE_VERDICTS} false verdict",
        format_table(rows, ["size", "comparisons", "covered", "false verdicts", "median half-width"]),
        f"{100 * covered:.1f} % covered, {false} false verdicts",
        LEAST <= covered <= MOST and false <= FALSE_VERDICTS,
    )


def _compare(size: str, number: int) -> list[Interval]:
    """The ratios of comparisons in a process of their own; its number makes their seeds."""
    command = [sys.executable, str(_PROGRAM), size, str(MEASUREMENTS), str(number * MEASUREMENTS)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    return [Interval(*ends) for ends in json.loads(done.stdout.splitlines()[-1])]


def _count_covered(ratios: list[Interval]) -> int:
    return sum(ratio.low <= 1 <= ratio.high for ratio in ratios)


def _count_false(ratios: list[Interval]) -> int:
    return sum(verdict(ratio) in ("faster", "slower") for ratio in ratios)


def _describe(ratios: list[Interval]) -> tuple[str, int, str]:
    widths = sorted(ratio.spread for ratio in ratios)
    covered = f"{100 * _count_covered(ratios) / len(ratios):.1f} %"
    return covered, _count_false(ratios), f"{100 * widths[len(widths) // 2]:.3f} %"
