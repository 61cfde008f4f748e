"""Measures a sweep: compiles its plans, runs its batches, and measures the fastest configurations again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress

from gemmbench.backends.base import Compiler, Device
from gemmbench.bench.build import Built, compile_plans, name_code
from gemmbench.bench.estimate import (
    COMPILING,
    UNTIMED,
    HostSpeed,
    estimate_batch,
    estimate_finals,
    find_shared_host,
    fit_together,
)
from gemmbench.bench.experiments.batch import ChainBatch
from gemmbench.bench.experiments.trial import make_skip_record
from gemmbench.bench.operands.network_parameters import Parameters
from gemmbench.bench.record import RANKING, Ranking, Record
from gemmbench.bench.runner import Pace, Runner, pace_steps
from gemmbench.bench.selection import (
    LARGEST,
    choose_finalists,
    find_candidates,
    find_repeated,
    keep_shortlists,
    make_ranking_policy,
    rank_candidates,
    split_chains,
)
from gemmbench.bench.timing import stats
from gemmbench.errors import BuildError, LaunchTimeout, UsageError
from gemmbench.planning.networks import Network
from gemmbench.planning.plans.plan import Chain, Plan, level_workspaces, list_plans
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy

_TIMEOUT, _FAILED = LaunchTimeout.status, BuildError.status
_Code = tuple[object, ...]
_Rankings = Mapping[tuple[Problem | Network, str], Ranking]


@dataclass
class HopelessRows:
    """Removes rows from each batch that, judging by earlier records, are bound to fail.

    Used as a Runner's `leave_out`.
    """

    _seen: int = 0
    _failures: dict[_Code, list[Record]] = field(default_factory=dict)

    def leave_out(self, batch: ChainBatch, records: Sequence[Record]) -> tuple[ChainBatch | None, list[Record]]:
        """Return the rest of a batch, and a skip for every row that is not tried.

        A row that has already failed gets no skip. The best rows of a sweep are always tried again.
        """
        self._note_failures(records)
        if batch.phase == "final":
            return batch, []
        pairs = list(zip(batch.chains, batch.built, strict=True))
        firsts = [self._find_failure(chain, built, batch.phase) for chain, built in pairs]
        if not any(firsts):
            return batch, []
        hopeful = [first is None for first in firsts]
        chains, built = tuple(compress(batch.chains, hopeful)), tuple(compress(batch.built, hopeful))
        left = replace(batch, chains=chains, built=built) if chains else None
        found = [(chain, first) for chain, first in zip(batch.chains, firsts, strict=True) if first]
        skips = [_make_skip(chain, first) for chain, first in found if first.problem != chain.problem]
        return left, skips

    def _note_failures(self, records: Sequence[Record]) -> None:
        for record in records[self._seen :]:
            if record.status in (_TIMEOUT, _FAILED):
                code = (*record.kernel_key[1:], record.picked, record.backend)
                self._failures.setdefault(code, []).append(record)
        self._seen = len(records)

    def _find_failure(self, chain: Chain, built: Sequence[Built], phase: str) -> Record | None:
        """Return the first row of this configuration that timed out, or whose code also failed to compile.

        A row from an earlier phase at the same problem does not count, because this phase must report its own reason.
        """
        faults = {str(code) for code in built if isinstance(code, BuildError)}
        known = self._failures.get((*chain.kernel_key[1:], chain.config.picked, chain.device), [])
        other = [record for record in known if record.problem != chain.problem or record.phase == phase]
        return next((record for record in other if record.status == _TIMEOUT or record.reason in faults), None)


def _make_skip(chain: Chain, first: Record) -> Record:
    happened = "timed out" if first.status == _TIMEOUT else "did not compile"
    reason = first.reason.partition("\n")[0]
    return make_skip_record(replace(chain, reason=f"not tried, because it {happened} at {first.problem}: {reason}"))


@dataclass(frozen=True)
class ChainSweep:
    """The chains of a sweep, and how to measure and compare them.

    `rivals` are rows that are compared with each other in addition to the baseline. `parameters` are those of a
    network. `earlier` holds all rows of the resumed run. `shuffle` is the seed of placements and permutations. A batch
    has at most `largest` rows. `announce` is called with the expected seconds of the sweep before the first row is
    measured. Rows that are not `timed` are only verified.
    """

    chains: Sequence[Chain]
    policy: Policy
    baseline: str
    rivals: tuple[str, ...] = ()
    parameters: Parameters | None = None
    earlier: Sequence[Record] = ()
    shuffle: int = 0
    largest: int = LARGEST
    announce: Callable[[float], None] = lambda seconds: None
    timed: bool = True

    @property
    def anchors(self) -> tuple[str, ...]:
        """The rows that other rows are compared with."""
        return tuple(dict.fromkeys((self.baseline, *self.rivals)))


def measure_sweep(runner: Runner[Record], compilers: Mapping[str, Compiler], sweep: ChainSweep) -> list[Record]:
    """Emit and return a record for each chain, then the finals. Skips come first.

    `compilers` maps a device to its compiler. Raises UsageError if a chain's code differs from the
    code that its earlier rows were measured with.
    """
    runner = replace(runner, leave_out=HopelessRows().leave_out)
    records = [make_skip_record(chain) for chain in sweep.chains if chain.reason]
    runner.emit(records)
    able = level_workspaces([chain for chain in sweep.chains if not chain.reason])
    costs = _Costs(runner.worker.devices, sweep, find_shared_host())
    pace = costs.estimate(able)
    compiling = pace_steps(runner.progress, COMPILING, pace.estimate_left(0))
    built = compile_plans(list_plans(able), compilers, compiling, runner.is_interrupted)
    if able and not built:
        return records
    _refuse_other_code(able, built, sweep.earlier)
    sweep.announce(pace.estimate_left(0))
    rankings = _rank_candidates(runner, sweep, able, built, pace)
    able, first = keep_shortlists(able, rankings), 1 + len(rankings)
    batches = _make_batches(runner, sweep, able, built, rankings, "sweep", first)
    pace = pace.follow(costs.of(batches), costs.of_finals(able))
    records += runner.run(batches, pace)
    medians = _find_medians(records, "sweep")
    finalists = choose_finalists(able, lambda chain: medians.get(_row_key(chain)), sweep.baseline, sweep.policy)
    finals = _make_batches(runner, sweep, finalists, built, rankings, "final", first + len(batches))
    return records + runner.run(finals, pace.follow(costs.of(finals)))


def _rank_candidates(
    runner: Runner[Record], sweep: ChainSweep, chains: Sequence[Chain], built: Mapping[Plan, Built], pace: Pace
) -> _Rankings:
    """Rank candidates with short loads if there is a shortlist. A ranking in a row of the resumed run is used instead.

    Records of short loads are not emitted, because the rows of the shortlist record the ranking.
    """
    candidates = find_candidates(chains)
    known = {asked: found for asked, group in candidates.items() if (found := _find_ranking(group, sweep.earlier))}
    policy = make_ranking_policy(sweep.policy)
    batches = [
        ChainBatch(
            policy=policy,
            chains=group,
            built=collect_code(group, built),
            index=index,
            phase=RANKING,
            shuffle=sweep.shuffle,
        )
        for index, (asked, group) in enumerate(candidates.items(), 1)
        if asked not in known
    ]
    missing = [cost for asked, cost in zip(candidates, pace.costs, strict=True) if asked not in known]
    pace = replace(pace, costs=missing)
    medians = _find_medians(replace(runner, emit=_emit_nothing).run(batches, pace), RANKING)
    return {
        asked: known.get(asked) or rank_candidates(group, lambda chain: medians.get(_row_key(chain)))
        for asked, group in candidates.items()
    }


def _find_ranking(candidates: Sequence[Chain], earlier: Sequence[Record]) -> Ranking | None:
    """Return the ranking in an earlier row, if it has the same number of candidates."""
    rows = {_row_key(chain) for chain in candidates}
    found = (record.ranking for record in earlier if record.ranking and _row_key(record) in rows)
    return next((ranking for ranking in found if ranking.candidates == len(candidates)), None)


def _emit_nothing(records: Sequence[Record]) -> None:
    """Keep records out of the results file."""


@dataclass(frozen=True)
class _Costs:
    """Estimates the seconds of the stages of a sweep on a `host`."""

    devices: Mapping[str, Device]
    sweep: ChainSweep
    host: HostSpeed

    @property
    def _policy(self) -> Policy:
        return self.sweep.policy if self.sweep.timed else UNTIMED

    def estimate(self, chains: Sequence[Chain]) -> Pace:
        """Return the pace of the short loads, with what follows them."""
        candidates, policy = find_candidates(chains), make_ranking_policy(self._policy)
        ranking = [estimate_batch(group, self.devices, policy, self.host) for group in candidates.values()]
        nobody = {asked: rank_candidates(group, lambda chain: None) for asked, group in candidates.items()}
        left = keep_shortlists(chains, nobody)
        batches = split_chains(left, self.sweep.baseline)
        return Pace(ranking, sum(map(self._estimate_batch, batches)) + self.of_finals(left))

    def of(self, batches: Sequence[ChainBatch]) -> list[float]:
        """Return the seconds of each batch."""
        return [self._estimate_batch(batch.chains) for batch in batches]

    def of_finals(self, chains: Sequence[Chain]) -> float:
        """Return the seconds of measuring the best of these again."""
        return estimate_finals(chains, self.devices, self._policy, self.sweep.baseline, self.host)

    def _estimate_batch(self, chains: Sequence[Chain]) -> float:
        return estimate_batch(chains, self.devices, self._policy, self.host)


def measure_groups(
    runner: Runner[Record],
    compilers: Mapping[str, Compiler],
    groups: Sequence[Sequence[Chain]],
    policy: Policy,
    shuffle: int = 0,
) -> list[Record]:
    """Emit and return a record for each chain. Each group has separate rounds.

    The chains of a group are compared with its first chain. `shuffle` has the same meaning as in ChainSweep.
    """
    leveled = iter(level_workspaces([chain for group in groups for chain in group]))
    groups = [[next(leveled) for _ in group] for group in groups]
    plans = list_plans(chain for group in groups for chain in group)
    built = compile_plans(plans, compilers, runner.progress, runner.is_interrupted)
    if plans and not built:
        return []
    devices, host = runner.worker.devices, find_shared_host()
    pace = Pace([estimate_batch(group, devices, policy, host) for group in groups])
    return replace(runner, leave_out=HopelessRows().leave_out).run(
        [
            ChainBatch(
                policy=policy,
                chains=tuple(group),
                built=collect_code(group, built),
                index=index,
                anchors=(group[0].name,),
                shuffle=shuffle,
            )
            for index, group in enumerate(groups, 1)
        ],
        pace,
    )


def _make_batches(
    runner: Runner[Record],
    sweep: ChainSweep,
    chains: Sequence[Chain],
    built: Mapping[Plan, Built],
    rankings: _Rankings,
    phase: str,
    first: int,
) -> list[ChainBatch]:
    have_room = partial(fit_together, runner.worker.devices)
    groups = split_chains(chains, sweep.baseline, lambda rows: len(rows) <= sweep.largest and have_room(rows))
    repeated = find_repeated(chains, sweep.baseline, sweep.policy) if phase == "sweep" else {}
    return [
        ChainBatch(
            policy=sweep.policy,
            chains=group,
            built=collect_code(group, built),
            index=index,
            phase=phase,
            anchors=sweep.anchors,
            parameters=sweep.parameters,
            shuffle=sweep.shuffle,
            repeated=repeated.get(group[0].problem_or_network, ()),
            rankings={name: found for (asked, name), found in rankings.items() if asked == group[0].problem_or_network},
        )
        for index, group in enumerate(groups, first)
    ]


def collect_code(chains: Sequence[Chain], built: Mapping[Plan, Built]) -> tuple[tuple[Built, ...], ...]:
    """Return the machine code of each chain's steps."""
    return tuple(tuple(built[step] for step in chain.steps) for chain in chains)


def _find_medians(records: Sequence[Record], phase: str) -> dict[tuple[object, ...], float]:
    """Return the median times in seconds of the rows in a phase that may win, by key."""
    ranked = [record for record in records if record.status == "ok" and record.samples and record.phase == phase]
    return {_row_key(record): stats.time_interval(record.by_round).value for record in ranked}


def _refuse_other_code(chains: Sequence[Chain], built: Mapping[Plan, Built], earlier: Sequence[Record]) -> None:
    measured = {_row_key(record): record for record in earlier if record.artifact}
    for chain in chains:
        before = measured.get(_row_key(chain))
        if before is None:
            continue
        if before.network and before.network.title != str(chain.network):
            raise UsageError(f"{chain.name} was measured on {before.network.title}; start a new run without --resume")
        if before.artifact != " ".join(name_code(built[step]) for step in chain.steps):
            where = "" if chain.network else f" at {chain.problem.size}"
            why = "its text, its compiler or its library has changed since"
            raise UsageError(
                f"{chain.name}{where} was measured with different code: {why}; start a new run without --resume"
            )


def _row_key(row: Record | Chain) -> tuple[object, ...]:
    """Return the key that a chain shares with its record. For a network it omits the problem, as a run has only one."""
    return row.kernel_key[1:] if row.network else row.kernel_key
