"""Epilogues: what follows a product before its elements are stored, one or several steps in turn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
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

    @property
    def keeps_integers(self) -> bool:
        """It makes integers of integers."""
        return self.part != "one" and self.slope == 1


def _apply_relu(value: np.ndarray, _: np.ndarray) -> np.ndarray:
    return cast("np.ndarray", load_numpy().where(value < 0, 0.0, value))  # a NaN stays


_ERF_STEP, _ERF_END, _ERF_TERMS = 1 / 64, 6.0, 8


@cache
def _tabulate_erf() -> np.ndarray:
    """The terms of Taylor's series of erf at every step up to its end, one row per term."""
    at = load_numpy().arange(0, _ERF_END + _ERF_STEP, _ERF_STEP)
    rows, before, hermite = [load_numpy().array([math.erf(x) for x in at])], 0 * at, 1 + 0 * at
    for number in range(1, _ERF_TERMS):
        sign = (-1) ** (number - 1) / math.factorial(number)
        rows.append(sign * 2 / math.sqrt(math.pi) * hermite * load_numpy().exp(-(at**2)))
        before, hermite = hermite, 2 * at * hermite - 2 * (number - 1) * before
    return cast("np.ndarray", load_numpy().stack(rows))


def _erf(value: np.ndarray) -> np.ndarray:
    """The error function in float64, which NumPy lacks and `math` computes for single numbers only."""
    numpy = load_numpy()
    size = numpy.minimum(abs(value.astype("f8")), _ERF_END)  # erf of 6 is 1 in float64; a NaN stays
    index = numpy.rint(numpy.nan_to_num(size) / _ERF_STEP).astype(numpy.intp)
    rest, total = size - index * _ERF_STEP, numpy.zeros(size.shape)
    for row in _tabulate_erf()[::-1]:
        total *= rest
        total += row.take(index)
    return cast("np.ndarray", numpy.copysign(total, value))


def _apply_gelu(value: np.ndarray, _: np.ndarray) -> np.ndarray:
    return cast("np.ndarray", 0.5 * value * (1 + _erf(value / math.sqrt(2)).astype(value.dtype)))


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
