"""The search for the best tiles of `blocktile_2d` at 4096: how long it takes from a cold start, and what it finds."""

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from claims import Claim, command, format_table
from gemmbench.bench.record import CHECK, RANKING, Record
from gemmbench.bench.timing import stats
from gemmbench.planning.plans.plan import format_configuration
from gemmbench.report.store.reading import read_results

RUNS, MOST_SECONDS, MOST_LOSS = 10, 12.0, 0.005
VARIANT, BASELINE = "blocktile_2d", "cublas"


def check(folder: Path) -> Claim:
    """Tune in ten processes, each with an empty cache and without earlier winners."""
    searches, seconds = [], []
    with tempfile.TemporaryDirectory() as home:
        for number in range(RUNS):
            place = Path(home) / str(number)
            started = time.monotonic()
            searches.append(run_search(place))
            seconds.append(time.monotonic() - started)
    losses = find_losses(searches)
    verified = [f"{len(find_timed(each) & find_verified(each))} of {len(find_timed(each))}" for each in searches]
    rows = [
        (number, f"{spent:.1f}", checked, winner, f"{loss:.2%}")
        for number, (spent, checked, (winner, loss)) in enumerate(zip(seconds, verified, losses, strict=True), 1)
    ]
    good = sum(loss <= MOST_LOSS for _, loss in losses)
    median = statistics.median(seconds)
    return Claim(
        f"`gemmbench tune {VARIANT} --sizes 4096` takes at most {MOST_SECONDS:g} s in the median of {RUNS} runs with "
        f"an empty compile cache, and each finds the best of all their finalists, or one within 0.5 % of it",
        format_table(rows, ["run", "seconds", "verified", "winner", "slower than the best"]),
        f"{median:.1f} s (median), {good} of {RUNS} within 0.5 %",
        median <= MOST_SECONDS and good == RUNS,
    )


def run_search(place: Path) -> Sequence[Record]:
    """Tune in a separate process, with an empty cache and without earlier winners, into a new folder."""
    place.mkdir()
    homes = {"GEMMBENCH_CACHE_DIR": str(place / "cache"), "GEMMBENCH_DATA_DIR": str(place / "data")}
    call = command("tune", VARIANT, "--sizes", "4096", "--baseline", BASELINE, "--out", str(place / "results"))
    subprocess.run(call, env={**os.environ, **homes}, capture_output=True, text=True, check=True)
    (path,) = (place / "results").glob("*.jsonl")
    return read_results(path).records


def list_finalists(records: Sequence[Record]) -> dict[str, Record]:
    """The correct finals of a search by their configurations, the best first."""
    right = [record for record in records if record.phase == "final" and record.variant == VARIANT and record.ranked]
    right.sort(key=lambda record: stats.time_interval(record.by_round).value)
    return {format_configuration(record.config): record for record in right}


def find_losses(searches: Sequence[Sequence[Record]]) -> list[tuple[str, float]]:
    """The winner of each search, and how much slower than the best one it is, by the ratios of all finals together."""
    found: dict[str, list[float]] = {}
    winners = []
    for records in searches:
        baseline = next(record for record in records if record.phase == "final" and record.variant == BASELINE)
        finalists = list_finalists(records)
        for name, record in finalists.items():
            found.setdefault(name, []).append(stats.speed_ratio(record.by_round, baseline.by_round).value)
        winners.append(next(iter(finalists)))
    speeds = {name: statistics.fmean(ratios) for name, ratios in found.items()}
    return [(name, max(speeds.values()) / speeds[name] - 1) for name in winners]


def find_timed(records: Sequence[Record]) -> set[tuple[tuple[str, int], ...]]:
    """The configurations that got first rounds."""
    return {tuple(each.config.items()) for each in records if each.phase == RANKING and each.variant == VARIANT}


def find_verified(records: Sequence[Record]) -> set[tuple[tuple[str, int], ...]]:
    """The configurations that were found correct before they were timed."""
    return {tuple(each.config.items()) for each in records if each.phase == CHECK and each.status == "ok"}
