"""Surveys the candidates of a `pick` on a card, fits the constants of their models, and judges what is then picked."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from gemmbench.backends.code_hash import hash_code
from gemmbench.backends.devices import Machine
from gemmbench.bench.build import Built, CompilerPool, wait_for_any
from gemmbench.bench.experiments.context import SWEEP
from gemmbench.bench.tuning.cost_fit import check_linear, fit_costs, is_held_out, judge_picks
from gemmbench.bench.tuning.screening import CandidateBatches, CheckedCode
from gemmbench.bench.tuning.survey import (
    PlanTime,
    SurveyBatch,
    SurveyedShape,
    SurveyFile,
    SurveyHead,
    Verified,
    read_survey,
)
from gemmbench.errors import DeviceError, StoreError, UsageError
from gemmbench.planning.drawn_shapes import generate_shapes
from gemmbench.planning.files import display_path
from gemmbench.planning.manifests.card_costs import (
    RegionCosts,
    find_costs_file,
    find_fitted,
    follow_same_as,
    format_costs,
    read_costs,
)
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.variant import ALL, ONE, Candidate, CostsFile, Variant
from gemmbench.planning.plans.configurations import Configurations, list_configurations
from gemmbench.planning.plans.evaluation import Excluded
from gemmbench.planning.plans.expansion import collect_names, group_picks, make_plans, straighten
from gemmbench.planning.plans.plan import Chain, Config, Plan, Skip, Target, make_chain, shorten_device
from gemmbench.planning.plans.skip_reasons import explain_unsuitable
from gemmbench.planning.problems import Problem
from gemmbench.planning.sizes import Shape
from gemmbench.planning.source_tree import identify_sources
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.run_request import RunRequest
from gemmbench.report.export import replace_file
from gemmbench.report.store.reading import open_results_file
from gemmbench.report.tables.survey_tables import SurveyResult
from gemmbench.report.text import count_noun
from gemmbench.session.awkward_checks import plan_awkwardly
from gemmbench.session.machine import open_catalog
from gemmbench.session.open_session import Session, open_session
from gemmbench.session.reporter import SILENT, Reporter
from gemmbench.session.tuning_runs import open_compilers

_SUFFIX = ".survey"
_PERIOD = 0.2
"""Seconds between looks at the compilers."""
_AHEAD = 64
"""Drawn shapes that are planned before the first of them is timed."""
_MOST_UNFIT = 1000
"""Drawn shapes in a row that no candidate can compute."""
_MOST_FAILURES = 3
"""After this many failures in a layout and precision, a candidate is no longer timed there."""
_LONGEST_REASON = 200

_Key = tuple[bool, Candidate]
"""Whether it is a candidate or a library, and its name and configuration."""


@dataclass(frozen=True)
class SurveyOptions:
    """How to survey: for how many seconds, the file or folder that keeps the times, and what to do with them.

    The share `hold_out` of the shapes judges the fit. With `write_pick`, the file of the card's constants is written.
    """

    seconds: float
    out: Path
    hold_out: float
    write_pick: bool = False


@dataclass(eq=False)
class _Combination:
    """A layout and precision: the candidates that have both, the code to verify, and shapes drawn for them."""

    layout: str
    precision: str
    shapes: Iterator[tuple[str, Shape]]
    checks: dict[Candidate, Plan | Skip]
    verified: set[Candidate] = field(default_factory=set)
    wrong: set[Candidate] = field(default_factory=set)
    drawn: int = 0
    is_used_up: bool = False
    failures: Counter[Candidate] = field(default_factory=Counter)

    def is_timed(self, candidate: Candidate) -> bool:
        """Return whether a candidate is worth launching."""
        return candidate in self.checks and candidate not in self.wrong and self.failures[candidate] < _MOST_FAILURES


@dataclass(frozen=True)
class _Prepared:
    """A drawn problem, its plans with the candidate or library that each belongs to, and the jobs that compile them.

    `checking` are the jobs of what verification launches.
    """

    combination: _Combination
    problem: Problem
    kind: str
    keys: Sequence[_Key]
    plans: Sequence[Plan]
    jobs: Sequence[Future[Built]]
    checking: Sequence[Future[Built]]

    @property
    def is_compiled(self) -> bool:
        return all(job.done() for job in (*self.jobs, *self.checking))


def survey_candidates(
    request: RunRequest, machine: Machine, how: SurveyOptions, reporter: Reporter = SILENT
) -> SurveyResult:
    """Time the candidates of a pick at drawn shapes until time is up, and fit their constants.

    Every shape is kept as soon as it is measured. A file of the same variant and card is continued. Raises
    GemmbenchError.
    """
    deadline = time.monotonic() + how.seconds
    catalog = open_catalog(request.selection.kernels)
    variant = _find_variant(request.selection.variants, catalog)
    target = machine.primary.target
    if not target.is_gpu:
        raise DeviceError("--survey needs a GPU: times on the CPU say nothing about one; --from FILE fits without one")
    check_linear(variant, target)
    if how.write_pick:
        _check_writable(variant, target)
    seed = request.measuring.seed or 0
    combinations = _list_combinations(request, variant, machine, seed)
    path = how.out if how.out.suffix else how.out / f"{variant.name}-{target.card or target.kind}{_SUFFIX}"
    head = SurveyHead(
        variant.name,
        target,
        _hash_codes(variant),
        datetime.now(timezone.utc).isoformat(timespec="seconds"),
        identify_sources().revision,
    )
    known = _read_known(path, head) if path.exists() else set()
    if known:
        reporter.message(f"continuing {path}, which has {count_noun(len(known), 'shape')}")
    limits, gate = request.limits, request.measuring.gate
    with (
        open_session(machine, [machine.choice.primary], limits, reporter, gate=gate) as session,
        open_compilers(session) as pool,
        ThreadPoolExecutor(1) as planner,
    ):
        surveyor = _Surveyor(variant, catalog, machine, session, pool, combinations, known, deadline)
        planning = planner.submit(surveyor.plan_ahead)
        head = replace(head, software=dict(session.software))  # waits until the device is open
        pool.use_all_threads()
        with SurveyFile(path, head) as file:
            try:
                surveyor.run(file, planning)
            finally:
                surveyor.stop()
        interrupted = session.is_interrupted()
    return _fit_surveys([path], catalog, variant, how, seed, path, interrupted)


def _find_variant(names: Sequence[str], catalog: Catalog) -> Variant:
    """Return the variant whose candidates are surveyed. Raises UsageError."""
    if len(names) != 1:
        raise UsageError("--survey needs one kernel with a `pick`, such as sgemm")
    variant = catalog.get(names[0])
    if not variant.picks:
        raise UsageError(f"{variant.name} has no `pick`, so there is nothing to survey; name a kernel that has one")
    return variant


def _hash_codes(variant: Variant) -> dict[str, str]:
    """Return a hash of the code of each variant that is picked."""
    return {pick.variant: hash_code(pick.code) for pick in variant.picks if pick.code}


def _check_writable(variant: Variant, target: Target) -> None:
    """Raise StoreError if the constants could not be written, before anything is measured."""
    path = _find_costs_path(variant, target)
    place = path if path.exists() else path.parent if path.parent.exists() else path.parent.parent
    if not os.access(place, os.W_OK):
        raise StoreError(f"{path}: cannot be written: you do not have permission; --write-pick writes this file")


def _find_costs_path(variant: Variant, target: Target) -> Path:
    if not target.card:
        raise UsageError("--write-pick: the name of this device is unknown, so its file has no name; leave it out")
    return find_costs_file(Path(variant.code.file), target.card)


def _list_combinations(request: RunRequest, variant: Variant, machine: Machine, seed: int) -> list[_Combination]:
    """List the layouts and precisions to survey, with the candidates that have both. Raises UsageError, DeviceError."""
    selection, found, reason = request.selection, [], ""
    layouts, precisions = selection.layouts or variant.layouts, selection.precisions or variant.precisions
    for word, chosen, declared in (("layout", layouts, variant.layouts), ("precision", precisions, variant.precisions)):
        for name in chosen:
            if name not in declared:
                raise UsageError(f"{variant.name} does not support {word} {name}; supports {', '.join(declared)}")
    for precision in precisions:
        for layout in layouts:
            problem = Problem(32, 32, 32, layout, precision)
            drawn = random.Random(f"{seed} {layout} {precision}").getrandbits(31)
            checks: dict[Candidate, Plan | Skip] = {}
            for pick in variant.picks:
                assert pick.code is not None, "the catalog fills it in"
                unfit = explain_unsuitable(problem, pick.code, machine.primary.target)
                if refusal := unfit or machine.why_refused(pick.code, machine.choice.primary):
                    reason = f"{pick.variant}: {refusal}"
                elif pick.candidate not in checks:
                    config = Config(tuple(pick.values.items()))
                    checks[pick.candidate] = plan_awkwardly(pick.code, config, problem, machine)
            if checks:
                found.append(_Combination(layout, precision, generate_shapes(drawn), checks))
    if not found:
        raise DeviceError(f"{variant.name}: no candidate can run here: {reason}")
    return found


class _Surveyor:
    """Draws problems, plans and compiles them ahead, verifies each candidate once, and times those that compete."""

    def __init__(
        self,
        variant: Variant,
        catalog: Catalog,
        machine: Machine,
        session: Session,
        pool: CompilerPool,
        combinations: Sequence[_Combination],
        known: set[Problem],
        deadline: float,
    ):
        self._variant, self._machine, self._session, self._pool = variant, machine, session, pool
        self._combinations, self._known, self._deadline = combinations, known, deadline
        self._began, self._stopped, self._count = time.monotonic(), False, 0
        self._planned: list[_Prepared] = []
        primary = machine.choice.primary
        able = [library for library in catalog.libraries if primary in library.devices or self._runs_all]
        self._libraries: list[tuple[Variant, Configurations]] = [
            (library, list_configurations(library, {ALL: ()})) for library in able
        ]
        runner = session.make_runner(lambda records: None, session.is_interrupted)
        self._batches = CandidateBatches(runner, pool, Policy(sustained=0.0), 0)

    @property
    def _runs_all(self) -> bool:
        return self._machine.primary.target.runs_every_variant

    def stop(self) -> None:
        """Plan nothing more."""
        self._stopped = True

    def _is_over(self) -> bool:
        return self._stopped or time.monotonic() > self._deadline or self._session.is_interrupted()

    def plan_ahead(self) -> None:
        """Draw and plan problems, and start to compile their candidates, until time is up or no shapes are left.

        A few are ahead of the one that is timed, so that all cores have code to compile. Each is of the layout and
        precision with the fewest. Raises UsageError if no candidate can compute any.
        """
        while not self._is_over():
            left = [each for each in self._combinations if not each.is_used_up]
            if not left:
                return
            if len(self._planned) < _AHEAD:
                prepared = self._draw(min(left, key=lambda each: each.drawn))
                if prepared is not None:
                    self._planned.append(prepared)
            else:
                time.sleep(_PERIOD)

    def run(self, file: SurveyFile, planning: Future[None]) -> None:
        """Measure shapes whose code is compiled, while others are planned and compiled, until time is up."""
        while not self._is_over():
            planned = list(self._planned)
            prepared = next((each for each in planned if each.is_compiled), None)
            if prepared is None:
                if planning.done() and not planned:
                    planning.result()
                    return
                jobs = [job for each in planned for job in (*each.jobs, *each.checking)]
                self._session.progress("compile", sum(job.done() for job in jobs), len(jobs))
                wait_for_any([job for job in jobs if not job.done()] or [planning], _PERIOD)
                continue
            self._planned.remove(prepared)
            if verified := self._verify(prepared):
                file.add_verified(verified)
            if self._session.is_interrupted():
                return
            self._report_progress()
            shape = self._time(prepared)
            if shape is not None:
                file.add_shape(shape)
                self._count += 1

    def _report_progress(self) -> None:
        whole, left = self._deadline - self._began, self._deadline - time.monotonic()
        what = f"{SWEEP}survey {self._variant.name}: {count_noun(self._count, 'shape')}"
        self._session.progress(what, round(max(0.0, whole - left)), round(whole), max(0.0, left))

    def _draw(self, combination: _Combination) -> _Prepared | None:
        """Draw problems until candidates can compute one, or no shapes are left. Raises UsageError if none can."""
        combination.drawn += 1
        for _ in range(_MOST_UNFIT):
            drawn = next(combination.shapes, None)
            if drawn is None:
                combination.is_used_up = True
                return None
            kind, shape = drawn
            problem = straighten(Problem(*shape, combination.layout, combination.precision), self._variant)
            if problem in self._known:
                continue
            self._known.add(problem)
            if self._is_over():
                return None
            planned = list(self._list_plans(combination, problem))
            if any(is_candidate for (is_candidate, _), _ in planned):
                keys, plans = [key for key, _ in planned], [plan for _, plan in planned]
                checks = [combination.checks[name] for is_candidate, name in keys if is_candidate]
                checking = [self._pool.submit(check) for check in checks if isinstance(check, Plan)]
                jobs = [self._pool.submit(plan) for plan in plans]
                return _Prepared(combination, problem, kind, keys, plans, jobs, checking)
        what = f"{combination.layout} {combination.precision}"
        raise UsageError(f"{self._variant.name} in {what}: no candidate can compute any of {_MOST_UNFIT} drawn shapes")

    def _list_plans(self, combination: _Combination, problem: Problem) -> Iterator[tuple[_Key, Plan]]:
        """Yield the plans of the candidates that compete for a problem, and of libraries. Products do not overlap."""
        primary, targets = self._machine.choice.primary, self._machine.targets
        names = collect_names(self._variant, problem, self._machine.primary.target)
        for group in group_picks(self._variant, names):
            rivals: dict[Candidate, Plan] = {}
            for pick in [] if isinstance(group, Excluded) else [self._variant.picks[number] for number in group]:
                if combination.is_timed(pick.candidate) and pick.code is not None:
                    chosen = [(pick.code, [Config(tuple(pick.values.items()))])]
                    (plan,) = make_plans([problem], chosen, primary, targets, self._machine.why_refused)
                    if isinstance(plan, Plan):
                        rivals.setdefault(pick.candidate, plan.without_pdl())
            yield from (((True, candidate), plan) for candidate, plan in rivals.items())
            if rivals:
                break
        for plan in make_plans([problem], self._choose_libraries(problem), primary, targets, self._machine.why_refused):
            if isinstance(plan, Plan) and plan.device == primary:
                yield (False, (plan.variant.name, tuple(sorted(plan.config.values)))), plan

    def _choose_libraries(self, problem: Problem) -> list[tuple[Variant, Configurations]]:
        """Return the libraries without those that would first choose between two others, as cublas does in f32."""
        precision = problem.precision_name
        able = [each for each in self._libraries if precision in each[0].precisions and ONE in each[0].kinds]
        kinds = [library.name.rpartition("_")[0] for library, _ in able]
        return [each for each in able if each[0].name not in kinds]

    def _verify(self, prepared: _Prepared) -> Verified | None:
        """Verify candidates that were not yet verified at small problems that no tile divides; None if all were."""
        combination = prepared.combination
        new = [name for is_candidate, name in prepared.keys if is_candidate and name not in combination.verified]
        checked, wrong, unchecked = CheckedCode(), dict[Candidate, str](), dict[Candidate, str]()
        by_problem: dict[Problem, dict[Candidate, Chain]] = {}
        for candidate in new:
            plan = combination.checks[candidate]
            if isinstance(plan, Skip):
                unchecked[candidate] = plan.reason
            else:
                chain = make_chain(plan)
                by_problem.setdefault(chain.problem, {})[candidate] = chain
        for number, (problem, chains) in enumerate(by_problem.items()):
            self._session.progress(f"verify at {problem}", number, len(by_problem))
            for record in self._batches.check(list(chains.values())):
                checked.add(record)
            for candidate, chain in chains.items():
                fault = checked.find(chain)
                if fault:
                    wrong[candidate] = _shorten(fault)
                elif fault is None:
                    unchecked[candidate] = "interrupted"
        combination.verified.update(new)
        combination.wrong.update(wrong)
        return Verified(combination.layout, combination.precision, wrong, unchecked) if new else None

    def _time(self, prepared: _Prepared) -> SurveyedShape | None:
        """Time the plans of a problem; None if interrupted, or if none could be timed."""
        combination = prepared.combination
        chosen = [
            number
            for number, (is_candidate, name) in enumerate(prepared.keys)
            if not is_candidate or combination.is_timed(name)
        ]
        keys = [prepared.keys[number] for number in chosen]
        plans = tuple(prepared.plans[number] for number in chosen)
        built = tuple(prepared.jobs[number].result() for number in chosen)
        batch = SurveyBatch(policy=Policy(), plans=plans, built=built)
        records: list[PlanTime] = self._session.worker.experiment(batch) if plans else []
        if not records:
            return None
        times: dict[Candidate, float] = {}
        failed: dict[Candidate, str] = {}
        fastest: dict[str, tuple[float, Candidate]] = {}
        for (is_candidate, name), record in zip(keys, records, strict=True):
            if record.reason and is_candidate:
                failed[name] = _shorten(record.reason)
                combination.failures[name] += 1
            elif not record.reason and is_candidate:
                times[name] = record.seconds
                combination.failures[name] = 0
            elif not record.reason:
                fastest[name[0]] = min(fastest.get(name[0], (record.seconds, name)), (record.seconds, name))
        times |= {name: seconds for seconds, name in fastest.values()}
        return SurveyedShape(prepared.problem, prepared.kind, times, failed) if times or failed else None


def _shorten(reason: str) -> str:
    return reason.partition("\n")[0][:_LONGEST_REASON]


def _read_lines(path: Path) -> list[SurveyHead | SurveyedShape | Verified]:
    """Read a survey file, which may be compressed. Raises StoreError."""
    with open_results_file(path) as file:
        return list(read_survey(path, file))


def _read_known(path: Path, head: SurveyHead) -> set[Problem]:
    """Return the problems that a file has for the present code. Raises UsageError if it is of something else."""
    known: set[Problem] = set()
    is_current = False
    for line in _read_lines(path):
        if isinstance(line, SurveyHead):
            if (line.variant, line.target.card) != (head.variant, head.target.card):
                what = f"{line.variant} on {line.target.name}"
                raise UsageError(f"{path} is a survey of {what}; choose another --out")
            is_current = line.codes == head.codes
        elif isinstance(line, SurveyedShape) and is_current:
            known.add(line.problem)
    return known


@dataclass
class _Merged:
    """The lines of survey files, merged: the times of code as it is now, by problem."""

    target: Target
    revision: str
    shapes: dict[Problem, SurveyedShape] = field(default_factory=dict)
    faults: Counter[tuple[Candidate, str]] = field(default_factory=Counter)
    wrong: dict[Candidate, str] = field(default_factory=dict)
    unchecked: dict[Candidate, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)


def _merge(paths: Sequence[Path], variant: Variant) -> _Merged:
    """Merge survey files. Of a time measured twice, the last counts. Raises StoreError and UsageError."""
    codes, merged, head = _hash_codes(variant), None, None
    candidates = {pick.candidate for pick in variant.picks}

    def choose(found: Mapping[Candidate, str]) -> dict[Candidate, str]:
        """Return what was found for candidates whose code is as it was then."""
        assert head is not None, "it is the first line"
        return {
            name: each
            for name, each in found.items()
            if name in candidates and head.codes.get(name[0]) == codes[name[0]]
        }

    for path in paths:
        for line in _read_lines(path):
            if isinstance(line, SurveyHead):
                head = line
                if line.variant != variant.name:
                    raise UsageError(f"{path} is a survey of {line.variant}, not of {variant.name}; name another file")
                merged = merged or _Merged(line.target, line.revision)
                if line.target.card != merged.target.card:
                    cards = f"{merged.target.name} and {line.target.name}"
                    raise UsageError(f"the surveys are of two cards, {cards}; fit the files of one card at a time")
                merged.revision = line.revision
                continue
            assert merged is not None and head is not None, "a head is the first line"
            if isinstance(line, Verified):
                merged.wrong |= choose(line.wrong)
                merged.unchecked |= choose(line.unchecked)
                continue
            times = {}
            for name, seconds in line.times.items():
                if name[0] not in head.codes or (name in candidates and head.codes[name[0]] == codes[name[0]]):
                    times[name] = seconds
                elif name in candidates:
                    merged.left_out[name[0]] += 1
            merged.faults.update((name, reason) for name, reason in choose(line.failed).items())
            earlier = merged.shapes.get(line.problem)
            times = {**(earlier.times if earlier else {}), **times}
            merged.shapes[line.problem] = SurveyedShape(line.problem, line.kind, times)
    assert merged is not None, "a file has a head"
    return merged


def _fit_surveys(
    paths: Sequence[Path],
    catalog: Catalog,
    variant: Variant,
    how: SurveyOptions,
    seed: int = 0,
    kept: Path | None = None,
    interrupted: bool = False,
) -> SurveyResult:
    """Fit constants to a part of the shapes in survey files, judge them at the others, and write them if wanted.

    Raises StoreError, UsageError and SpecError.
    """
    merged = _merge(paths, variant)
    target, shapes = merged.target, list(merged.shapes.values())
    held = [shape for shape in shapes if is_held_out(shape.problem, how.hold_out, seed)]
    training = [shape for shape in shapes if not is_held_out(shape.problem, how.hold_out, seed)]
    parts = fit_costs(variant, target, training, merged.wrong)
    precisions = dict.fromkeys(shape.problem.precision_name for shape in shapes)
    in_use = {name: find_fitted(variant, target.card, name) for name in precisions}
    fitted = {name: dict(found) for name, found in in_use.items()}
    for part in parts:
        fitted[part.precision] |= {(part.region, candidate): costs for candidate, costs in part.costs.items()}
    written = None
    if how.write_pick and parts and not interrupted:
        written = _write_costs(variant, target, parts, merged.revision, len(training))
    return SurveyResult(
        variant.name,
        shorten_device(target.name),
        len(training),
        judge_picks(variant, target, held, fitted, in_use),
        merged.faults,
        merged.wrong,
        merged.unchecked,
        merged.left_out,
        kept,
        written,
        interrupted,
    )


def refit_surveys(request: RunRequest, paths: Sequence[Path], how: SurveyOptions) -> SurveyResult:
    """Fit the constants of a pick to survey files. Needs no device. Raises GemmbenchError."""
    catalog = open_catalog(request.selection.kernels)
    variant = _find_variant(request.selection.variants, catalog)
    return _fit_surveys(paths, catalog, variant, how, request.measuring.seed or 0)


def _write_costs(variant: Variant, target: Target, parts: Sequence[RegionCosts], revision: str, count: int) -> Path:
    """Write the constants of a card. Those of other precisions and regions stay. Raises StoreError and SpecError."""
    path = _find_costs_path(variant, target)
    present = next((each for each in variant.costs if each.card == target.card), None)
    new = {(part.precision, part.region) for part in parts}
    earlier = read_costs(variant, follow_same_as(variant, present)) if present else []
    kept = [each for each in earlier if (each.precision, each.region) not in new]
    head = {
        "card": shorten_device(target.name),
        "date": datetime.now(timezone.utc).date().isoformat(),
        "revision": revision,
        "fit": f"gemmbench tune {variant.name} --survey: least squares of relative errors at {count} drawn shapes",
    }
    text, location = format_costs(variant, head, [*kept, *parts]), display_path(path)
    read_costs(variant, CostsFile(target.card, location, text))
    try:
        path.parent.mkdir(exist_ok=True)
        replace_file(path, text)
    except OSError as fault:
        raise StoreError(f"{path}: cannot be written: {fault.strerror}; --from the survey file fits again") from None
    return path
