"""Where a `pick` loses: for each problem of recorded searches, the current pick and the best candidate.

    gemmbench tune sgemm -c sgemm_pick_tiny                    on the GPU
    python benchmarks/pick_losses.py sgemm results/RUN.jsonl   a line for each problem, the largest loss first

A speed is relative to the baseline in the same rounds: those of the finals if a candidate was in them, otherwise the
short rounds. The pick follows from the current manifest, so other conditions and parameters can be tried on recorded
searches before anything is measured again. The geometric mean of all problems is printed below.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from claims import format_table

from gemmbench.bench.record import Environment, Record
from gemmbench.bench.timing import stats
from gemmbench.bench.tuning.tuning_task import find_key, make_key
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Target, format_configuration
from gemmbench.planning.problems import Problem
from gemmbench.planning.search_space import Candidate, find_row
from gemmbench.report.store.reading import read_results
from gemmbench.report.text import count_noun

Speeds = dict[Candidate, float]
HEAD = ("problem", "row", "picked", "% of baseline", "best", "% of baseline", "loss")
_SHARED_MEMORY = 227 << 10
"""Bytes of a block on Hopper; older results files do not record them."""


@dataclass(frozen=True)
class Choice:
    """The pick of row `row` at a problem, and the best candidate there, with their speeds; NaN if not measured."""

    problem: Problem
    row: int
    picked: Candidate
    speed: float
    best: Candidate
    best_speed: float

    @property
    def loss(self) -> float:
        """How much slower the pick is than the best candidate; infinite if it was not measured."""
        return math.inf if math.isnan(self.speed) else self.best_speed / self.speed - 1

    @property
    def cells(self) -> list[str]:
        """The line of the table."""
        picked, best = _format_candidate(self.picked), _format_candidate(self.best)
        shares = _format_share(self.speed), _format_share(self.best_speed), _format_share(self.loss)
        return [str(self.problem), str(self.row), picked, shares[0], best, *shares[1:]]


def collect_speeds(records: Iterable[Record], baseline: str) -> dict[Problem, Speeds]:
    """The speed of every candidate relative to the baseline, by problem."""
    batches: dict[tuple[int, str], list[Record]] = {}
    for record in records:
        if record.status == "ok" and record.samples:
            batches.setdefault((record.batch, record.batch_key), []).append(record)
    logs: dict[tuple[Problem, Candidate], dict[bool, list[float]]] = {}
    for batch in batches.values():
        anchor = next((each for each in batch if each.variant == baseline), None)
        for record in (each for each in batch if anchor and each.variant != baseline):
            assert anchor is not None
            candidate = record.picked or record.variant, find_key(record)
            ratio = stats.speed_ratio(record.by_round, anchor.by_round).value
            by_length = logs.setdefault((record.problem, candidate), {})
            by_length.setdefault(record.is_short_load, []).append(math.log(ratio))
    speeds: dict[Problem, Speeds] = {}
    for (problem, candidate), by_length in logs.items():
        found = by_length.get(False) or by_length[True]
        speeds.setdefault(problem, {})[candidate] = math.exp(statistics.fmean(found))
    return speeds


def judge_pick(variant: Variant, target: Target, speeds: Mapping[Problem, Speeds]) -> list[Choice]:
    """The choices of a variant's pick at each problem that it computes, starting with the largest loss."""
    choices = []
    for problem, known in speeds.items():
        row = find_row(problem, variant, target.kind, {target.kind: target}, lambda *_: "")
        if row is None:
            continue
        pick, best = variant.picks[row], max(known, key=lambda candidate: known[candidate])
        assert pick.code is not None, "the catalog fills it in"
        picked = pick.variant, make_key({**pick.code.default(), **dict(pick.params)})
        choices.append(Choice(problem, row, picked, known.get(picked, math.nan), best, known[best]))
    return sorted(choices, key=lambda choice: -choice.loss)


def summarize(choices: Iterable[Choice]) -> str:
    """The geometric means of the picks and of the best candidates, where both were measured."""
    known = [choice for choice in choices if math.isfinite(choice.loss)]
    if not known:
        return "nothing that is picked was measured"
    picked = statistics.geometric_mean(choice.speed for choice in known)
    best = statistics.geometric_mean(choice.best_speed for choice in known)
    return f"{count_noun(len(known), 'problem')}: picked {picked:.1%} of the baseline, the best {best:.1%}"


def make_target(found: Environment) -> Target:
    """The device of a run, as far as its file records it."""
    return replace(found.target, smem=found.smem or _SHARED_MEMORY)


def _format_candidate(candidate: Candidate) -> str:
    return format_configuration(dict(candidate[1]), candidate[0])


def _format_share(share: float) -> str:
    return f"{share:.1%}" if math.isfinite(share) else "-"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variant", help="a variant with a `pick`")
    parser.add_argument("results", type=Path, nargs="+", help="results files of searches on one kind of device")
    parsed = parser.parse_args(arguments)
    variant = Catalog([data_folder("cuda")]).get(parsed.variant)
    if not variant.picks:
        parser.error(f"{variant.name} has no `pick`")
    runs = [read_results(path) for path in parsed.results]
    speeds: dict[Problem, Speeds] = {}
    for run in runs:
        for problem, known in collect_speeds(run.records, run.environment.baseline).items():
            speeds.setdefault(problem, {}).update(known)
    choices = judge_pick(variant, make_target(runs[0].environment), speeds)
    print(format_table([choice.cells for choice in choices], HEAD))
    print(summarize(choices))
    return 0


if __name__ == "__main__":
    sys.exit(main())
