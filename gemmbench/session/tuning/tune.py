"""Tuning: a search for the fastest configuration of each variant at each problem, and winners that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gemmbench.backends import registry
from gemmbench.backends.machine import Machine
from gemmbench.bench.record import Record
from gemmbench.bench.search.goals import GOALS, TIME, check_goal
from gemmbench.bench.search.search import Candidate, ConfigurationSearch, SearchResult, SearchRun
from gemmbench.bench.timing import stats
from gemmbench.errors import UsageError
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.chain import Chain, make_chain
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Config, Plan
from gemmbench.planning.problems import awkward
from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.problems.sizes import Shape
from gemmbench.planning.sweeps.limits import TimeLimits
from gemmbench.planning.sweeps.overrides import SweepOverrides
from gemmbench.planning.sweeps.policy import SUSTAINED_SECONDS, Policy
from gemmbench.planning.tuning.budget import Budget
from gemmbench.planning.tuning.space import SearchSpace
from gemmbench.planning.tuning.strategy import check_strategy, make_strategy
from gemmbench.report.store import keep_latest
from gemmbench.session.open_run import OpenRun, open_run
from gemmbench.session.reporter import SILENT, Reporter
from gemmbench.session.results_file import Destination, RunResult
from gemmbench.session.resuming.same_experiment import hash_plans
from gemmbench.session.sweeps import SweepRequest, plan_request
from gemmbench.session.tuning.winners import Winner, describe_conditions, keep_winners, name_today

CONFIG = "quick"
_CHECKED: tuple[Shape, ...] = ((131, 257, 67), (136, 264, 72), (264, 272, 144), (256, 512, 256))
"""Where configurations are verified before they are timed: on the first of these shapes that they take."""
_TIE = 0.005
"""How much slower, as a share, a configuration may seem and still be called as fast."""


@dataclass(frozen=True)
class TuneRequest:
    """What to tune, and how long to search.

    `overrides` names the variants, and the problems; without `params` all values of all parameters are tried.
    """

    overrides: SweepOverrides
    strategy: str = "exhaustive"
    budget: Budget = field(default_factory=Budget)
    goal: str = TIME
    kernels: str | None = None
    limits: TimeLimits = field(default_factory=TimeLimits)
    destination: Destination = field(default_factory=Destination)


@dataclass(frozen=True)
class Tuned:
    """What a search found for a variant at a problem; `allowed` is the number of configurations of the space."""

    variant: Variant
    problem: Problem
    goal: str
    allowed: int
    found: SearchResult

    @property
    def finalists(self) -> list[Record]:
        """The right rows of the final, the best first."""
        measure = GOALS[self.goal]
        right = [record for record in self.found.finals if record.variant == self.variant.name and record.ranked]
        return sorted((record for record in right if measure(record) == measure(record)), key=measure)

    @property
    def ties(self) -> list[Record]:
        """The best row, and those that may be as fast: the first of them in the manifest's order is the winner."""
        ranked = self.finalists
        if self.goal != TIME:
            return ranked[:1]
        return sorted((record for record in ranked if _is_tie(record, ranked[0])), key=self.found.finals.index)

    @property
    def winner(self) -> Record | None:
        """The row whose configuration is kept; None if none was measured in full."""
        return self.ties[0] if self.ties else None

    @property
    def best_config(self) -> Config | None:
        """The configuration to keep: the winner's, else that of the best short load."""
        if self.winner:
            return Config(tuple(self.winner.config.items()))
        times = self.found.times
        return min(times, key=lambda config: times[config].value, default=None)


@dataclass(frozen=True)
class Tuning:
    """All searches of a command, and the rows of its results file."""

    result: RunResult
    searches: list[Tuned]


def _is_tie(record: Record, best: Record) -> bool:
    if record is best:
        return True
    ratio = stats.speed_ratio(record.by_round, best.by_round)
    return ratio.known and ratio.value >= 1 - _TIE and ratio.high >= 1


def tune_kernels(request: TuneRequest, machine: Machine, reporter: Reporter = SILENT) -> Tuning:
    """Search for each variant at each problem, and keep the winners. Raises GemmbenchError."""
    check_goal(request.goal)
    check_strategy(request.strategy)
    overrides = request.overrides
    if not overrides.variants:
        raise UsageError("tune needs a variant: gemmbench tune blocktile_2d --sizes 4096")
    if request.goal != TIME:
        overrides = _ask_for_load(overrides, request.goal, machine)
    params = overrides.params or ("all",)
    sweep_request = SweepRequest(replace(overrides, params=params), CONFIG, kernels=request.kernels)
    planned = plan_request(sweep_request, machine)
    sweep, chains = replace(planned.sweep, name="tune"), planned.chains
    searches: list[Tuned] = []
    rows = hash_plans(chains)
    with open_run(machine, sweep, planned.devices, request.limits, request.destination, reporter, rows) as opened:
        for problem in sweep.problems:
            here = [chain for chain in chains if chain.problem == problem]
            baseline = next((chain for chain in here if chain.name == sweep.baseline and not chain.reason), None)
            for variant in _list_variants(here, overrides.variants):
                if opened.is_interrupted():
                    break
                mine = [chain for chain in here if chain.variant == variant]
                found = _search(opened, request, machine, mine, baseline, sweep.policy)
                allowed = sum(not chain.reason for chain in mine)
                tuned = Tuned(variant, problem, request.goal, allowed, found)
                searches.append(tuned)
                _keep(tuned, machine)
        return Tuning(RunResult(keep_latest(opened.run), opened.is_interrupted(), opened.journal.fault), searches)


def _ask_for_load(overrides: SweepOverrides, goal: str, machine: Machine) -> SweepOverrides:
    if not machine.primary.target.is_gpu:
        raise UsageError(f"--goal {goal} needs a GPU: only there is a steady load measured; leave it out")
    return overrides if overrides.sustained else replace(overrides, sustained=SUSTAINED_SECONDS)


def _list_variants(chains: Sequence[Chain], names: Sequence[str]) -> list[Variant]:
    """The variants to tune, in the order in which they were named."""
    found = dict.fromkeys(chain.variant for chain in chains)
    return sorted((each for each in found if each.name in names), key=lambda each: names.index(each.name))


def _search(
    opened: OpenRun,
    request: TuneRequest,
    machine: Machine,
    chains: Sequence[Chain],
    baseline: Chain | None,
    policy: Policy,
) -> SearchResult:
    """Search one variant at one problem. Raises UsageError if no configuration can run."""
    able = [chain for chain in chains if not chain.reason]
    if not able:
        first = chains[0]
        raise UsageError(f"no configuration of {first.name} can run at {first.problem}: {first.reason}")
    checks = _plan_checks(able, machine)
    candidates = {chain.config: Candidate(chain, checks.get(chain.config)) for chain in able}
    space = SearchSpace(tuple(dict(config.values) for config in candidates))
    seed = request.overrides.seed or 0
    search = ConfigurationSearch(
        candidates,
        make_strategy(request.strategy, space, seed),
        policy,
        baseline,
        request.budget,
        opened.run.environment.shuffle,
    )
    return SearchRun(opened.runner, opened.session.compilers, search).run()


def _plan_checks(chains: Sequence[Chain], machine: Machine) -> dict[Config, Chain]:
    """The same configurations on the first of a few small problems that they take."""
    variant, problem = chains[0].variant, chains[0].problem
    checks: dict[Config, Chain] = {}
    for shape in _CHECKED:
        left = [chain.config for chain in chains if chain.config not in checks]
        problems = awkward.make_problems(variant, [shape], [problem.layout], [problem.precision_name])
        plans = make_plans(problems, [(variant, left)], machine.choice.primary, machine.targets, registry.why_refused)
        checks |= {plan.config: make_chain(plan) for plan in plans if isinstance(plan, Plan)}
    return checks


def _keep(tuned: Tuned, machine: Machine) -> None:
    config, winner = tuned.best_config, tuned.winner
    if config is None:
        return
    seconds = stats.time_interval(winner.by_round).value if winner else tuned.found.times[config].value
    baseline = [record for record in tuned.found.finals if record.variant != tuned.variant.name and record.ranked]
    percent = 100 * stats.speed_ratio(winner.by_round, baseline[0].by_round).value if winner and baseline else None
    conditions = describe_conditions(machine, tuned.variant, tuned.problem, tuned.goal)
    keep_winners(
        [
            Winner(
                conditions=conditions,
                config=dict(config.values),
                seconds=seconds,
                percent_of_baseline=percent,
                final=winner is not None,
                tried=tuned.found.tried,
                date=name_today(),
            )
        ]
    )
