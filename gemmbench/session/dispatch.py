"""Chooses the configuration for each row of a `pick` from the results of searches, and writes it into the manifest."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gemmbench.backends.devices import Machine
from gemmbench.bench.timing.stats import Interval
from gemmbench.bench.tuning.outcome import ChosenRow, HeldOut, SearchOutcome, compare_values
from gemmbench.bench.tuning.screening import CandidateBatches
from gemmbench.bench.tuning.tuning_task import Key, TuningTask, find_key, make_key
from gemmbench.errors import SpecError, StoreError, UsageError
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.variant import Candidate, Params, Pick, Variant
from gemmbench.planning.plans.plan import Chain
from gemmbench.planning.problems import Problem
from gemmbench.planning.search_space import Scores, choose_candidate, choose_held_out, find_row
from gemmbench.planning.sweeps.sweep import VariantChoice
from gemmbench.report.export import replace_file
from gemmbench.session.machine import open_catalog

_PICK = re.compile(r"pick:\s*(#.*)?$")
_VARIANT = re.compile(r"(?P<head>\s*(?:-\s+)?variant:\s*)(?P<value>[\w.]+)(?P<tail>\s*(?:#.*)?)$")
_PARAMS = re.compile(r"(?P<head>\s*(?:-\s+)?params:\s*)(?P<value>\{[^}#]*\})(?P<tail>\s*(?:#.*)?)$")
_NEXT_KEY = re.compile(r"(?!- )[^\s#]")
_KEY = re.compile(r"\s*(?:-\s+)?params:")


@dataclass(frozen=True)
class PickRow:
    """The variant and parameter values that a row of `pick` names."""

    variant: str
    params: Mapping[str, int]

    def __str__(self) -> str:
        return f"{{{', '.join(f'{name}: {value}' for name, value in self.params.items())}}}"


def replace_pick_rows(text: str, rows: Mapping[int, PickRow], location: str) -> str:
    """Return the text of a manifest with new variants and parameters in some rows of `pick`, numbered from 0.

    Conditions, comments and all other rows stay unchanged. Raises SpecError for a row that is written in another style.
    """
    lines = text.split("\n")
    places = list(_find_rows(lines))
    for number in sorted(rows, reverse=True):
        if number >= len(places):
            raise SpecError(location, None, "pick: its rows are not a list of lines that begin with `- `")
        first, end = places[number]
        lines[first:end] = _rewrite_row(lines[first:end], rows[number], location, first + 1)
    return "\n".join(lines)


def _find_rows(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the first line of each row of `pick` and the line after its last line."""
    start = next((number for number, line in enumerate(lines) if _PICK.match(line)), len(lines))
    end = next((number for number in range(start + 1, len(lines)) if _NEXT_KEY.match(lines[number])), len(lines))
    firsts = [number for number in range(start + 1, end) if re.match(r"\s*- ", lines[number])]
    depth = min((len(lines[number]) - len(lines[number].lstrip()) for number in firsts), default=0)
    firsts = [number for number in firsts if re.match(rf"\s{{{depth}}}- ", lines[number])]
    yield from zip(firsts, [*firsts[1:], end], strict=True)


def _rewrite_row(lines: list[str], row: PickRow, location: str, number: int) -> list[str]:
    found = next((index for index, line in enumerate(lines) if _VARIANT.match(line)), None)
    if found is None:
        raise SpecError(location, number, "pick: write `variant: NAME` on a separate line")
    written = [_substitute(_VARIANT, line, row.variant) if index == found else line for index, line in enumerate(lines)]
    params = next((index for index, line in enumerate(lines) if _KEY.match(line)), None)
    if params is None:
        indent = re.sub(r"[^ ]", " ", written[found][: written[found].index("variant:")])
        return [*written[: found + 1], *([f"{indent}params: {row}"] if row.params else []), *written[found + 1 :]]
    if not _PARAMS.match(lines[params]):
        raise SpecError(location, number + params, "pick: write `params: {NAME: VALUE, ...}` on one line")
    written[params] = _substitute(_PARAMS, lines[params], str(row))
    return written


def _substitute(pattern: re.Pattern[str], line: str, value: str) -> str:
    return pattern.sub(lambda found: f"{found['head']}{value}{found['tail']}", line)


def find_dispatching(names: Sequence[str], catalog: Catalog, is_needed: bool) -> Variant | None:
    """Return the named variant if it has a `pick`, else None.

    Raises UsageError if other variants are named too, or if a `pick` is needed and there is none.
    """
    found = [variant for variant in map(catalog.get, names) if variant.picks]
    if found and len(names) > 1:
        raise UsageError(f"{found[0].name} picks from other kernels; tune it alone")
    if is_needed and not found:
        raise UsageError("--write-pick needs one kernel with a `pick`, such as sgemm")
    return found[0] if found else None


def list_candidate_names(variant: Variant) -> tuple[str, ...]:
    """List the variants that a variant picks from, without duplicates."""
    return tuple(dict.fromkeys(pick.variant for pick in variant.picks))


def list_present_choices(variant: Variant, problems: Sequence[Problem], machine: Machine) -> list[VariantChoice]:
    """List the variants and parameters now named by those rows of a `pick` that compute these problems."""
    numbers = {_find_row(problem, variant, machine) for problem in problems}
    picks = [pick for number, pick in enumerate(variant.picks) if number in numbers]
    return [VariantChoice(pick.variant, _list_values(pick), own=True) for pick in picks]


def list_present_keys(variant: Variant, name: str) -> list[Key]:
    """List the configurations of the variant `name` that the rows of a `pick` name now."""
    picks = [pick for pick in variant.picks if pick.variant == name and pick.code]
    return [make_key(pick.values) for pick in picks if pick.code]


def _find_row(problem: Problem, variant: Variant, machine: Machine) -> int | None:
    return find_row(problem, variant, machine.choice.primary, machine.targets, machine.why_refused)


def _list_values(pick: Pick) -> Params:
    return {name: (value,) for name, value in pick.params}


def choose_rows(
    variant: Variant, outcomes: Sequence[SearchOutcome], machine: Machine, share: float, seed: int
) -> tuple[list[ChosenRow], dict[Problem, int]]:
    """Choose a candidate for every row, and find the row of every held-out problem.

    Rows keep their conditions. The row without a condition serves all other devices and problems and is not changed.
    """
    scores = _collect_scores(outcomes)
    rows: dict[int, list[Problem]] = {}
    for problem in scores:
        number = _find_row(problem, variant, machine)
        if number is not None:
            rows.setdefault(number, []).append(problem)
    conditional = {number: problems for number, problems in rows.items() if variant.picks[number].when is not None}
    held = choose_held_out(conditional, share, seed)
    training = {number: [each for each in problems if each not in held] for number, problems in rows.items()}
    chosen = [_choose_row(variant, number, training.get(number, []), scores) for number in range(len(variant.picks))]
    return chosen, {problem: number for number, problems in rows.items() for problem in problems if problem in held}


def _choose_row(variant: Variant, number: int, problems: Sequence[Problem], scores: Scores) -> ChosenRow:
    pick = variant.picks[number]
    row = ChosenRow(pick.row, str(pick.when) if pick.when else "", tuple(problems), None, math.nan)
    if not problems:
        return replace(row, reason="no problem of this search falls to it")
    if pick.estimate is not None:
        return replace(row, reason="its candidates compete by their estimates; --survey fits them")
    if pick.when is None:
        return replace(row, reason="it has no condition, because it serves the problems that no other row does")
    assert pick.code is not None, "the catalog fills it in"
    needed = (set(pick.code.precisions) & set(variant.precisions)) | (set(pick.code.layouts) & set(variant.layouts))
    offered = {each.variant: {*each.code.precisions, *each.code.layouts} for each in variant.picks if each.code}
    candidate = choose_candidate(problems, scores, lambda name: needed <= offered[name])
    if candidate is None:
        return replace(row, reason="no candidate ran at all its problems in all its precisions and layouts")
    loss = math.fsum(scores[p][candidate] - min(scores[p].values()) for p in problems) / len(problems)
    return replace(row, candidate=candidate, loss=math.expm1(loss))


def _collect_scores(outcomes: Sequence[SearchOutcome]) -> dict[Problem, dict[Candidate, float]]:
    """Return the score of each candidate at each problem."""
    scores: dict[Problem, dict[Candidate, float]] = {}
    for outcome in outcomes:
        known = scores.setdefault(outcome.task.problem, {})
        known |= {(outcome.task.name, key): value for key, value in outcome.relative_values.items()}
    return {problem: known for problem, known in scores.items() if known}


def evaluate_rows(
    rows: Sequence[ChosenRow], held: dict[Problem, int], outcomes: Sequence[SearchOutcome], batches: CandidateBatches
) -> list[HeldOut]:
    """Measure in full, at the held-out problems, what the rows pick and the best candidate there."""
    scores, found = _collect_scores(outcomes), []
    for problem, number in held.items():
        picked = rows[number].candidate
        if picked is None or batches.runner.is_interrupted():
            continue
        best = min(scores[problem], key=lambda each: scores[problem][each])
        found.append(HeldOut(problem, picked, best, _measure_loss(problem, picked, best, outcomes, batches)))
    return found


def _measure_loss(
    problem: Problem, picked: Candidate, best: Candidate, outcomes: Sequence[SearchOutcome], batches: CandidateBatches
) -> Interval:
    """Return the time of the picked candidate divided by that of the best; NaN if one of them does not run."""
    if picked == best:
        return Interval(1.0, 1.0, 1.0)
    tasks = [outcome.task for outcome in outcomes if outcome.task.problem == problem]
    goal = outcomes[0].goal
    chains = [chain for each in (picked, best) for chain in _find_chain(each, tasks)]
    if len(chains) < 2:
        return Interval(math.nan)
    records = batches.measure(chains, tasks[0].baseline)
    right = [record for record in records if record.status == "ok" and record.samples]
    rows = {(record.variant, find_key(record)): record for record in right}
    if picked not in rows or best not in rows:
        return Interval(math.nan)
    return compare_values(goal, rows[best], rows[picked])


def _find_chain(candidate: Candidate, tasks: Sequence[TuningTask]) -> list[Chain]:
    name, key = candidate
    return [task.chains[key] for task in tasks if task.name == name and key in task.chains]


def write_rows(variant: Variant, rows: Sequence[ChosenRow], kernels: str | None) -> Path | None:
    """Write the chosen rows into the variant's manifest and return its path; None if no row has a candidate.

    Raises StoreError, also if the rows were edited after the variant was read, and SpecError.
    """
    if not any(row.candidate for row in rows):
        return None
    catalog = open_catalog(kernels)
    if catalog.get(variant.name).picks != variant.picks:
        path = catalog.find_file(variant.name)
        raise StoreError(f"{path}: its pick, or a kernel that it picks, changed during the search; nothing is written")
    names = {pick.variant: [name for name, _ in pick.code.params] for pick in variant.picks if pick.code}
    changes = {}
    for row in rows:
        if row.candidate is not None:
            name, values = row.candidate[0], dict(row.candidate[1])
            changes[row.number] = PickRow(name, {each: values[each] for each in names[name]})
    path, text = _replace_rows(variant, changes, catalog)
    try:
        replace_file(path, text)
    except OSError as fault:
        raise StoreError(f"{path}: cannot be written: {fault.strerror}; the rows are in the table") from None
    return path


def refuse_unwritable(variant: Variant, catalog: Catalog) -> None:
    """Check that `write_rows` can change every row of a variant's `pick`.

    Raises StoreError, UsageError and SpecError.
    """
    single = [pick for pick in variant.picks if pick.estimate is None]
    present = {pick.row: PickRow(pick.variant, dict(pick.params)) for pick in single}
    _replace_rows(variant, present, catalog)


def _replace_rows(variant: Variant, rows: Mapping[int, PickRow], catalog: Catalog) -> tuple[Path, str]:
    """Return the path of a variant's file and its text with new rows. Raises StoreError, UsageError and SpecError."""
    path = catalog.find_file(variant.name)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as fault:
        raise StoreError(f"{path}: cannot be read: {fault.strerror}") from None
    if not os.access(path, os.W_OK):
        raise StoreError(f"{path}: cannot be written: you do not have permission; --write-pick changes this file")
    return path, replace_pick_rows(text, rows, variant.path)
