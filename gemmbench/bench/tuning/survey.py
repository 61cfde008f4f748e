"""Surveys: the times of a `pick`'s competing candidates and of the libraries at many shapes, from a few windows each.

Products do not overlap, and operands are cold. Each candidate is launched twice. Those that may be the fastest then get
three windows of 200 us and, if they are close to the fastest, six more (fewer if a launch takes over 2 ms). Results are
not verified here.
"""

from __future__ import annotations

import json
import math
import os
import random
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np

from gemmbench.backends.base import Artifact, Backend, BoundExecutable, Memory, Place, Rotation, Step, pack_allocations
from gemmbench.bench.build import Built
from gemmbench.bench.experiments.batch import Batch, hash_parts
from gemmbench.bench.experiments.context import ExperimentContext
from gemmbench.bench.operands.operand_values import make_operands
from gemmbench.bench.operands.scratch import count_cold_sets, find_room, size_workspaces
from gemmbench.errors import (
    DeviceLost,
    HostError,
    LaunchError,
    NotOffered,
    OutOfMemory,
    PlanError,
    StoreError,
    UsageError,
)
from gemmbench.planning.manifests.variant import Candidate, Variant
from gemmbench.planning.plans.plan import Plan, Target
from gemmbench.planning.precisions import find_precision
from gemmbench.planning.problems import LAYOUTS, Problem

_WINDOW, _ROUGH_WINDOW = 200e-6, 100e-6
_SHORT = 30e-6
"""If the fastest launch takes less than this many seconds, the windows of all that may be the fastest are graphs."""
_HOPELESS = 4.0
"""Whatever takes this many times the shortest time after two launches gets no further windows."""
_MOST_ALGORITHMS = 12
"""The number of algorithms of a library that get windows, those that were fastest in two launches."""
_CLOSE = 1.12
"""Whatever takes at most this many times the shortest time gets more windows."""
_WINDOWS, _MORE, _FEW = 3, 6, 1
_LONG = 2e-3
"""Launches that take more than this many seconds vary little, so there are few windows."""
_SHARE_OF_FREE = 0.8
_PATTERN = 1024
"""Rows and columns of the values that fill all operands, again and again."""


@dataclass(frozen=True)
class PlanTime:
    """The seconds of a launch of a plan, or the reason why there are none. `offered` is False if it cannot run there.

    An implementation that is not `offered` is not at fault: cuBLASLt has fewer algorithms for some problems.
    """

    variant: str
    seconds: float = math.nan
    reason: str = ""
    offered: bool = True


@dataclass(frozen=True, kw_only=True)
class SurveyBatch(Batch[PlanTime]):
    """The plans of one problem that are timed together. `built` holds the machine code of each."""

    plans: tuple[Plan, ...]
    built: tuple[Built, ...]

    @property
    def title(self) -> str:
        """See Batch."""
        return str(self.plans[0].problem)

    @property
    def keys(self) -> tuple[str, ...]:
        """See Batch."""
        names = [(plan.variant.name, plan.config, plan.device) for plan in self.plans]
        return (hash_parts("survey", self.plans[0].problem, names),)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """See Batch."""
        return tuple(dict.fromkeys(plan.variant for plan in self.plans))

    def name_row(self, number: int) -> str | None:
        """See Batch."""
        return self.plans[number].variant.name if 0 <= number < len(self.plans) else None


def time_plans(context: ExperimentContext, batch: SurveyBatch) -> list[PlanTime]:
    """Time the plans of a batch. Returns one time for each, in order, or none if interrupted. Raises DeviceLost."""
    backend = context.backends[batch.plans[0].device]
    with ExitStack() as held:
        try:
            operands = _Operands(backend, batch.plans[0].problem, held)
        except DeviceLost:
            raise
        except PlanError as fault:
            return [PlanTime(plan.variant.name, reason=str(fault)) for plan in batch.plans]
        return _Survey(context, backend, batch, operands, held).run()


class _Operands:
    """Operand sets that keep every launch cold, filled with the same values again and again. Raises OutOfMemory."""

    def __init__(self, backend: Backend, problem: Problem, held: ExitStack):
        sizes = {operand.name: operand.nbytes for operand in problem.operands}
        (*starts,), total = pack_allocations(list(sizes.values()))
        room = min(find_room(backend.device.target), int(backend.free_memory() * _SHARE_OF_FREE))
        if total > room:
            raise OutOfMemory(f"its operands need {total >> 20} MiB, and {room >> 20} MiB are free")
        self.count, _ = count_cold_sets(sum(sizes.values()), total, backend.device.target.l2, room)
        self.memory = backend.allocate(total * self.count)
        held.callback(_free, self.memory)
        self.sets = tuple(
            {name: number * total + start for name, start in zip(sizes, starts, strict=True)}
            for number in range(self.count)
        )
        self.rotation = Rotation(self.count)
        for operand in problem.operands:
            first = self.sets[0][operand.name]
            if operand.role == "factor":
                _repeat(self.memory, first, operand.nbytes, _make_values(problem, operand.name))
            else:
                self.memory.fill(first, operand.nbytes, 0)
        done = 1
        while done < self.count:
            copied = min(done, self.count - done)
            self.memory.copy(0, done * total, copied * total)
            done += copied


def _free(memory: Memory) -> None:
    with suppress(DeviceLost):  # which is already being reported
        memory.free()


def _make_values(problem: Problem, name: str) -> np.ndarray:
    return _make_pattern(problem.precision_name)[name]


@lru_cache(maxsize=4)
def _make_pattern(precision: str) -> Mapping[str, np.ndarray]:
    """Return the bytes of values of A and B in a precision."""
    operands = make_operands(Problem(_PATTERN, _PATTERN, _PATTERN, precision_name=precision), "uniform", 0)
    return {name: operands[name].reshape(-1).view(np.uint8) for name in "AB"}


def _repeat(memory: Memory, first: int, nbytes: int, values: np.ndarray) -> None:
    """Fill a range with the same values again and again."""
    done = min(nbytes, values.nbytes)
    memory.write(first, np.ascontiguousarray(values[:done]))
    while done < nbytes:
        copied = min(done, nbytes - done)
        memory.copy(first, first + done, copied)
        done += copied


@dataclass(eq=False)
class _Timed:
    """A plan with its code, its executable and its times."""

    number: int
    plan: Plan
    loaded: Any = None
    bound: BoundExecutable | None = None
    launches: int = 1
    rough: float = math.inf
    seconds: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        return min(self.seconds, default=self.rough)


class _Survey:
    """Times the plans of one problem."""

    def __init__(
        self, context: ExperimentContext, backend: Backend, batch: SurveyBatch, operands: _Operands, held: ExitStack
    ):
        self._context, self._backend, self._batch, self._operands = context, backend, batch, operands
        self._held = held
        self._workspace: Memory | None = None
        self._faults: dict[int, PlanError] = {}
        self._rng = random.Random(batch.title)

    def run(self) -> list[PlanTime]:
        """Return one time for each plan, in order; none if interrupted."""
        timed = [_Timed(number, plan) for number, plan in enumerate(self._batch.plans)]
        alive = self._each(timed, self._load)
        self._allocate_workspace(alive)
        alive = self._each(alive, self._launch_first)
        shortest = min((each.rough for each in alive), default=math.inf)
        fast = [each for each in alive if each.rough < _HOPELESS * shortest]
        self._each([each for each in alive if each not in fast], self._time_roughly)
        contenders = _leave_out_algorithms(fast)
        contenders = self._each(contenders, self._bind_for_windows(contenders, shortest))
        windows, more = (_WINDOWS, _MORE) if shortest < _LONG else (_FEW, _FEW)
        for _ in range(windows):
            contenders = self._each(self._shuffle(contenders), self._time)
        shortest = min((each.best for each in contenders), default=math.inf)
        close = [each for each in contenders if each.best <= _CLOSE * shortest]
        for _ in range(more):
            close = self._each(self._shuffle(close), self._time)
        if self._context.is_interrupted():
            return []
        return [self._describe(each) for each in timed]

    def _shuffle(self, timed: Sequence[_Timed]) -> list[_Timed]:
        return self._rng.sample(list(timed), len(timed))

    def _describe(self, timed: _Timed) -> PlanTime:
        fault = self._faults.get(timed.number) or self._batch.find_fault(timed.number)
        if fault is not None:
            return PlanTime(timed.plan.variant.name, reason=str(fault), offered=not isinstance(fault, NotOffered))
        seconds = statistics.median(timed.seconds) if timed.seconds else timed.rough
        return PlanTime(timed.plan.variant.name, seconds)

    def _each(self, timed: Iterable[_Timed], do: Callable[[_Timed], None]) -> list[_Timed]:
        """Do something with each plan, and return those that did not fail. Raises DeviceLost."""
        done = []
        for each in timed:
            if self._context.is_interrupted():
                return []
            with self._context.announce_row(each.number):
                if self._try(each, do):
                    done.append(each)
        return done

    def _try(self, timed: _Timed, do: Callable[[_Timed], None]) -> bool:
        try:
            do(timed)
        except DeviceLost:
            raise
        except PlanError as fault:
            self._faults[timed.number] = fault
        except Exception as fault:  # fails this candidate, but not the survey
            self._faults[timed.number] = HostError(fault)
        return timed.number not in self._faults

    def _load(self, timed: _Timed) -> None:
        built, known = self._batch.built[timed.number], self._batch.find_fault(timed.number)
        if known is not None:
            raise known
        if not isinstance(built, Artifact):
            raise built
        timed.loaded = self._backend.load(built, timed.plan)
        (timed.plan,) = size_workspaces(self._backend, [timed.plan], [timed.loaded])

    def _allocate_workspace(self, timed: Sequence[_Timed]) -> None:
        """Allocate one workspace for all plans, because they run one after the other."""
        needs = sorted(((_count_workspace(each.plan), each) for each in timed), key=lambda need: need[0])
        while needs and needs[-1][0]:
            try:
                self._workspace = self._backend.allocate(needs[-1][0])
                self._held.callback(_free, self._workspace)
                return
            except OutOfMemory as fault:
                self._faults[needs.pop()[1].number] = fault

    def _bind(self, timed: _Timed, turns: int = 0) -> None:
        plan, place = timed.plan, None
        if _count_workspace(plan):
            if self._workspace is None or _count_workspace(plan) > self._workspace.nbytes:
                raise OutOfMemory(f"its workspace of {_count_workspace(plan) >> 20} MiB does not fit in memory")
            place = Place(self._workspace, 0)
        step = Step(timed.loaded, plan, self._operands.sets, place)
        self._prepare(timed)
        timed.bound = self._backend.bind(
            plan.variant.name,
            [step],
            self._operands.memory,
            mode=self._backend.modes[0],
            rotation=self._operands.rotation,
            turns=turns,
        )

    def _prepare(self, timed: _Timed) -> None:
        """Bring the workspace into the state that a manifest declares. Another plan has used it since."""
        if self._workspace is not None and timed.plan.zeroed:
            self._workspace.fill(0, timed.plan.zeroed, 0)

    def _launch(self, timed: _Timed, launches: int) -> float:
        assert timed.bound is not None, "it is bound"
        self._prepare(timed)
        window = timed.bound.time(launches)
        return max(window.seconds, 1e-9) / window.launches

    def _launch_first(self, timed: _Timed) -> None:
        """Launch a plan twice. The first window may load code and has no gate."""
        if timed.number in self._faults:
            raise self._faults[timed.number]
        self._bind(timed)
        first = self._launch(timed, 1)
        timed.rough = min(first, self._launch(timed, 1)) if first < _LONG else first

    def _time_roughly(self, timed: _Timed) -> None:
        if timed.rough < _ROUGH_WINDOW:
            timed.rough = self._launch(timed, self._count_launches(timed, _ROUGH_WINDOW))

    def _count_launches(self, timed: _Timed, window: float) -> int:
        return max(1, min(self._backend.max_launches, math.ceil(window / timed.rough)))

    def _bind_for_windows(self, contenders: Sequence[_Timed], shortest: float) -> Callable[[_Timed], None]:
        """Return how to bind a plan for its windows: as graphs if launches are short and all can be recorded."""
        has_graphs = self._backend.device.target.has_graphs and not any(each.plan.problem.beta for each in contenders)
        is_graph = has_graphs and shortest < _SHORT and all(map(self._record, contenders))

        def bind(timed: _Timed) -> None:
            if timed.number in self._faults:
                raise self._faults[timed.number]
            if not is_graph:
                self._bind(timed)
                timed.launches = self._count_launches(timed, _WINDOW)
            self._launch(timed, timed.launches)  # its first window is not used

        return bind

    def _record(self, timed: _Timed) -> bool:
        """Bind a plan as a graph. Returns whether that is possible. A plan that fails in another way does not count."""

        def record(timed: _Timed) -> None:
            turn = timed.rough * self._operands.count
            self._bind(timed, max(1, math.ceil(_WINDOW / turn)))

        with self._context.announce_row(timed.number):
            if self._try(timed, record) or not isinstance(self._faults[timed.number], NotOffered | LaunchError):
                return True
        del self._faults[timed.number]
        return False

    def _time(self, timed: _Timed) -> None:
        timed.seconds.append(self._launch(timed, timed.launches))


def _leave_out_algorithms(timed: Sequence[_Timed]) -> list[_Timed]:
    """Return the candidates, and the fastest algorithms of each library: only the best one matters."""
    kept = [each for each in timed if not each.plan.variant.is_library]
    for name in dict.fromkeys(each.plan.variant.name for each in timed if each.plan.variant.is_library):
        mine = [each for each in timed if each.plan.variant.name == name]
        kept += sorted(mine, key=lambda each: each.rough)[:_MOST_ALGORITHMS]
    return kept


def _count_workspace(plan: Plan) -> int:
    """Return the bytes of a plan's workspace. Libraries manage theirs."""
    return 0 if plan.variant.is_library else plan.workspace


SCHEMA = 1


@dataclass(frozen=True)
class SurveyHead:
    """Where the times below a head of a survey file are from: the variant, the device, and the code of each candidate.

    `codes` has a hash for each variant that is picked. `software` holds versions, and `revision` that of gemmbench.
    """

    variant: str
    target: Target
    codes: Mapping[str, str]
    started: str = ""
    revision: str = ""
    software: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SurveyedShape:
    """The times at one problem in seconds, by candidate or library, and the reasons of those that failed.

    `kind` is one of KINDS. A library has the time of its fastest algorithm.
    """

    problem: Problem
    kind: str
    times: Mapping[Candidate, float]
    failed: Mapping[Candidate, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Verified:
    """What verification of the candidates at small problems in one layout and precision said.

    `wrong` has a reason for each candidate that is left out, and `unchecked` for each that could not be verified.
    """

    layout: str
    precision: str
    wrong: Mapping[Candidate, str]
    unchecked: Mapping[Candidate, str]


class SurveyFile:
    """Appends to a survey file, line by line. Every line is kept as soon as it is written. Raises StoreError."""

    def __init__(self, path: Path, head: SurveyHead):
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _cut_torn_line(path)
            self._file: IO[str] = path.open("a", encoding="utf-8")
        except OSError as fault:
            raise StoreError(f"{path}: cannot be written: {fault.strerror}; choose another --out") from None
        self._write({"survey": SCHEMA, **asdict(head)})

    def __enter__(self) -> SurveyFile:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def add_shape(self, shape: SurveyedShape) -> None:
        """Write the times at one problem."""
        problem = shape.problem
        where = {"shape": [problem.M, problem.N, problem.K], "layout": problem.layout, "kind": shape.kind}
        times = [[name, dict(values), float(f"{each:.5g}")] for (name, values), each in shape.times.items()]
        failed = {"failed": _write_reasons(shape.failed)} if shape.failed else {}
        self._write({**where, "precision": problem.precision_name, "times": times, **failed})

    def add_verified(self, verified: Verified) -> None:
        """Write what verification said."""
        reasons = {"wrong": _write_reasons(verified.wrong), "unchecked": _write_reasons(verified.unchecked)}
        self._write({"verified": verified.layout, "precision": verified.precision, **reasons})

    def _write(self, line: Mapping[str, Any]) -> None:
        try:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
        except OSError as fault:
            raise StoreError(f"{self.path}: cannot be written: {fault.strerror}; the lines before are kept") from None


def _cut_torn_line(path: Path) -> None:
    """Remove the end of a file after its last newline, which a process that was killed left."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        content = file.read()
        if content and not content.endswith(b"\n"):
            file.truncate(content.rfind(b"\n") + 1)
            os.fsync(file.fileno())


def _write_reasons(reasons: Mapping[Candidate, str]) -> list[list[Any]]:
    return [[name, dict(values), reason] for (name, values), reason in reasons.items()]


def _read_candidates(written: Iterable[Sequence[Any]]) -> dict[Candidate, Any]:
    return {(str(name), tuple(sorted(values.items()))): found for name, values, found in written}


def read_survey(path: Path, lines: Iterable[bytes]) -> Iterator[SurveyHead | SurveyedShape | Verified]:
    """Yield the lines of a survey file. An incomplete last line is left out. Raises StoreError."""
    is_first = True
    for number, line in enumerate(lines, 1):
        if not line.endswith(b"\n"):
            break
        if not line.strip():
            continue
        try:
            yield _read_line(json.loads(line), is_first)
        except _UnknownVersion as fault:
            raise StoreError(f"{path}:{number}: {fault}; measure again with this version") from None
        except (ValueError, TypeError, KeyError, AttributeError, UsageError) as fault:
            what = "is not a survey" if is_first else f"cannot be read ({fault})"
            raise StoreError(f"{path}:{number}: {what}; gemmbench tune VARIANT --survey writes such files") from None
        is_first = False
    if is_first:
        raise StoreError(f"{path}: has no complete line; gemmbench tune VARIANT --survey writes such files")


class _UnknownVersion(Exception):
    """A survey in a format of another version."""


def _read_line(line: Any, is_first: bool) -> SurveyHead | SurveyedShape | Verified:
    if is_first or "survey" in line:
        if line["survey"] != SCHEMA:
            raise _UnknownVersion(f"has version {line['survey']} of the format, and version {SCHEMA} is known")
        given = {key: value for key, value in line.items() if key not in ("survey", "target")}
        return SurveyHead(**given, target=Target(**line["target"]))
    if "verified" in line:
        reasons = (_read_candidates(line[key]) for key in ("wrong", "unchecked"))
        return Verified(line["verified"], line["precision"], *reasons)
    M, N, K = line["shape"]
    if not all(type(side) is int and side > 0 for side in (M, N, K)) or line["layout"] not in LAYOUTS:
        raise ValueError(f"a problem of {M} x {N} x {K}, {line['layout']}")
    problem = Problem(M, N, K, line["layout"], find_precision(line["precision"]).name)
    times = {name: float(seconds) for name, seconds in _read_candidates(line["times"]).items()}
    if not all(0 < seconds < math.inf for seconds in times.values()):
        raise ValueError("a time that is not positive")
    return SurveyedShape(problem, line["kind"], times, _read_candidates(line.get("failed", ())))
