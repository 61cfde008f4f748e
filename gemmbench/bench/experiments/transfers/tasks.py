"""Which jobs are measured: the best configuration of every kernel, whole and in panels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from gemmbench.backends.base import Artifact, Compiler
from gemmbench.bench.build import Built, compile_plans
from gemmbench.bench.experiments.context import Progress, ignore_progress
from gemmbench.bench.experiments.transfers.job_steps import Piece
from gemmbench.bench.record import Record
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Plan, Skip, Target, make_chain
from gemmbench.planning.plans.skip_reasons import Refusal
from gemmbench.planning.problems import Panel, PanelCut, Problem, cut_into_panels


@dataclass(frozen=True)
class TransferTask:
    """One kernel whose job is measured: whole, and in panels or `why_not`."""

    whole: Piece
    panels: tuple[Piece, ...]
    why_not: str = ""

    def without_pdl(self) -> TransferTask:
        """The same task, whose launches begin when the launch before them has ended."""
        whole, *panels = (replace(piece, plan=piece.plan.without_pdl()) for piece in (self.whole, *self.panels))
        return replace(self, whole=whole, panels=tuple(panels))


def choose_plans(plans: Sequence[Plan], records: Sequence[Record]) -> list[Plan]:
    """The fastest configuration of every ranked kernel; its final rounds decide if it has any.

    Short loads do not count: their results were not verified.
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
    """Plan the panels, compile what is not compiled yet. Raises DeviceError."""
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
    """The panels with their code; none if one has no plan or no code, and why."""
    pieces = []
    for panel, plan in planned:
        code = built[plan] if isinstance(plan, Plan) else plan.reason
        if not isinstance(plan, Plan) or not isinstance(code, Artifact):
            return (), f"a panel of {panel.rows} rows: {code}"
        pieces.append(Piece(panel, plan, code))
    return tuple(pieces), ""
