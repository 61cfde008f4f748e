"""The costs of the rows of a `pick` that compete by estimate, fitted to the times of recorded searches.

    gemmbench tune sgemm -c many_shapes.yaml                 on the GPU, with the variants of sgemm_pick_middling
    python benchmarks/fit_costs.py sgemm results/RUN.jsonl   each row with its costs, to be copied into the manifest

A file of survey.py, which has times of more shapes, works as well. An estimate must be linear in its costs. They are
found by least squares of relative errors and are never negative; a time that is far from the fit counts less. A row
without at least twice as many times as costs keeps the costs that it has, because a few shapes fit anything. For shapes
that were not in the search, costs from a few dozen times for each row choose worse than those of `sgemm`, which come
from up to 500 shapes each. There, each cost was changed after the fit wherever that picked better kernels, which is not
done here.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pick_losses import make_target

from gemmbench.bench.record import Record
from gemmbench.bench.timing import stats
from gemmbench.bench.tuning.tuning_task import find_key, make_key
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.variant import Pick, Variant
from gemmbench.planning.plans.expansion import collect_names, list_rows
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.problems import Problem
from gemmbench.planning.search_space import Candidate
from gemmbench.report.store.reading import open_results_file, read_results
from gemmbench.report.text import count_noun

Array = NDArray[np.float64]
Times = dict[Candidate, dict[Problem, float]]
_UNIT = 10**6
"""A cost large enough that rounding to whole numbers does not remove its share of an estimate."""
_FAR = 0.08
"""From this relative error on, a time counts less."""


@dataclass(frozen=True)
class Fit:
    """The findings for row `number`: its costs, and the median relative errors with them and before."""

    number: int
    pick: Pick
    times: int
    costs: dict[str, int]
    error: float
    error_before: float

    def __str__(self) -> str:
        config = ", ".join(f"{name}: {value}" for name, value in self.pick.params)
        head = f"row {self.number}, {self.pick.variant} {{{config}}}: {count_noun(self.times, 'time')}"
        if not self.costs:
            return f"{head}, too few"
        costs = ", ".join(f"{name}: {value}" for name, value in self.costs.items())
        return f"{head}, error {self.error:.1%}, before {self.error_before:.1%}\n    costs: {{{costs}}}"


def collect_times(records: Iterable[Record]) -> Times:
    """The shortest time of every configuration at every problem, in seconds."""
    times: Times = {}
    for record in records:
        if record.status == "ok" and record.samples:
            known = times.setdefault((record.picked or record.variant, find_key(record)), {})
            time = stats.time_interval(record.by_round).value
            known[record.problem] = min(time, known.get(record.problem, time))
    return times


def read_survey(path: Path) -> tuple[Target, Times]:
    """The device and the times in a file that survey.py wrote, in seconds."""
    head, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    times: Times = {}
    for line in lines:
        for name, values, seconds in line["times"]:
            times.setdefault((name, make_key(values)), {})[Problem(*line["shape"])] = seconds
    return Target(**head["target"]), times


def read_times(paths: Sequence[Path]) -> tuple[Target, Times]:
    """The device of the first file, and the times in all of them, in seconds: results files or surveys."""
    files = [_read_file(path) for path in paths]
    times: Times = {}
    for _, found in files:
        for candidate, known in found.items():
            merged = times.setdefault(candidate, {})
            merged |= {problem: min(seconds, merged.get(problem, seconds)) for problem, seconds in known.items()}
    return files[0][0], times


def _read_file(path: Path) -> tuple[Target, Times]:
    with open_results_file(path) as file:
        is_survey = file.readline().startswith(b'{"target"')
    if is_survey:
        return read_survey(path)
    run = read_results(path)
    return make_target(run.environment), collect_times(run.records)


def list_terms(variant: Variant, pick: Pick, problem: Problem, target: Target) -> list[float]:
    """What a cost of 1 adds to the estimate of a row, cost by cost."""
    assert pick.estimate is not None, "only rows with costs are fitted"
    names = {**collect_names(variant, problem, target), **dict(pick.params)}
    costs = dict.fromkeys((name for name, _ in pick.costs), 0)
    return [pick.estimate.value({**names, **costs, name: _UNIT}) / _UNIT for name in costs]


def find_rivals(variant: Variant, problem: Problem, target: Target) -> frozenset[int]:
    """The rows that compete for a problem: neighbours with costs that match it, or one row if it has no costs."""
    rows = list(list_rows(problem, variant, "cuda", {"cuda": target}))
    if not rows or variant.picks[rows[0]].estimate is None:
        return frozenset(rows[:1])
    return frozenset(row for row in rows if find_first(variant, row) == find_first(variant, rows[0]))


def find_first(variant: Variant, number: int) -> int:
    """The first of the neighbouring rows with costs to which row `number` belongs; the row itself if it has none."""
    while number > 0 and variant.picks[number].estimate is not None and variant.picks[number - 1].estimate is not None:
        number -= 1
    return number


def fit_nonnegative(terms: Array, times: Array, rounds: int = 6, passes: int = 2000) -> Array:
    """The costs, none below 0, with which terms (times, costs) add up to times (times,), by relative least squares.

    Cyclic coordinate descent; times with a large error get less weight in the next round (Cauchy weights).
    """
    shares = terms / times[:, None]
    scale = np.maximum(np.linalg.norm(shares, axis=0), 1e-300)
    shares = shares / scale
    costs, weights = np.zeros(terms.shape[1]), np.ones(len(times))
    for _ in range(rounds):
        weighted = shares * weights[:, None]
        products, goal = weighted.T @ weighted, weighted.T @ weights
        for _ in range(passes):
            for j in range(len(costs)):
                if products[j, j] > 0:
                    costs[j] = max(0.0, costs[j] + (goal[j] - products[j] @ costs) / products[j, j])
        weights = 1 / np.sqrt(1 + ((shares @ costs - 1) / _FAR) ** 2)
    found: Array = costs / scale
    return found


def fit_rows(variant: Variant, times: Times, target: Target, unit: float) -> list[Fit]:
    """Fit all rows with costs to the problems for which they compete; `unit` is that of the estimates, in seconds."""
    fits = []
    rivals = {problem: find_rivals(variant, problem, target) for each in times.values() for problem in each}
    for number, pick in enumerate(variant.picks):
        if pick.estimate is None:
            continue
        assert pick.code is not None, "the catalog fills it in"
        measured = times.get((pick.variant, make_key({**pick.code.default(), **dict(pick.params)})), {})
        known = {problem: time for problem, time in measured.items() if number in rivals[problem]}
        if len(known) < 2 * len(pick.costs):
            fits.append(Fit(number, pick, len(known), {}, 0, 0))
            continue
        terms = np.array([list_terms(variant, pick, problem, target) for problem in known])
        goal = np.array(list(known.values())) / unit
        costs = np.array([float(f"{cost:.3g}") for cost in fit_nonnegative(terms, goal)]).round()
        before = np.array([value for _, value in pick.costs])
        errors = [float(np.median(abs(terms @ each / goal - 1))) for each in (costs, before)]
        named = {name: int(cost) for (name, _), cost in zip(pick.costs, costs, strict=True)}
        fits.append(Fit(number, pick, len(known), named, *errors))
    return fits


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the rows with their costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variant", help="a variant with a `pick`")
    parser.add_argument(
        "results", type=Path, nargs="+", help="results files of searches on one kind of device, or files of survey.py"
    )
    parser.add_argument("--unit", type=float, default=1e-12, help="seconds of one unit of the estimates")
    parsed = parser.parse_args(arguments)
    variant = Catalog([data_folder("cuda")]).get(parsed.variant)
    if all(pick.estimate is None for pick in variant.picks):
        parser.error(f"{variant.name} has no `pick` whose rows have costs")
    target, times = read_times(parsed.results)
    for fit in fit_rows(variant, times, target, parsed.unit):
        print(fit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
