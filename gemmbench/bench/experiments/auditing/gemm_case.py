"""What a GEMM must give in an audit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gemmbench.bench.experiments.auditing.audit_case import CHANGE
from gemmbench.bench.operands.arena import Inputs
from gemmbench.bench.verify.reference import Check, Reference

_MULTIPLES = [sign * 2.0**power for power in range(-1, 4) for sign in (1, -1)]


@dataclass(frozen=True)
class GemmCase:
    """An AuditCase; `reference` is that of set 0 before the change."""

    inputs: Inputs
    reference: Reference
    declared: str = ""

    @property
    def is_linear(self) -> bool:
        """As AuditCase."""
        return self.reference.problem.precision.keeps_multiples

    @property
    def rows(self) -> np.ndarray:
        """As AuditCase."""
        return self.reference.rows

    def declare_class(self, name: str) -> GemmCase:
        """As AuditCase."""
        return replace(self, declared=name)

    def judge(self, result: np.ndarray, factor: float, rows: np.ndarray) -> Check:
        """As AuditCase."""
        compared = self.reference if rows is self.rows else replace(self.reference, chosen=rows)
        return compared.check_rows(result, CHANGE * factor, self.declared)

    def find_multiple(self, result: np.ndarray) -> float | None:
        """As AuditCase."""
        right = self.reference.are_rows_right
        return next((multiple for multiple in _MULTIPLES if right(result, multiple, self.declared)), None)
