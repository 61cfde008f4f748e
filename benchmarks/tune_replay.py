"""How good a search strategy would have been, found by replaying it on the exhaustive sweep of a results file.

    python benchmarks/record.py sgemm_schedule-space gemm_v4-space      on the GPU
    python benchmarks/tune_replay.py results/nvidia-h200/*-space.jsonl.gz  a line for each variant, problem, strategy

`within` counts the seeds whose best configuration, after `--share` of the evaluations, is at most `--loss` slower than
the best of the sweep. The seconds are those of the file, so noise between runs has no influence. With --out FOLDER the
table is also written there as CSV; its card is that of the files.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tables import show_table

from gemmbench.bench.record import Record
from gemmbench.bench.timing.stats import time_interval
from gemmbench.errors import UsageError
from gemmbench.planning.search_space import STRATEGIES, SearchSpace, make_strategy
from gemmbench.report.store.reading import read_results

Key = tuple[tuple[str, int], ...]
_SMALLEST = 20
HEAD = ("variant", "problem", "strategy", "evaluations", "within", "median loss", "largest loss")


def group_seconds(records: Iterable[Record]) -> dict[tuple[str, str], dict[Key, float | None]]:
    """The seconds of each configuration, None if it failed, by variant and problem; spaces of 20 and more."""
    spaces: dict[tuple[str, str], dict[Key, float | None]] = {}
    for record in records:
        if record.phase == "sweep" and record.config and record.status != "skipped":
            timed = record.status == "ok" and bool(record.samples)
            seconds = time_interval(record.by_round).value if timed else None
            names = record.variant, str(record.problem)
            spaces.setdefault(names, {})[tuple(sorted(record.config.items()))] = seconds
    return {names: space for names, space in spaces.items() if len(space) >= _SMALLEST and any(space.values())}


def replay_search(recorded: Mapping[Key, float | None], strategy: str, seed: int, evaluations: int) -> float:
    """How much slower the best configuration found is than the best recorded, as a fraction; inf if none was found."""
    search = make_strategy(strategy, SearchSpace(tuple(dict(key) for key in recorded)), seed)
    found = []
    for _ in range(evaluations):
        configuration = search.ask()
        if configuration is None:
            break
        seconds = recorded[tuple(sorted(configuration.items()))]
        search.tell(configuration, seconds)
        found += [seconds] if seconds is not None else []
    best = min(seconds for seconds in recorded.values() if seconds is not None)
    return min(found, default=float("inf")) / best - 1


def summarize_losses(losses: Sequence[float], limit: float) -> tuple[str, str, str]:
    """How many losses are within the limit, their median and the largest."""
    ordered = sorted(losses)
    within = sum(loss <= limit for loss in losses)
    return f"{within} of {len(losses)}", f"{ordered[len(ordered) // 2]:.2%}", f"{ordered[-1]:.2%}"


def main() -> int:
    """Print a line for each variant, problem and strategy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+", help="results files with an exhaustive sweep")
    parser.add_argument("--strategy", choices=STRATEGIES, action="append", help="default: all")
    parser.add_argument("--share", type=float, default=0.2, help="evaluations, as a share of the space")
    parser.add_argument("--loss", type=float, default=0.01, help="allowed loss against the best of the sweep")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, help="folder of the CSV")
    arguments = parser.parse_args()
    rows, runs = [], [read_results(path) for path in arguments.results]
    for run in runs:
        for names, recorded in group_seconds(run.records).items():
            count = max(1, round(arguments.share * len(recorded)))
            for strategy in arguments.strategy or STRATEGIES:
                losses = [replay_search(recorded, strategy, seed, count) for seed in range(arguments.seeds)]
                within = summarize_losses(losses, arguments.loss)
                rows.append((*names, strategy, f"{count} of {len(recorded)}", *within))
    if not rows:
        raise UsageError(f"no sweep of {_SMALLEST} or more configurations in these files; run one without a search")
    cards = ", ".join(dict.fromkeys(run.environment.device for run in runs))
    show_table(HEAD, rows, arguments.out / "tune_replay.csv" if arguments.out else None, card=cards)
    return 0


if __name__ == "__main__":
    sys.exit(main())
