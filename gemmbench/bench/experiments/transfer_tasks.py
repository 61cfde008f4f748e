"""Chooses the whole jobs to measure, with the best configuration of every kernel, and makes their steps."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from gemmbench.backends.base import Artifact, Compiler, Device, OperandSet
from gemmbench.backends.jobs import CopyStep, HostMemory, JobStep, LaunchStep, Transfers
from gemmbench.bench.build import Built, compile_plans
from gemmbench.bench.estimate import TYPICAL_HOST, estimate_job
from gemmbench.bench.experiments.batch import Batch, hash_parts
from gemmbench.bench.experiments.context import Progress, ignore_progress
from gemmbench.bench.operands import guards
from gemmbench.bench.operands.operand_values import Operands
from gemmbench.bench.record import MODES, Record, TransferRecord
from gemmbench.bench.runner import Pace
from gemmbench.errors import OutOfMemory
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Plan, Skip, Target, make_chain
from gemmbench.planning.plans.skip_reasons import Refusal
from gemmbench.planning.problems import Panel, PanelCut, Problem, cut_into_panels
from gemmbench.planning.sweeps.policy import Policy


class HostMatrices:
    """A, B and C on the host as bytes. Unless beta is 0, also C0, the matrix that beta multiplies."""

    def __init__(self, device: Transfers, problem: Problem, pinned: bool):
        """Allocate. Raises OutOfMemory."""
        self.problem, self.pinned = problem, pinned
        self._memory: dict[str, HostMemory] = {}
        try:
            for name in ("A", "B", "C", "C0") if problem.beta else ("A", "B", "C"):
                self._memory[name] = device.host(problem.operand_bytes(name[0]), pinned)
        except OutOfMemory:
            self.free()
            raise

    def whole(self, name: str) -> np.ndarray:
        """Return all bytes of one matrix."""
        return self._memory[name].bytes

    def panel(self, name: str, panel: Panel) -> np.ndarray:
        """Return the bytes of A, C or C0 in a panel. They are rows, or scattered columns of a transposed A."""
        rows, columns = self.problem.stored_shape(name[0])
        table = self.whole(name).reshape(rows, -1)
        end = panel.first + panel.rows
        if name == "A" and self.problem.trans_a:
            width = table.shape[1] // columns
            return table[:, panel.first * width : end * width]
        return table[panel.first : end]

    def write(self, operands: Operands) -> None:
        """Fill A, B and C0."""
        for name, array in (("A", operands["A"]), ("B", operands["B"]), ("C0", operands["C"])):
            if name in self._memory:
                self.whole(name)[:] = array.reshape(-1).view(np.uint8)

    def poison(self) -> None:
        """Fill C with NaN, so that missing copies are found."""
        self.whole("C").fill(guards.NAN)

    def copy_result(self) -> np.ndarray:
        """Return a copy of C."""
        kind = self.problem.storage("C").numpy_type()
        return np.array(self.whole("C").view(kind).reshape(self.problem.stored_shape("C")))

    def free(self) -> None:
        """Free the memory."""
        for memory in self._memory.values():
            memory.free()
        self._memory.clear()


@dataclass(frozen=True)
class Piece:
    """A panel with the plan and the machine code that compute it."""

    panel: Panel
    plan: Plan
    artifact: Artifact

    def with_scalars(self, alpha: float, beta: float) -> Piece:
        """Return the same piece with different alpha and beta."""
        problem = replace(self.plan.problem, alpha=alpha, beta=beta)
        return replace(self, plan=replace(self.plan, problem=problem))


def make_job_steps(
    matrices: HostMatrices, pieces: Sequence[Piece], operands: OperandSet, streams: int
) -> list[JobStep]:
    """Return the steps of a job on these operands. Panels of A and C are packed in order."""
    steps: list[JobStep] = [CopyStep(0, matrices.whole("B"), operands["B"], inward=True)]
    for number, piece in enumerate(pieces):
        after = 0 if 0 < number < streams else None  # on all other streams, the first step waits for B
        steps += _make_panel_steps(matrices, piece, operands, number % streams, after)
    return steps


def _make_panel_steps(
    matrices: HostMatrices, piece: Piece, operands: OperandSet, stream: int, after: int | None
) -> list[JobStep]:
    panel, problem = piece.panel, matrices.problem
    a = operands["A"] + panel.first * (problem.operand_bytes("A") // problem.M)
    c = operands["C"] + panel.first * (problem.operand_bytes("C") // problem.M)
    steps: list[JobStep] = [CopyStep(stream, matrices.panel("A", panel), a, True, after)]
    if problem.beta:
        steps.append(CopyStep(stream, matrices.panel("C0", panel), c, True))
    steps.append(LaunchStep(stream, piece.plan, piece.artifact, {**operands, "A": a, "C": c}))
    return [*steps, CopyStep(stream, matrices.panel("C", panel), c, False)]


@dataclass(frozen=True)
class TransferTask:
    """One kernel whose job is measured as a whole and in panels. `why_not` is the reason if there are no panels."""

    whole: Piece
    panels: tuple[Piece, ...]
    why_not: str = ""

    def without_pdl(self) -> TransferTask:
        """Return the same task without overlap: each product begins after all earlier launches have ended."""
        whole, *panels = (replace(piece, plan=piece.plan.without_pdl()) for piece in (self.whole, *self.panels))
        return replace(self, whole=whole, panels=tuple(panels))


def choose_plans(plans: Sequence[Plan], records: Sequence[Record]) -> list[Plan]:
    """Return the fastest configuration of every ranked kernel. If it has final rounds, these decide.

    Short loads do not count, because their results were not verified.
    """
    timed = [record for record in records if record.ranked and record.samples and not record.is_short_load]
    finals = {(record.problem, record.variant) for record in timed if record.phase == "final"}
    seconds: dict[tuple[object, ...], float] = {}
    for record in timed:
        if record.phase == "final" or (record.problem, record.variant) not in finals:
            seconds[record.kernel_key] = median(record.samples)
    fastest: dict[tuple[Problem, str], Plan] = {}
    for plan in sorted(plans, key=lambda plan: seconds.get(make_chain(plan).kernel_key, math.inf)):
        if make_chain(plan).kernel_key in seconds:
            fastest.setdefault((plan.problem, plan.variant.name), plan)
    return [plan for plan in plans if fastest.get((plan.problem, plan.variant.name)) == plan]


def plan_tasks(
    plans: Sequence[Plan],
    cut: PanelCut,
    targets: Mapping[str, Target],
    refuses: Refusal,
    compilers: Mapping[str, Compiler],
    progress: Progress = ignore_progress,
) -> list[TransferTask]:
    """Plan the panels and compile what has not been compiled yet. Raises DeviceError."""
    panels = {plan: _plan_panels(plan, cut, targets, refuses) for plan in plans}
    panel_plans = [plan for planned in panels.values() for _, plan in planned if isinstance(plan, Plan)]
    built = compile_plans([*plans, *panel_plans], compilers, progress)
    tasks = []
    for plan, planned in panels.items():
        code = built[plan]
        if isinstance(code, Artifact):
            whole = Piece(Panel(0, plan.problem.M), plan, code)
            tasks.append(TransferTask(whole, *_make_pieces(planned, built)))
    return tasks


def _plan_panels(
    plan: Plan, cut: PanelCut, targets: Mapping[str, Target], refuses: Refusal
) -> list[tuple[Panel, Plan | Skip]]:
    chosen = [(plan.variant, [plan.config])]
    return [
        (panel, make_plans([panel.make_problem(plan.problem)], chosen, plan.device, targets, refuses)[0])
        for panel in cut_into_panels(plan.problem, cut.panels)
    ]


def _make_pieces(
    planned: Sequence[tuple[Panel, Plan | Skip]], built: Mapping[Plan, Built]
) -> tuple[tuple[Piece, ...], str]:
    """Return the panels with their code. If one has no plan or code, return no panels and the reason."""
    pieces = []
    for panel, plan in planned:
        code = built[plan] if isinstance(plan, Plan) else plan.reason
        if not isinstance(plan, Plan) or not isinstance(code, Artifact):
            return (), f"a panel of {panel.rows} rows: {code}"
        pieces.append(Piece(panel, plan, code))
    return tuple(pieces), ""


@dataclass(frozen=True, kw_only=True)
class TransferBatch(Batch[TransferRecord]):
    """Jobs of one problem's kernels. Row 4 n + m is task n in mode m of MODES."""

    device: str
    tasks: tuple[TransferTask, ...]
    cut: PanelCut

    @property
    def problem(self) -> Problem:
        """The problem that all tasks share."""
        return self.tasks[0].whole.plan.problem

    @property
    def title(self) -> str:
        """See Batch."""
        return f"transfers {self.problem}"

    @property
    def keys(self) -> tuple[str, ...]:
        """See Batch. There is one key for each task."""
        return tuple(map(self.key, self.tasks))

    @property
    def variants(self) -> tuple[Variant, ...]:
        """See Batch."""
        return tuple(dict.fromkeys(task.whole.plan.variant for task in self.tasks))

    def name_row(self, number: int) -> str | None:
        """See Batch."""
        task = number // len(MODES)
        return self.tasks[task].whole.plan.variant.name if 0 <= task < len(self.tasks) else None

    def without(self, done: Collection[str]) -> TransferBatch | None:
        """See Batch."""
        left = tuple(task for task in self.tasks if self.key(task) not in done)
        return replace(self, tasks=left) if left else None

    def key(self, task: TransferTask) -> str:
        """Return a hash of everything that affects the rows of a task, except the machine."""
        code = [(piece.panel, piece.plan.launches, piece.artifact.key) for piece in (task.whole, *task.panels)]
        plan = task.whole.plan
        return hash_parts(self.policy, plan.problem, self.cut, plan.variant.name, plan.config, code, task.why_not)


def split_tasks(tasks: Collection[TransferTask], device: str, policy: Policy, cut: PanelCut) -> list[TransferBatch]:
    """Return one batch for each problem."""
    problems: dict[Problem, list[TransferTask]] = {}
    for task in tasks:
        problems.setdefault(task.whole.plan.problem, []).append(task)
    return [TransferBatch(policy=policy, device=device, tasks=tuple(same), cut=cut) for same in problems.values()]


def pace_batches(batches: Iterable[TransferBatch], device: Device) -> Pace:
    """Return how long batches are expected to take."""
    return Pace(
        [
            sum(estimate_job(make_chain(task.whole.plan), device, batch.policy, TYPICAL_HOST) for task in batch.tasks)
            for batch in batches
        ]
    )
