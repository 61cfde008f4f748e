"""Where a `pick` loses: for each problem of recorded searches, what it picks now, and the best candidate.

    gemmbench tune sgemm -c sgemm_pick_tiny                    on the GPU
    python benchmarks/pick_losses.py sgemm results/RUN.jsonl   a line for each problem, the largest loss first

A speed is relative to the baseline in the same rounds: in the finals where a candidate was in them, otherwise in the
short rounds. What is picked follows from the manifest as it is now, so that other conditions and parameters can be
tried on recorded searches before anything is measured again. Below is the geometric mean of all problems.
"""

import argparse
import math
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from claims import format_table

from gemmbench.bench.record import Environment, Record
from gemmbench.bench.timing import stats
from gemmbench.errors import UsageError
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.paths import data_folder
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Config, Plan, Target, format_configuration
from gemmbench.planning.problems.problem import Problem
from gemmbench.report import store
from gemmbench.report.text import count_noun

Candidate = tuple[str, tuple[tuple[str, int], ...]]
"""A variant, and its parameters sorted."""
Speeds = Mapping[Candidate, float]
HEAD = ("problem", "row", "picked", "% of baseline", "best", "% of baseline", "loss")
_SHARED_MEMORY = 227 << 10
"""Bytes of a block on Hopper; a results file does not have them."""


def collect_speeds(records: Iterable[Record], baseline: str) -> dict[Problem, dict[Candidate, float]]:
    """The speed of every candidate relative to the baseline, by problem."""
    batches: dict[tuple[Problem, int, str], list[Record]] = {}
    for record in records:
        if record.status == "ok" and record.samples:
            batches.setdefault((record.problem, record.batch, record.batch_key), []).append(record)
    short: dict[Problem, dict[Candidate, list[float]]] = {}
    full: dict[Problem, dict[Candidate, list[float]]] = {}
    for (problem, *_), batch in batches.items():
        anchor = next((each for each in batch if each.variant == baseline), None)
        for record in batch if anchor else ():
            assert anchor is not None
            if record.variant != baseline:
                name = record.picked or record.variant
                found = (short if record.is_short_load else full).setdefault(problem, {})
                ratio = stats.speed_ratio(record.by_round, anchor.by_round).value
                found.setdefault((name, tuple(sorted(record.config.items()))), []).append(math.log(ratio))
    return {
        problem: {
            candidate: math.exp(statistics.fmean(logs))
            for candidate, logs in {**short.get(problem, {}), **full.get(problem, {})}.items()
        }
        for problem in dict.fromkeys((*short, *full))
    }


def find_picked(variant: Variant, problem: Problem, target: Target) -> tuple[int, Candidate] | None:
    """The number of the row of `pick` that computes a problem, and what it names; None if there is none."""
    for number, row in enumerate(variant.picks):
        chosen = [(replace(variant, picks=(row,)), [Config()])]
        (plan,) = make_plans([problem], chosen, target.kind, {target.kind: target}, lambda *_: "")
        if isinstance(plan, Plan):
            assert row.code is not None, "the catalog fills it in"
            return number, (row.variant, tuple(sorted({**row.code.default(), **dict(row.params)}.items())))
    return None


def list_losses(variant: Variant, target: Target, speeds: Mapping[Problem, Speeds]) -> list[tuple[float, list[str]]]:
    """For each problem how much slower the pick is than the best candidate, NaN if it was not measured, and cells."""
    found = []
    for problem, known in speeds.items():
        row = find_picked(variant, problem, target)
        best = max(known, key=lambda candidate: known[candidate])
        speed = known.get(row[1], math.nan) if row else math.nan
        loss = known[best] / speed - 1
        name = [str(row[0]), _format_candidate(row[1])] if row else ["-", "-"]
        cells = [str(problem), *name, _format_share(speed), _format_candidate(best), _format_share(known[best])]
        found.append((loss, [*cells, _format_share(loss)]))
    return sorted(found, key=lambda each: -math.inf if math.isnan(each[0]) else -each[0])


def summarize(variant: Variant, target: Target, speeds: Mapping[Problem, Speeds]) -> str:
    """The geometric means of what is picked and of the best candidates, where both were measured."""
    pairs = [
        (known[row[1]], max(known.values()))
        for problem, known in speeds.items()
        if (row := find_picked(variant, problem, target)) and row[1] in known
    ]
    means = [math.exp(statistics.fmean(map(math.log, each))) for each in zip(*pairs, strict=True)] if pairs else []
    if not means:
        return "nothing that is picked was measured"
    return f"{count_noun(len(pairs), 'problem')}: picked {means[0]:.1%} of the baseline, the best {means[1]:.1%}"


def make_target(environment: Environment) -> Target:
    """The device of a run, as far as its file has it."""
    found = environment
    return Target(found.backend, found.sm, found.sms, _SHARED_MEMORY, found.l2, found.memory, is_gpu=bool(found.gpu))


def _format_candidate(candidate: Candidate) -> str:
    return f"{candidate[0]}: {format_configuration(dict(candidate[1]))}"


def _format_share(share: float) -> str:
    return "-" if math.isnan(share) else f"{share:.1%}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variant", help="a variant with a `pick`")
    parser.add_argument("results", type=Path, nargs="+", help="results files of searches on one kind of device")
    parsed = parser.parse_args(arguments)
    variant = Catalog([data_folder("cuda")]).get(parsed.variant)
    if not variant.picks:
        raise UsageError(f"{variant.name} has no `pick`")
    speeds: dict[Problem, dict[Candidate, float]] = {}
    for path in parsed.results:
        run = store.read(path)
        target = make_target(run.environment)
        for problem, known in collect_speeds(run.records, run.environment.baseline).items():
            speeds.setdefault(problem, {}).update(known)
    print(format_table([cells for _, cells in list_losses(variant, target, speeds)], HEAD))
    print(summarize(variant, target, speeds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
