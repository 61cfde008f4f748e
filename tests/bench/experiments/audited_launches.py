"""How a function of the fake device knows that it is audited."""

from typing import Any

import numpy as np

from gemmbench.backends.base import OperandSet


def is_audited(step: Any, at: OperandSet) -> bool:
    """Whether B is negated, as only the audit does between launches of one executable."""
    sign = np.sign(step._view(at.B, "B")[0, 0])
    step.sign = getattr(step, "sign", sign)
    return bool(sign != step.sign)
