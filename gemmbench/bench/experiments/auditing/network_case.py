"""What a network must give in an audit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from gemmbench.bench.experiments.auditing.audit_case import CHANGES
from gemmbench.bench.operands.arena import Inputs
from gemmbench.bench.verify.network_reference import Case
from gemmbench.bench.verify.reference import Check


@dataclass(frozen=True)
class NetworkCase:
    """An AuditCase; `case` is that of set 0 before the change. Biases and relu make it not linear."""

    inputs: Inputs
    case: Case
    is_linear = False
    _cases: dict[float, Case] = field(default_factory=dict)

    @property
    def rows(self) -> np.ndarray:
        """As AuditCase: all of them."""
        return np.arange(self.case.network.batch)

    def declare_class(self, name: str) -> NetworkCase:
        """As AuditCase: the bounds of networks know no classes."""
        return self

    def judge(self, result: np.ndarray, factor: float, rows: np.ndarray) -> Check:
        """As AuditCase; always of all rows."""
        if factor not in self._cases:
            self._cases[factor] = self._change(factor)
        return self._cases[factor].judge(result)

    def _change(self, factor: float) -> Case:
        """The case of a set with this factor, its inputs and parameters changed."""
        of_inputs, of_parameters = (np.float32(change) for change in CHANGES)
        parameters = replace(
            self.case.parameters,
            weights=tuple(of_parameters * w for w in self.case.parameters.weights),
            biases=tuple(of_parameters * b for b in self.case.parameters.biases),
        )
        return replace(self.case, parameters=parameters, inputs=of_inputs * np.float32(factor) * self.case.inputs)

    def find_multiple(self, result: np.ndarray) -> float | None:
        """As AuditCase: none is known."""
        return None
