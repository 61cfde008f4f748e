"""Data that launches have seen: between windows the operands change, and a kernel may not profit from equal ones.

A kernel that remembers results could skip work in timed launches, and be right in the audit.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gemmbench.backends.base import CountingExecutable
from gemmbench.bench.experiments.audit import make_check
from gemmbench.bench.experiments.context import LEAST_PAIRS, REPLAY_SHARE
from gemmbench.bench.experiments.trial import Replay, Trial
from gemmbench.bench.experiments.workload import AuditCase
from gemmbench.bench.operands import guards
from gemmbench.bench.operands.alterations import UNALTERED, Altered, count_altered_sets, draw_elements, draw_lines
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.timing.rounds import LONG_WINDOW
from gemmbench.bench.verify.reference import Check
from gemmbench.errors import DeviceLost, PlanError

_ROWS, _RESULTS = 4, 2
"""Rows per result, and results per window, that are compared with the reference."""
_MOST_PAIRS = 12
"""Of windows of a replay."""
_FASTER, _SAVED = 1.3, 5e-6
"""How much faster a launch is where it skips work, and the seconds that this saves."""

_WRONG = "wrong when timed"
_OLD_RESULT = "new operands give the result of old ones: it is kept from an earlier launch"
_OTHER_RESULT = "C still holds the result of another launch: the kernel skips work that it takes for done"


@dataclass(frozen=True)
class _Sample:
    """Rows of one result, those at `places` among the compared ones, and what they were computed from."""

    factor: float
    altered: Altered
    places: np.ndarray
    result: np.ndarray


@dataclass
class SeenData:
    """Changes the operands of an arena that holds the inputs of `case`, and checks what rows make of that."""

    arena: Arena
    case: AuditCase
    rng: np.random.Generator
    _is_read: bool = field(init=False)

    def __post_init__(self) -> None:
        self._is_read = self.arena.result.name in self.case.inputs

    def renew(self, launches: int) -> None:
        """Change a few elements of what the next launches read, at places drawn anew.

        A launch on the only operand set would find its own result, so its C is filled.
        """
        arena = self.arena
        sets = arena.list_next_sets(launches)
        arena.alter(draw_elements(self.rng, arena.layout, sets, self.case.rows))
        if arena.sets == 1 and not self._is_read:
            arena.fill_outputs([0], guards.FINITE)

    def find_wrong(self, trial: Trial, launches: int) -> Check | None:
        """Compare some of what the last launches have left in C with the reference; the failed check if it is wrong."""
        return self._judge_all(trial, self._take_samples(launches, _RESULTS))

    def _take_samples(self, launches: int, count: int) -> list[_Sample]:
        """Some rows of this many results of the last launches, including the last one.

        Empty if the kernel reads C, because its results then depend on all earlier launches.
        """
        if self._is_read:
            return []
        last, *others = self.arena.list_last_results(launches)
        drawn = [others[number] for number in self.rng.permutation(len(others))[: count - 1]]
        return [self._take_sample(*each) for each in (last, *drawn)]

    def _take_sample(self, index: int, output: int) -> _Sample:
        """Rows of the result of set `index` in the array of set `output`, with those of a few changed elements."""
        rows, altered = self.case.rows, self.arena.altered.find(index)
        changed = np.searchsorted(rows, altered.rows)
        places = self.rng.choice(len(rows), min(_ROWS, len(rows)), replace=False)
        if len(changed) <= _ROWS:
            places = np.union1d(places, changed)
        places.sort()
        return _Sample(self.arena.factors[index], altered, places, self.arena.read_rows(rows[places], output))

    def _judge_all(self, trial: Trial, samples: list[_Sample]) -> Check | None:
        case = self.case.declare_class(trial.chain.declared_class)
        checks = (self._judge(case, sample) for sample in samples)
        return next((check for check in checks if not check.ok), None)

    def _judge(self, case: AuditCase, sample: _Sample) -> Check:
        def judge(factor: float, altered: Altered) -> Check:
            return case.judge_altered(sample.result, factor, sample.places, altered)

        check = judge(sample.factor, sample.altered)
        if check.ok:
            return check
        words = check.message.removesuffix(f": {check.diagnosis.words}" if check.diagnosis else "")
        words = f"{words}: right in the audit, so it keeps something between launches, or has a race"
        if judge(sample.factor, UNALTERED).ok:
            words = _OLD_RESULT
        elif any(judge(factor, UNALTERED).ok for factor in set(self.arena.factors)):
            words = _OTHER_RESULT
        return make_check(check, _WRONG, f"{_WRONG}: {words}")

    def replay(self, trial: Trial, executable: CountingExecutable, launches: int) -> Check | None:
        """Launch on new data, then on the same again, with its own results in C, and note which took longer.

        Something of every tile of A and B is new. It is done several times, so that neither the cache nor a
        disturbance decides. Returns the failed check if results on new data are wrong. `launches` are
        those of a timed window. Raises PlanError.
        """
        count = max(1, min(self.arena.sets, launches // REPLAY_SHARE, count_altered_sets(self.arena.layout)))
        self.arena.rotation.position = 0  # a turn that begins elsewhere may end in an array that it has just written
        sets = self.arena.list_next_sets(count)
        try:
            wrong = self._replay(trial, executable, count, sets)
        except DeviceLost:
            raise
        except PlanError:
            self._restore(sets)
            raise
        self._restore(sets)
        return wrong

    def _replay(self, trial: Trial, executable: CountingExecutable, count: int, sets: np.ndarray) -> Check | None:
        arena, samples = self.arena, list[_Sample]()
        news, seens = list[float](), list[float]()
        for pair in range(_MOST_PAIRS):
            arena.alter(draw_lines(self.rng, arena.layout, sets, arena.shared, pair))
            news.append(executable.time_exactly(count).seconds / count)
            samples += self._take_samples(count, 1)  # judged later: both windows must find the host alike
            arena.touch()  # as the change did
            arena.rotation.go_back(count)
            seens.append(executable.time_exactly(count).seconds / count)
            arena.rotation.go_back(count - arena.sets)  # the same sets, and the other arrays of results
            least = 1 if count * min(news[-1], seens[-1]) >= LONG_WINDOW else LEAST_PAIRS
            if pair + 1 >= least and not _is_faster(min(seens), min(news)):
                break
        # A disturbance makes some windows longer, and none shorter: the fastest one is compared with one that is still
        # usual where most are disturbed.
        usual = sorted(seens)[len(seens) // 4]
        trial.replays.append(Replay(min(news), usual, _is_faster(usual, min(news))))
        return self._judge_all(trial, samples)

    def _restore(self, sets: np.ndarray) -> None:
        """Undo the change, and leave no right result in what launches on these sets may have written."""
        self.arena.alter(None)
        self.arena.fill_outputs(dict.fromkeys([*sets, *((sets + 1) % self.arena.sets)]), guards.FINITE)


def _is_faster(seen: float, new: float) -> bool:
    return new > max(_FASTER * seen, seen + _SAVED)


def judge_replays(trial: Trial) -> None:
    """End a trial that was faster on data that it had seen, after most blocks."""
    faster = [replay for replay in trial.replays if replay.faster]
    if trial.alive and 2 * len(faster) > len(trial.replays):
        new, seen = f"{1e6 * faster[-1].new:.1f} us", f"{1e6 * faster[-1].seen:.1f} us"
        words = f"faster on data that it has seen: a launch takes {new} on new data, and {seen} on the same again"
        trial.judge(make_check(Check(False, "audit"), "faster on seen data", words))
