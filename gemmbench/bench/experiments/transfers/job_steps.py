"""The steps of a job: what is copied and launched, on which stream and after which step.

    stream 0   B in | A0 in | launch 0 | C0 out | A3 in | launch 3 | C3 out
    stream 1          A1 in | launch 1 | C1 out | A4 in | ...
    stream 2          A2 in | launch 2 | C2 out | ...

Panels take the streams in turn. B goes first, whole, and every stream waits for it. After that,
a step waits only for its own stream and for the engine that copies. With one panel and one stream
this is the plain job: copy in, launch, copy out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gemmbench.backends.base import Artifact, OperandSet
from gemmbench.backends.jobs import CopyStep, JobStep, LaunchStep
from gemmbench.bench.operands.host_matrices import HostMatrices
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.problems import Panel


@dataclass(frozen=True)
class Piece:
    """A panel with the plan and the machine code that compute it."""

    panel: Panel
    plan: Plan
    artifact: Artifact

    def with_scalars(self, alpha: float, beta: float) -> Piece:
        """The same piece with another alpha and beta."""
        problem = replace(self.plan.problem, alpha=alpha, beta=beta)
        return replace(self, plan=replace(self.plan, problem=problem))


def make_job_steps(
    matrices: HostMatrices, pieces: Sequence[Piece], operands: OperandSet, streams: int
) -> list[JobStep]:
    """The steps of a job on these operands, where panels of A and C are packed in order."""
    steps: list[JobStep] = [CopyStep(0, matrices.whole("B"), operands.B, inward=True)]
    for number, piece in enumerate(pieces):
        after = 0 if 0 < number < streams else None  # the first step of every other stream waits for B
        steps += _make_panel_steps(matrices, piece, operands, number % streams, after)
    return steps


def _make_panel_steps(
    matrices: HostMatrices, piece: Piece, operands: OperandSet, stream: int, after: int | None
) -> list[JobStep]:
    panel, problem = piece.panel, matrices.problem
    a = operands.A + panel.first * (problem.operand_bytes("A") // problem.M)
    c = operands.C + panel.first * (problem.operand_bytes("C") // problem.M)
    steps: list[JobStep] = [CopyStep(stream, matrices.panel("A", panel), a, True, after)]
    if problem.beta:
        steps.append(CopyStep(stream, matrices.panel("C0", panel), c, True))
    steps.append(LaunchStep(stream, piece.plan, piece.artifact, OperandSet(a, operands.B, c)))
    return [*steps, CopyStep(stream, matrices.panel("C", panel), c, False)]
