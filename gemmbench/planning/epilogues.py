"""Epilogues: what follows a product before its elements are stored, one or several steps in turn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from gemmbench.planning.precisions import load_numpy

if TYPE_CHECKING:
    import numpy as np

Part = Literal["row", "element", "one"]
"""What a step reads of its operand: one number per column of C, one per element, or a single one."""


@dataclass(frozen=True)
class EpilogueStep:
    """A step of an epilogue: `apply` computes it in float64 and `code` in CUDA C++, from a `value` and an `operand`.

    A step that reads an operand gives it its name, and `part` is what it reads of it. An activation returns its
    argument from `linear_from` on, and next to nothing at the negative of that. `slope` is its largest absolute
    derivative: an error of the argument grows by no more than that (its Lipschitz constant).
    """

    name: str
    code: str
    apply: Callable[[np.ndarray, np.ndarray], np.ndarray]
    part: Part | None = None
    slope: float = 1.0
    linear_from: float | None = None

    @property
    def is_activation(self) -> bool:
        """It is not linear."""
        return self.linear_from is not None


def _apply_relu(value: np.ndarray, _: np.ndarray) -> np.ndarray:
    return cast("np.ndarray", load_numpy().where(value < 0, 0.0, value))  # a NaN stays


def _apply_gelu(value: np.ndarray, _: np.ndarray) -> np.ndarray:
    erf = load_numpy().frompyfunc(math.erf, 1, 1)(value / math.sqrt(2))
    return cast("np.ndarray", 0.5 * value * (1 + erf.astype(value.dtype)))


def _apply_tanh_gelu(value: np.ndarray, _: np.ndarray) -> np.ndarray:
    inner = math.sqrt(2 / math.pi) * (value + 0.044715 * value**3)
    return cast("np.ndarray", 0.5 * value * (1 + load_numpy().tanh(inner)))


def _apply_silu(value: np.ndarray, _: np.ndarray) -> np.ndarray:
    with load_numpy().errstate(over="ignore"):
        return cast("np.ndarray", value / (1 + load_numpy().exp(-value)))


_CUBE = "Real(0.7978845608028654) * (value + Real(0.044715) * value * value * value)"
_STEPS = (
    EpilogueStep("bias", "value + operand", lambda value, bias: value + bias, "row"),
    EpilogueStep("residual", "value + operand", lambda value, added: value + added, "element"),
    EpilogueStep("scale", "value * operand", lambda value, by: value * by, "one"),
    EpilogueStep("relu", "value < 0 ? Real(0) : value", _apply_relu, linear_from=0.0),
    EpilogueStep(
        "gelu",
        "Real(0.5) * value * (1 + erf(value * Real(0.7071067811865476)))", _apply_gelu, slope=1.13, linear_from=9.0,
    ),
    EpilogueStep(
        "gelu_tanh",
        f"Real(0.5) * value * (1 + tanh({_CUBE}))", _apply_tanh_gelu, slope=1.13, linear_from=9.0,
    ),
    EpilogueStep(
        "silu", "value / (1 + exp(-value))", _apply_silu, slope=1.1, linear_from=38.0
    ),
)  # fmt: skip
EPILOGUE_STEPS = {step.name: step for step in _STEPS}
"""All steps by name. The slopes are rounded up."""
SOFTMAX = "softmax"
"""Follows the last layer of a network; it needs whole rows, so that it is no step of a product."""


def is_smooth(name: str) -> bool:
    """Whether a step multiplies its argument by a factor from 0 to 1, which kernels may approximate: GELU and SiLU."""
    return name in EPILOGUE_STEPS and bool(EPILOGUE_STEPS[name].linear_from)


def fuse_steps(wanted: Sequence[str], offered: Sequence[str]) -> tuple[str, ...]:
    """Return the first of the `wanted` steps that a kernel can apply itself.

    The steps that it has `offered` are in the order in which it applies them. A launch may leave out some of them, and
    asks for at most one activation.
    """
    fused: list[str] = []
    left = list(offered)
    for name in wanted:
        active = any(EPILOGUE_STEPS[each].is_activation for each in fused if each in EPILOGUE_STEPS)
        if name not in left or (active and EPILOGUE_STEPS[name].is_activation):
            break
        fused.append(name)
        left = left[left.index(name) + 1 :]
    return tuple(fused)


_OPERANDS: dict[Part, str] = {"row": "[product * N + column]", "element": "[at]", "one": "[0]"}


def write_steps(names: Sequence[str]) -> str:
    """Write the steps in CUDA C++: assignments to `value`, for element `at` of C, in `column` of a `product`."""
    steps = [EPILOGUE_STEPS[name] for name in names if name in EPILOGUE_STEPS]
    codes = [step.code.replace("operand", f"Real({step.name}{_OPERANDS[step.part]})") if step.part else step.code
             for step in steps]  # fmt: skip
    return " ".join(f"value = {code};" for code in codes)
