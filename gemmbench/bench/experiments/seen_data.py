"""Detects kernels that profit from data that they have seen. Operands change between windows.

Otherwise a kernel that remembers results could skip work in timed launches and still be right in the audit.
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
"""The number of rows per result and of results per window that are compared with the reference."""
_MOST_PAIRS = 12
"""The most pairs of windows in a replay."""
_FASTER, _SAVED = 1.3, 5e-6
"""A launch counts as skipping work if it is this much faster and saves this many seconds."""

_WRONG = "wrong when timed"
_OLD_RESULT = "new operands give the result of old ones: the result is kept from an earlier launch"
_OTHER_RESULT = "C still holds the result of another launch: the kernel skips work that it considers done"


@dataclass(frozen=True)
class _Sample:
    """Rows of one result, at `places` among the compared rows, and the factor and alteration of their operands."""

    factor: float
    altered: Altered
    places: np.ndarray
    result: np.ndarray


@dataclass
class SeenData:
    """Changes the operands of an arena that holds the inputs of `case`, and checks how rows react."""

    arena: Arena
    case: AuditCase
    rng: np.random.Generator
    _is_read: bool = field(init=False)

    def __post_init__(self) -> None:
        self._is_read = self.arena.result.name in self.case.inputs

    def renew(self, launches: int) -> None:
        """Change a few elements of the next launches' inputs, at new random places.

        If there is only one operand set, a launch would find its own result in C, so C is filled.
        """
        arena = self.arena
        sets = arena.list_next_sets(launches)
        arena.alter(draw_elements(self.rng, arena.layout, sets, self.case.rows))
        if arena.sets == 1 and not self._is_read:
            arena.fill_outputs([0], guards.FINITE)

    def find_wrong(self, trial: Trial, launches: int) -> Check | None:
        """Compare parts of what the last launches left in C with the reference. Returns the failed check, if any."""
        return self._judge_all(trial, self._take_samples(launches, _RESULTS))

    def _take_samples(self, launches: int, count: int) -> list[_Sample]:
        """Return some rows of this many results of the last launches, including the last one.

        The list is empty if the kernel reads C, because results then depend on all earlier launches.
        """
        if self._is_read:
            return []
        last, *others = self.arena.list_last_results(launches)
        drawn = [others[number] for number in self.rng.permutation(len(others))[: count - 1]]
        return [self._take_sample(*each) for each in (last, *drawn)]

    def _take_sample(self, index: int, output: int) -> _Sample:
        """Return rows of set `index`'s result in the array of set `output`, including some with changed elements."""
        rows, altered = self.case.rows, self.arena.altered.find(index)
        changed = np.searchsorted(rows, altered.rows)
        places = self.rng.choice(len(rows), min(_ROWS, len(rows)), replace=False)
        if len(changed) <= _ROWS:
            places = np.union1d(places, changed)
        places.sort()
        return _Sample(self.arena.factors[index], altered, places, self.arena.read_rows(rows[places], output))

    def _judge_all(self, trial: Trial, samples: list[_Sample]) -> Check | None:
        case = self.case.declare(trial.chain.declared)
        checks = (self._judge(case, sample) for sample in samples)
        return next((check for check in checks if not check.ok), None)

    def _judge(self, case: AuditCase, sample: _Sample) -> Check:
        def judge(factor: float, altered: Altered) -> Check:
            return case.judge_altered(sample.result, factor, sample.places, altered)

        check = judge(sample.factor, sample.altered)
        if check.ok:
            return check
        words = check.message.removesuffix(f": {check.diagnosis.words}" if check.diagnosis else "")
        words = (
            f"{words}: the result was correct in the audit, so the kernel keeps something between launches, or has "
            "a race"
        )
        if judge(sample.factor, UNALTERED).ok:
            words = _OLD_RESULT
        elif any(judge(factor, UNALTERED).ok for factor in set(self.arena.factors)):
            words = _OTHER_RESULT
        return make_check(check, _WRONG, f"{_WRONG}: {words}")

    def replay(self, trial: Trial, executable: CountingExecutable, launches: int) -> Check | None:
        """Launch on new data, then on the same data again, with its results in C. Record which took longer.

        Every tile of A and B contains something new. This is repeated several times, so that neither the cache nor a
        disturbance decides. Returns the failed check if results on new data are wrong. `launches` is the number of
        launches in a timed window. Raises PlanError.
        """
        count = max(1, min(self.arena.sets, launches // REPLAY_SHARE, count_altered_sets(self.arena.layout)))
        self.arena.rotation.position = 0  # a turn from elsewhere may end in an array that it has just written
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
            samples += self._take_samples(count, 1)  # judged later, so that the host is equally busy in both windows
            arena.touch()  # as the alteration did
            arena.rotation.go_back(count)
            seens.append(executable.time_exactly(count).seconds / count)
            arena.rotation.go_back(count - arena.sets)  # the same sets, with the other result arrays
            least = 1 if count * min(news[-1], seens[-1]) >= LONG_WINDOW else LEAST_PAIRS
            if pair + 1 >= least and not _is_faster(min(seens), min(news)):
                break
        # A disturbance can only make windows longer. The fastest window on new data is therefore compared with one on
        # seen data that is still typical if most are disturbed.
        usual = sorted(seens)[len(seens) // 4]
        trial.replays.append(Replay(min(news), usual, _is_faster(usual, min(news))))
        return self._judge_all(trial, samples)

    def _restore(self, sets: np.ndarray) -> None:
        """Undo the change, and remove correct results from all arrays that launches on these sets may have written."""
        self.arena.alter(None)
        self.arena.fill_outputs(dict.fromkeys([*sets, *((sets + 1) % self.arena.sets)]), guards.FINITE)


def _is_faster(seen: float, new: float) -> bool:
    return new > max(_FASTER * seen, seen + _SAVED)


def judge_replays(trial: Trial) -> None:
    """End a trial that was faster on seen data after most blocks."""
    faster = [replay for replay in trial.replays if replay.faster]
    if trial.alive and 2 * len(faster) > len(trial.replays):
        new, seen = f"{1e6 * faster[-1].new:.1f} us", f"{1e6 * faster[-1].seen:.1f} us"
        words = f"faster on data that it has seen: a launch takes {new} on new data, but {seen} on the same data again"
        trial.judge(make_check(Check(False, "audit"), "faster on seen data", words))
