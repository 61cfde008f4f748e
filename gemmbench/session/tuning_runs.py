"""Runs the searches of a command one after the other and writes a results file."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path

from gemmbench.backends import registry
from gemmbench.backends.base import Device
from gemmbench.backends.devices import Machine
from gemmbench.bench.build import CompilerPool, open_pool
from gemmbench.bench.estimate import UNTIMED, estimate_run, estimate_sweep, make_typical_host
from gemmbench.bench.experiments.context import SWEEP, Progress
from gemmbench.bench.record import Record
from gemmbench.bench.timing import stats
from gemmbench.bench.tuning.outcome import GOALS, DispatchTable, SearchOutcome
from gemmbench.bench.tuning.screening import (
    FINALISTS,
    FIRST_ROUNDS,
    CandidateBatches,
    CheckedCode,
    Screening,
    Standing,
    count_ahead,
)
from gemmbench.bench.tuning.search import SCREENING_SHARE, Search, SearchSettings, find_slowest_finalist
from gemmbench.bench.tuning.tuning_task import Key, TuningTask, find_key, make_key
from gemmbench.errors import DeviceError, GemmbenchError, UsageError, nearest
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans import configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Chain, Plan, make_chain
from gemmbench.planning.plans.skip_reasons import explain_unfit_device
from gemmbench.planning.problems import Problem
from gemmbench.planning.search_space import Budget, Strategy, make_strategy
from gemmbench.planning.sweeps.planned_sweep import AvailableDevices, PlannedSweep, expand_sweep
from gemmbench.planning.sweeps.policy import SUSTAINED_SECONDS, Policy
from gemmbench.planning.sweeps.run_request import RunRequest
from gemmbench.planning.sweeps.sweep import read_tuning
from gemmbench.report.store.reading import read_results
from gemmbench.report.tables.search_tables import Winner
from gemmbench.report.text import number
from gemmbench.session.awkward_checks import plan_awkwardly
from gemmbench.session.dispatch import (
    choose_rows,
    evaluate_rows,
    find_dispatching,
    list_candidate_names,
    list_present_choices,
    list_present_keys,
    refuse_unwritable,
    write_rows,
)
from gemmbench.session.machine import open_catalog
from gemmbench.session.open_run import OpenRun, RunResult, measure_sweep_peaks, open_results
from gemmbench.session.open_session import Session, open_session
from gemmbench.session.reporter import SILENT, Reporter, announce_time_on_cpu
from gemmbench.session.winners import KeptWinners, TunedConfigs, identify_code, keep_winners, make_winner, read_winners

_WORKER_CORES = 1
"""The number of cores that compilers leave to the worker, so that its device need not wait."""
_HELD_BACK = 2
"""One in this many compiler threads waits until the device is open, since opening it also needs a core."""


def open_compilers(session: Session) -> AbstractContextManager[CompilerPool]:
    """Open a pool with a compiler thread for each core that is not left to the worker. Some threads are held back."""
    threads = max(1, (os.cpu_count() or 1) - _WORKER_CORES)
    return open_pool(session.compilers, threads, held_back=threads // _HELD_BACK)


def _compile_first(task: TuningTask, strategy: Strategy, most: int, pool: CompilerPool) -> None:
    """Start to compile the baseline and the first candidates of a new `strategy`, at most `most` of them.

    This needs no device, so it runs while the device is being opened. The search asks for the same code later.
    """
    asked = filter(None, (strategy.ask() for _ in range(min(count_ahead(strategy), most))))
    candidates = [task.chains[make_key(configuration)] for configuration in asked]
    baseline = task.baseline.steps if task.baseline else ()
    for step in (*baseline, *(step for chain in candidates for step in task.list_first_steps(chain))):
        pool.submit(step)


@dataclass
class SearchProgress:
    """Reports the progress of a search, the best candidate so far, and the time left, including the finals.

    All candidates are expected to take as long as those tried so far, on average. `estimate` returns the seconds that
    finals with these candidates take.
    """

    progress: Progress
    task: TuningTask
    most: int
    estimate: Callable[[Sequence[Chain]], float]
    _seen: int = 0
    _before: int | None = None
    _times: list[tuple[float, str]] = field(default_factory=list)

    def begin(self) -> None:
        """Report the start of the search."""
        self.progress(f"{SWEEP}{self.task}", 0, self.most)

    def report(self, screening: Screening) -> None:
        """Report the best candidate so far. The first call notes how many candidates the resumed run had tried."""
        for record in screening.records[self._seen :]:
            if self.task.owns(record) and record.status == "ok" and record.samples:
                self._times.append((stats.time_interval(record.by_round).value, str(record.configuration)))
        self._seen = len(screening.records)
        self._times = [min(self._times)] if self._times else []
        self._before = screening.tried if self._before is None else self._before
        tried, spent = screening.tried, time.monotonic() - screening.began
        fresh = tried - self._before
        later = self.estimate(self.task.candidates[:FINALISTS])
        left = (later + spent * max(0, self.most - tried) / fresh,) if fresh else ()
        self.progress(f"{SWEEP}{self.task}{self._describe_best()}", tried, self.most, *left)

    def begin_finals(self, finalists: Sequence[Chain]) -> None:
        """Report the start of the finals."""
        self.progress(f"{SWEEP}{self.task}: finals{self._describe_best()}", 0, len(finalists), self.estimate(finalists))

    def _describe_best(self) -> str:
        return "".join(f": best {name}, {number(1e3 * seconds, 3)} ms" for seconds, name in self._times)


def _leave_out_batches(progress: Progress) -> Progress:
    """Return a progress callback without the runner's batches, because a search reports its progress itself."""

    def report(what: str, done: int, of: int, left: float | None = None, later: float = 0.0, /) -> None:
        if not what.startswith(SWEEP):
            progress(what, done, of)

    return report


def plan_tasks(
    planned: PlannedSweep, names: Sequence[str], machine: Machine, all_needed: bool = True
) -> list[TuningTask]:
    """Plan a search for every problem and every name.

    Raises UsageError or DeviceError if a search has no candidate. If not all are needed, it raises only if a problem
    has no candidate at all.
    """
    by_problem: dict[Problem, list[Chain]] = {}
    for chain in planned.chains:
        by_problem.setdefault(chain.problem, []).append(chain)
    plan_checks = lru_cache(None)(partial(_plan_checks, machine))
    tasks = []
    for problem, chains in by_problem.items():
        baseline = next((chain for chain in chains if chain.name == planned.sweep.baseline and not chain.reason), None)
        for name in names:
            mine = [chain for chain in chains if chain.name == name]
            able = tuple(chain for chain in mine if not chain.reason)
            if not able and (all_needed or not any(_is_searched(chain, names) for chain in chains)):
                raise _explain_empty_space(name, problem, mine, machine)
            if not able:
                continue
            tasks.append(TuningTask(name, problem, able, baseline, plan_checks, len(mine) - len(able)))
    return tasks


def _is_searched(chain: Chain, names: Sequence[str]) -> bool:
    return chain.name in names and not chain.reason


def _explain_empty_space(name: str, problem: Problem, chains: Sequence[Chain], machine: Machine) -> Exception:
    reason = chains[0].reason if chains else "it has none"
    text = f"{name} at {problem}: no configuration can run here: {reason}"
    if chains and _is_unfit(chains[0], machine):
        return DeviceError(text)
    others = f", and {len(chains) - 1} more" if len(chains) > 1 else ""
    return UsageError(f"{text}{others}; choose other values with --param, or another problem")


def _is_unfit(chain: Chain, machine: Machine) -> bool:
    """Return whether the device can never run the variant, regardless of the problem and the configuration."""
    target = machine.targets.get(chain.device)
    return bool(explain_unfit_device(chain.variant, target) or machine.why_refused(chain.variant, chain.device))


def _plan_checks(machine: Machine, chain: Chain) -> tuple[Chain, ...]:
    """Plan the configuration of a chain at all awkward problems where it can run.

    The first is the problem on which every candidate is checked.
    """
    asked = chain.problem
    first = plan_awkwardly(chain.variant, chain.config, asked, machine).problem
    awkward = first.M, first.N, first.K
    shapes = (awkward, *(shape for shape in configurations.SHAPES if shape != awkward))
    shapes = shapes if machine.on_cpu else (*shapes, configurations.LARGE)
    counted = [configurations.choose_shape(chain.variant, shape) for shape in shapes]
    problems = configurations.make_problems(chain.variant, counted, [asked.layout], [asked.precision_name])
    chosen = [(chain.variant, [chain.config])]
    plans = make_plans(problems, chosen, machine.choice.primary, machine.targets, machine.why_refused)
    return tuple(make_chain(plan) for plan in plans if isinstance(plan, Plan))


_HOLD_OUT = 0.2
"""The share of a dispatching variant's problems on which the rows are tested."""
_MOST_EARLIER = 16
"""The number of an earlier run's fastest configurations to try first."""


@dataclass(frozen=True)
class SearchOptions:
    """Options of a search.

    `earlier` is a results file whose fastest configurations are tried first. If a variant picks from others, those are
    tuned instead. With `write_pick`, the rows of its `pick` are written and tested on the share `hold_out` of the
    problems.
    """

    strategy: str = "exhaustive"
    budget: Budget = field(default_factory=Budget)
    goal: str = "time"
    earlier: Path | None = None
    write_pick: bool = False
    hold_out: float = _HOLD_OUT


@dataclass(frozen=True)
class TuneResult:
    """The rows of the finals, the outcomes of the searches, the winners, and what was done to the file of winners.

    `fault` says why the winners or the rows of a `pick` could not be written.
    """

    run: RunResult
    outcomes: Sequence[SearchOutcome]
    winners: Sequence[Winner] = ()
    kept: KeptWinners | None = None
    dispatch: DispatchTable | None = None
    fault: GemmbenchError | None = None


def tune_kernels(
    request: RunRequest, machine: Machine, reporter: Reporter = SILENT, how: SearchOptions | None = None
) -> TuneResult:
    """Search, measure the best in full, and keep the winners. Raises GemmbenchError.

    Without parameters, the search uses the values that the config lists for a variant, or else all of them. If
    something cannot be written after the searches, the result's `fault` says so.
    """
    how, selection = how or SearchOptions(), request.selection
    if request.measuring.pdl:
        raise UsageError("--pdl: a search ranks kernels, but overlapping products are not ranked; leave out the option")
    catalog = open_catalog(selection.kernels)
    dispatching = find_dispatching(selection.variants, catalog, how.write_pick)
    if dispatching and how.write_pick:
        refuse_unwritable(dispatching, catalog)
    if dispatching:
        selection = replace(selection, variants=list_candidate_names(dispatching))
        request = replace(request, selection=selection)
    for variant in () if dispatching else map(catalog.get, selection.variants):
        if not variant.params:
            name = variant.name
            raise UsageError(
                f"{name} has no parameters, so there is nothing to tune; list some under `params` in its manifest, or "
                f"measure it: gemmbench run {name}"
            )
    planned = _plan_tuning(request, how.goal, catalog, machine, dispatching)
    names = tuple(dict.fromkeys(selection.variants))
    tasks = plan_tasks(planned, names, machine, all_needed=dispatching is None)
    earlier = read_results(how.earlier).records if how.earlier else []
    for task in tasks:
        make_strategy(how.strategy, task.space, 0)  # a fault of the command, before anything is opened
    if machine.on_cpu:
        seconds = _estimate_searches(how.budget, tasks, machine, planned.sweep.policy)
        announce_time_on_cpu(seconds, request.limits, reporter)
    sweep, devices = planned.sweep, sorted({chain.device for task in tasks for chain in _list_chains(task)})
    hashes = _hash_tasks(tasks, machine)
    peaks = measure_sweep_peaks(machine, sweep)
    with (
        open_session(machine, devices, request.limits, reporter, gate=sweep.policy.gate, resumable=True) as session,
        open_compilers(session) as pool,
    ):
        if not request.destination.resume:
            strategy = make_strategy(how.strategy, tasks[0].space, request.measuring.seed or 0)
            _compile_first(tasks[0], strategy, how.budget.count(len(tasks[0].candidates)), pool)
        with open_results(session, sweep, peaks, request.destination, reporter, hashes) as opened:
            pool.use_all_threads()
            batches = _make_batches(opened, pool, sweep.policy)
            outcomes = list(_run_searches(request, how, tasks, dispatching, opened, batches, earlier))
            table = _make_table(request, how, dispatching, outcomes, machine, batches) if dispatching else None
            result = opened.finish()
    complete = [] if dispatching else outcomes  # of the variants that it picks from, not all is searched
    made = [make_winner(each, _find_device(each.task, machine), result.run.environment) for each in complete]
    found = TuneResult(result, outcomes, [winner for winner in made if winner is not None], dispatch=table)
    try:
        if found.winners:
            return replace(found, kept=keep_winners(found.winners, partial(_was_tried, tasks)))
        if table and how.write_pick and not result.interrupted:
            return replace(
                found, dispatch=replace(table, path=write_rows(table.variant, table.rows, selection.kernels))
            )
    except GemmbenchError as fault:
        return replace(found, fault=fault)
    return found


def _estimate_searches(budget: Budget, tasks: Sequence[TuningTask], machine: Machine, policy: Policy) -> float:
    """Estimate the seconds of the searches on the CPU device, assuming that all candidates are as fast as the first."""
    host, compilers, total = make_typical_host(), registry.make_compilers(machine, machine.devices), 0.0
    short = replace(policy, rounds=FIRST_ROUNDS, until=0.0)
    for task in tasks:
        tried = task.candidates[: budget.count(len(task.candidates))]
        baseline = [task.baseline] if task.baseline else []
        name = baseline[0].name if baseline else ""
        first = [*itertools.repeat(task.find_check(tried[0]), len(tried))]
        screening = estimate_run([*tried, *baseline], machine, short, name, compilers, host=host).seconds
        screening += estimate_sweep(first, machine.devices, UNTIMED, "", host)
        total += min(screening, SCREENING_SHARE * budget.share(len(tasks)))
        checks = [check for chain in tried[:FINALISTS] for check in task.plan_checks(chain)]
        total += estimate_sweep(checks, machine.devices, UNTIMED, "", host)
        total += _estimate_finals(task, machine.devices, policy, tried[:FINALISTS])
    return total


def _estimate_finals(
    task: TuningTask, devices: Mapping[str, Device], policy: Policy, finalists: Sequence[Chain]
) -> float:
    """Estimate the seconds it takes to measure finalists in full."""
    rows = [*finalists, *([task.baseline] if task.baseline else [])]
    return estimate_sweep(rows, devices, policy, task.baseline.name if task.baseline else "", make_typical_host())


def _was_tried(tasks: Sequence[TuningTask], winner: Winner) -> bool:
    """Return whether an earlier winner's configuration is a candidate of these searches, which try it first."""
    mine = (task for task in tasks if (task.name, task.problem) == (winner.variant, winner.problem))
    return any(make_key(winner.config) in task.chains for task in mine)


def _make_table(
    request: RunRequest,
    how: SearchOptions,
    variant: Variant,
    outcomes: Sequence[SearchOutcome],
    machine: Machine,
    batches: CandidateBatches,
) -> DispatchTable:
    rows, held = choose_rows(variant, outcomes, machine, how.hold_out, request.measuring.seed or 0)
    return DispatchTable(variant, rows, evaluate_rows(rows, held, outcomes, batches))


def _find_device(task: TuningTask, machine: Machine) -> Device:
    return machine.devices[task.candidates[0].device]


def _plan_tuning(
    request: RunRequest, goal: str, catalog: Catalog, machine: Machine, dispatching: Variant | None = None
) -> PlannedSweep:
    """Plan every configuration of the variants or, for a dispatching variant, of those that it picks from.

    Raises UsageError, SpecError, and DeviceError if the goal needs a GPU and there is none.
    """
    if not request.selection.variants:
        raise UsageError("tune needs a kernel: gemmbench tune tiled --sizes 1024")
    if goal not in GOALS:
        raise UsageError(f"unknown goal '{goal}'{nearest(goal, GOALS)}; choose {', '.join(GOALS)}")
    loads = goal != "time"
    if loads and machine.on_cpu:
        raise DeviceError(
            f"--goal {goal} needs a GPU, because only a GPU can be put under a steady load; use --goal time"
        )
    sustained = request.measuring.sustained or (SUSTAINED_SECONDS if loads else 0.0)
    request = replace(request, measuring=replace(request.measuring, sustained=sustained))
    devices = AvailableDevices(machine.choice.primary, machine.targets, machine.default_baseline, machine.why_refused)
    sweep = read_tuning(request, devices.on_cpu)
    if dispatching:
        present = list_present_choices(dispatching, sweep.problems, machine)
        sweep = read_tuning(request, devices.on_cpu, present)
    return expand_sweep(sweep, request.selection.baseline is not None, catalog, devices)


def _make_batches(opened: OpenRun, pool: CompilerPool, policy: Policy) -> CandidateBatches:
    runner = replace(opened.runner, progress=_leave_out_batches(opened.session.progress), done={})
    number = 1 + max((record.batch for record in opened.earlier), default=0)
    return CandidateBatches(runner, pool, policy, opened.run.environment.shuffle, number)


def _run_searches(
    request: RunRequest,
    how: SearchOptions,
    tasks: Sequence[TuningTask],
    dispatching: Variant | None,
    opened: OpenRun,
    batches: CandidateBatches,
    past: Sequence[Record],
) -> Iterator[SearchOutcome]:
    """Yield the outcomes of all searches until one is interrupted.

    The searches of a dispatching variant share their finals.
    """
    session, checked, known = opened.session, CheckedCode(), TunedConfigs(read_winners(), opened.session.machine)
    seconds = how.budget.share(len(tasks))

    def begin(task: TuningTask) -> tuple[Search, Sequence[Standing]]:
        present = list_present_keys(dispatching, task.name) if dispatching else []
        settings = SearchSettings(
            how.strategy,
            request.measuring.seed or 0,
            how.goal,
            how.budget.count(len(task.candidates)),
            seconds,
            [*present, *_find_winner(task, known), *_find_fastest(task, past)],
        )
        estimate = partial(_estimate_finals, task, session.worker.devices, batches.policy)
        progress = SearchProgress(session.progress, task, settings.configurations, estimate)
        progress.begin()
        search = Search(task, batches, checked, settings, opened.earlier, progress.report, progress.begin_finals)
        return search, search.screen()

    for _, group in groupby(tasks, key=lambda task: task.problem if dispatching else task):
        found = [begin(task) for task in group]
        slowest = find_slowest_finalist(left for _, left in found) if dispatching else math.inf
        for search, _ in found:
            outcome = search.finish(slowest)
            yield outcome
            if outcome.interrupted:
                return


def _find_winner(task: TuningTask, known: TunedConfigs) -> list[Key]:
    """Return the kept winner, which is tried too, so that a shorter search cannot replace it with something slower."""
    config = known.find(task.candidates[0].variant, task.problem)
    return [make_key(dict(config.values))] if config else []


def _find_fastest(task: TuningTask, records: Sequence[Record]) -> list[Key]:
    """Return the fastest candidates of an earlier run at this problem or, if there are none, at any problem."""
    right = [record for record in records if record.variant == task.name and record.status == "ok" and record.samples]
    right = [record for record in right if find_key(record) in task.chains]
    mine = [record for record in right if record.problem == task.problem] or right
    mine.sort(key=lambda record: stats.time_interval(record.by_round).value / record.flops)
    return list(dict.fromkeys(map(find_key, mine)))[:_MOST_EARLIER]


def _list_chains(task: TuningTask) -> list[Chain]:
    return [*task.candidates, *([task.baseline] if task.baseline else [])]


def _hash_tasks(tasks: Sequence[TuningTask], machine: Machine) -> list[str]:
    """Return a short hash of every search, its code and candidates, by which --resume recognizes the same search."""
    codes = {task.name: identify_code(task.candidates[0].variant, _find_device(task, machine)) for task in tasks}
    texts = [f"{task} {codes[task.name]} {sorted(task.chains)}" for task in tasks]
    return [hashlib.blake2s(text.encode(), digest_size=4).hexdigest() for text in texts]
