"""What the rows of a batch compute: its operands, their values, and the right results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from gemmbench.backends.base import Executable
from gemmbench.bench.experiments.auditing.audit_case import AuditCase
from gemmbench.bench.operands.arena import Arena, Inputs
from gemmbench.bench.operands.cold_sets import count_cold_sets
from gemmbench.bench.operands.layouts import SetLayout
from gemmbench.bench.verify.reference import Check
from gemmbench.bench.verify.relaunch import Relauncher
from gemmbench.planning.sweeps.policy import Policy

Judge = Callable[[np.ndarray, str], Check]
"""(result, class of products that the manifest declares or "") -> check."""
Explain = Callable[[Check, np.ndarray, Relauncher, bool], Check]
"""(failed check, result, relauncher, whether an earlier check passed) -> better explained check."""


@dataclass(frozen=True)
class VerificationCase:
    """Inputs to verify a row on, and how to judge its result.

    `exact` cases have one right result, bit by bit, and are launched in every mode of the back end
    that verifies. `scalars` are alpha and beta if they are not those of the problem.
    """

    inputs: Inputs
    exact: bool
    judge: Judge
    scalars: tuple[float, float] | None = None
    explain: Explain | None = None


@dataclass(frozen=True)
class Workload:
    """A GEMM or a network, as an experiment needs it.

    A launch uses `touched` bytes of an operand set. `make_cases` takes the seed. `measure_accuracy`
    runs after timing, on the first operand set.
    """

    layout: SetLayout
    touched: int
    make_cases: Callable[[int], Iterable[VerificationCase]]
    make_timed_inputs: Callable[[Policy], Inputs]
    make_audit_case: Callable[[Policy], AuditCase]
    measure_accuracy: Callable[[Arena, Executable], float] | None = None

    def count_cold_sets(self, last_level_cache: int, room: int) -> tuple[int, bool]:
        """How many operand sets keep every launch cold, and whether they do."""
        kept = self.layout.guarded.outputs[-1].nbytes  # a copy of one result
        return count_cold_sets(self.touched, self.layout.guarded.total, last_level_cache, room - kept)
