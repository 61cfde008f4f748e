"""How often 95 % intervals contain the truth, simulated from recorded blocks, and how much processes differ.

Run `python benchmarks/intervals.py [FILES]` (5 s; needs no GPU). FILES are results files, by default those of the H100.
A row is a kernel at a problem, and its blocks are the values of the ratio to the baseline from which an interval is
made. In each class of speed one kernel has its own line: the one with the most blocks to resample.

The first table: rows that were measured in several runs on the same card, and how much their ratio differs between
these runs, beyond what the blocks of each let expect (a standard deviation, by the method of moments). They are few:
the 92 files of this format in the history of results/ have 30 such rows, and give 0.195, 0.110 and 0.054 %.

The second table: simulated runs of each row, of at most 48 blocks, whose intervals are checked as `timing/rounds.py`
does. The blocks of a row that has 10 or more are resampled; those are the noisiest, since the rounds of others ended
earlier. Fewer blocks are too few for that, so they are drawn from a normal distribution with their deviation; the last
line says how well the first five blocks of all rows fit one. Columns, in percent of the simulated runs:

    held        the interval holds the ratio of the process that was measured
    noisiest    the same, of the rows whose recorded blocks are resampled alone
    two runs    the interval that `compare` shows for two runs, with what differs between processes, holds 1
    all         the interval of one run holds the mean over all processes, which it does not claim
"""

from __future__ import annotations

import math
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from claims import format_table

from gemmbench.bench.record import Environment, Record
from gemmbench.bench.timing.rounds import ENOUGH_BLOCKS, DoublingRule
from gemmbench.bench.timing.stats import WIDENING, block_values, t_quantile
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.report.percent_of_baseline import is_valid_baseline
from gemmbench.report.repeatability import SpeedClass, find_speed_class
from gemmbench.report.store.reading import read_results

RUNS, UNTIL = 40_000, (0.005, 0.002)
MANY_BLOCKS = 10
MOST_BLOCKS = Policy().rounds // 2
LOOKS = [*(count for count in range(1, MOST_BLOCKS) if DoublingRule(1.0).is_due(count)), MOST_BLOCKS]
SMOOTHING = 0.1
"""Standard deviations that are added to a resampled block, because no two blocks take exactly the same time."""
_FOLDER = Path(__file__).resolve().parent.parent / "results" / "nvidia-h100"


@dataclass(frozen=True)
class RecordedRow:
    """The blocks of a kernel's ratio to the baseline: logarithms. Rows with one key ran the same code on one card."""

    key: tuple[object, ...]
    run: str
    kernel: str
    speed: SpeedClass
    values: np.ndarray

    @property
    def is_resampled(self) -> bool:
        """It has enough blocks to draw from."""
        return len(self.values) >= MANY_BLOCKS

    @property
    def variance_of_mean(self) -> float:
        """The variance of the mean to be expected from the blocks."""
        return float(self.values.var(ddof=1)) / len(self.values)

    def draw_blocks(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """The blocks of `count` simulated runs, relative to the row's mean."""
        shape = count, MOST_BLOCKS
        deviation = float(self.values.std(ddof=1))
        if not self.is_resampled:
            return rng.normal(0, deviation, shape)
        unit = (self.values - self.values.mean()) / (self.values.std() or 1.0)
        drawn = rng.choice(unit, shape) + rng.normal(0, SMOOTHING, shape)
        return deviation * drawn / math.hypot(1, SMOOTHING)


def read_rows(paths: Iterable[Path]) -> Iterator[RecordedRow]:
    """The rows of results files that have enough blocks in common with the baseline."""
    for path in paths:
        run = read_results(path)
        records = [record for record in run.full_records if record.ranked and record.samples]
        baselines = {
            (record.batch, record.batch_key): record for record in records if is_valid_baseline(run.environment, record)
        }
        for record in records:
            baseline = baselines.get((record.batch, record.batch_key))
            if baseline and record.variant != baseline.variant and run.environment.on_gpu(record.backend):
                row = _make_row(run.environment, record, baseline)
                if len(row.values) >= ENOUGH_BLOCKS and row.values.any():
                    yield row


def _make_row(environment: Environment, record: Record, baseline: Record) -> RecordedRow:
    samples, base = record.by_round, baseline.by_round
    logs = {turn: math.log(base[turn] / samples[turn]) for turn in samples if turn in base}
    shortest = min(statistics.median(record.samples), statistics.median(baseline.samples))
    libraries = sorted(environment.software.items())
    code = record.artifact, baseline.picked, record.graph, record.cache, *record.identity[:-1], *libraries
    return RecordedRow(
        (environment.uuid, *code),
        environment.run,
        record.variant,
        find_speed_class(shortest),
        np.array(block_values(logs)),
    )


def group_by_class(rows: Iterable[RecordedRow]) -> dict[SpeedClass, list[RecordedRow]]:
    """The rows of each class, the fastest class first."""
    groups: dict[SpeedClass, list[RecordedRow]] = defaultdict(list)
    for row in rows:
        groups[row.speed].append(row)
    return dict(sorted(groups.items(), key=lambda item: item[0].limit))


def estimate_process_deviation(rows: Iterable[RecordedRow]) -> tuple[int, int, float]:
    """Rows that ran in several runs on one card, the runs more than one each, and the deviation between runs."""
    repeats: dict[tuple[object, ...], dict[str, RecordedRow]] = defaultdict(dict)
    for row in rows:
        repeats[row.key][row.run] = row
    several = [list(runs.values()) for runs in repeats.values() if len(runs) > 1]
    freedom, squares = 0, 0.0
    for runs in several:
        found = float(np.var([row.values.mean() for row in runs], ddof=1))
        expected = statistics.fmean(row.variance_of_mean for row in runs)
        freedom, squares = freedom + len(runs) - 1, squares + (len(runs) - 1) * (found - expected)
    return len(several), freedom, math.sqrt(max(squares / freedom, 0.0)) if freedom else math.nan


@dataclass(frozen=True)
class Coverage:
    """For simulated runs: how often an interval contains the truth, and the mean number of blocks they take."""

    held: float
    two_runs: float
    all_processes: float
    blocks: float


def simulate(rows: Sequence[RecordedRow], until: float, widening: float = WIDENING) -> Coverage:
    """Simulate runs of each row."""
    rng, count = np.random.default_rng(0), max(RUNS // len(rows), 40)
    held, two, every, blocks = [], [], [], []
    for row in rows:
        (mean, reach, taken), (other, its_reach, _) = (
            _measure(row.draw_blocks(rng, count), until, widening) for _ in range(2)
        )
        process, its_process = rng.normal(0, row.speed.deviation, (2, count))
        joint = np.sqrt(reach**2 + its_reach**2 + 2 * (t_quantile(math.inf) * row.speed.deviation) ** 2)
        held.append(np.mean(np.abs(mean) <= reach))
        two.append(np.mean(np.abs(mean + process - other - its_process) <= joint))
        every.append(np.mean(np.abs(mean + process) <= reach))
        blocks.append(taken.mean())
    return Coverage(*(float(np.mean(values)) for values in (held, two, every, blocks)))


def _measure(values: np.ndarray, until: float, widening: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The means, half-widths and numbers of blocks of runs that end when their interval is narrow."""
    means, reaches, blocks = np.zeros(len(values)), np.zeros(len(values)), np.zeros(len(values), int)
    for count in LOOKS:
        seen = values[:, :count]
        reach = widening * t_quantile(count - 1) * seen.std(axis=1, ddof=1) / math.sqrt(count)
        ends = (blocks == 0) & ((reach <= until) | (count == MOST_BLOCKS))
        means[ends], reaches[ends], blocks[ends] = seen.mean(axis=1)[ends], reach[ends], count
    return means, reaches, blocks


def _list_lines(groups: Mapping[SpeedClass, list[RecordedRow]]) -> Iterator[tuple[str, str, list[RecordedRow]]]:
    """Each class with all its kernels, and then with one of them: the one with the most blocks to resample."""
    taken: set[str] = set()
    for speed, rows in groups.items():
        yield speed.name, "all", rows
        counts: Counter[str] = Counter()
        for row in rows:
            if row.is_resampled and row.kernel not in taken:
                counts[row.kernel] += len(row.values)
        for kernel, _ in counts.most_common(1):
            taken.add(kernel)
            yield speed.name, kernel, [row for row in rows if row.kernel == kernel]


def _tabulate_processes(groups: Mapping[SpeedClass, list[RecordedRow]]) -> str:
    lines = []
    for speed, rows in groups.items():
        count, freedom, deviation = estimate_process_deviation(rows)
        lines.append((speed.name, count, count + freedom, _percent(deviation), _percent(speed.deviation)))
    return format_table(lines, ("speed", "rows", "measured", "deviation", "as gemmbench"))


def _tabulate_coverage(groups: Mapping[SpeedClass, list[RecordedRow]]) -> str:
    lines = []
    for until in UNTIL:
        for speed, kernel, rows in _list_lines(groups):
            noisiest = [row for row in rows if row.is_resampled]
            found = simulate(rows, until)
            hard = f"{_percent(simulate(noisiest, until).held, 1)} of {len(noisiest)} rows" if noisiest else "-"
            blocks = f"{found.blocks:.1f}"
            held, two, every = (_percent(each, 1) for each in (found.held, found.two_runs, found.all_processes))
            lines.append((f"{100 * until:g} %", speed, kernel, len(rows), blocks, held, hard, two, every))
    return format_table(lines, ("until", "speed", "kernel", "rows", "blocks", "held", "noisiest", "two runs", "all"))


def _percent(share: float, decimals: int = 3) -> str:
    return f"{100 * share:.{decimals}f} %"


def _find_kurtosis(values: np.ndarray) -> float:
    centred = values - values.mean()
    return float(np.mean(centred**4) / np.mean(centred**2) ** 2)


def _describe_shape(rows: Sequence[RecordedRow]) -> str:
    normal = np.random.default_rng(0).normal(size=(10_000, ENOUGH_BLOCKS))
    found, expected = (
        np.percentile([_find_kurtosis(each) for each in values], (25, 50, 75))
        for values in ([row.values[:ENOUGH_BLOCKS] for row in rows if row.values[:ENOUGH_BLOCKS].any()], normal)
    )
    recorded, drawn = (", ".join(f"{value:.2f}" for value in each) for each in (found, expected))
    return f"kurtosis of the first {ENOUGH_BLOCKS} blocks, quartiles: {recorded} (normal: {drawn})"


def main() -> None:
    """Print both tables."""
    paths = [Path(argument) for argument in sys.argv[1:]] or sorted(_FOLDER.glob("*.jsonl*"))
    rows = list(read_rows(paths))
    groups = group_by_class(rows)
    print(f"{_tabulate_processes(groups)}\n\n{_tabulate_coverage(groups)}\n\n{_describe_shape(rows)}")


if __name__ == "__main__":
    main()
