"""What is measured with transfers: of every kernel the best configuration, whole and in panels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from gemmbench.backends.base import Artifact, Compiler
from gemmbench.bench.build import Built, compile_plans
from gemmbench.bench.experiments.context import Progress, ignore_progress
from gemmbench.bench.experiments.transfers.job_steps import Piece
from gemmbench.bench.record import Record
from gemmbench.planning.plans.chain import make_chain
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Plan, Skip, Target
from gemmbench.planning.plans.suitability import Refusal
from gemmbench.planning.problems.panels import Panel, PanelCut, cut_into_panels
from gemmbench.planning.problems.problem import Problem


@dataclass(frozen=True)
class TransferTask:
    """One kernel whose job is measured: whole, and in panels, or why it cannot be had in panels."""

    whole: Piece
    panels: tuple[Piece, ...]
    why_not: str = ""


def choose_plans(plans: Sequence[Plan], records: Sequence[Record]) -> list[Plan]:
    """Of every kernel and problem that came out right the fastest configuration, by fresh rounds if it had some."""
    timed = [record for record in records if record.status == "ok" and record.samples]
    again = {(record.problem, record.variant) for record in timed if record.phase == "final"}
    seconds: dict[tuple[object, ...], float] = {}
    for record in timed:
        if record.phase == "final" or (record.problem, record.variant) not in again:
            seconds[record.kernel_key] = median(record.samples)
    found: dict[tuple[Problem, str], Plan] = {}
    for plan in sorted(plans, key=lambda plan: seconds.get(make_chain(plan).kernel_key, math.inf)):
        if make_chain(plan).kernel_key in seconds:
            found.setdefault((plan.problem, plan.variant.name), plan)
    return [plan for plan in plans if found.get((plan.problem, plan.variant.name)) == plan]


def plan_tasks(
    plans: Sequence[Plan],
    how: PanelCut,
    targets: Mapping[str, Target],
    refuses: Refusal,
    compilers: Mapping[str, Compiler],
    progress: Progress = ignore_progress,
) -> list[TransferTask]:
    """Plan the panels and compile what is not compiled yet. Raises DeviceError."""
    pieces = {plan: _panels(plan, how, targets, refuses) for plan in plans}
    panels = [plan for cuts in pieces.values() for _, plan in cuts if isinstance(plan, Plan)]
    built = compile_plans([*plans, *panels], compilers, progress)
    found = []
    for plan, cuts in pieces.items():
        code = built[plan]
        if isinstance(code, Artifact):
            whole = Piece(Panel(0, plan.problem.M), plan, code)
            found.append(TransferTask(whole, *_pieces(cuts, built)))
    return found


def _panels(
    plan: Plan, how: PanelCut, targets: Mapping[str, Target], refuses: Refusal
) -> list[tuple[Panel, Plan | Skip]]:
    chosen = [(plan.variant, [plan.config])]
    return [
        (panel, make_plans([panel.make_problem(plan.problem)], chosen, plan.device, targets, refuses)[0])
        for panel in cut_into_panels(plan.problem, how.panels)
    ]


def _pieces(cuts: Sequence[tuple[Panel, Plan | Skip]], built: Mapping[Plan, Built]) -> tuple[tuple[Piece, ...], str]:
    found = []
    for panel, plan in cuts:
        code = built[plan] if isinstance(plan, Plan) else plan.reason
        if not isinstance(plan, Plan) or not isinstance(code, Artifact):
            return (), f"a panel of {panel.rows} rows: {code}"
        found.append(Piece(panel, plan, code))
    return tuple(found), ""
