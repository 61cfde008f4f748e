"""The arguments of a kernel as numbers with their letters for the struct module."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np

from gemmbench.backends.cuda.memory.device_memory import DeviceMemory
from gemmbench.planning.manifests.variant import NULL, SCALARS
from gemmbench.planning.plans.plan import PassedArgument, Plan
from gemmbench.planning.precisions import BFLOAT16

_LETTERS = {
    "int": "i",
    "unsigned": "I",
    "long long": "q",
    "unsigned long long": "Q",
    "float": "f",
    "double": "d",
    "__half": "e",
    "__nv_bfloat16": "H",
}
_POINTER = "P"

Packed = tuple[str, list[float]]
"""Letters of the struct module, and a number for each."""


def list_standard(plan: Plan, at: Mapping[str, int]) -> Packed:
    """The arguments of the standard signature; `at` has the address of every operand."""
    problem, pointers = plan.problem, [at["A"], at["B"], at["C"]]
    trailing = [at[name] for name in plan.variant.trailing]
    letters = _POINTER * len(trailing)
    if plan.network:
        return f"iPPP{letters}", [problem.M, *pointers, *trailing]
    scalar, (A, B, C) = _LETTERS[problem.precision.scalar.ctype], pointers
    numbers = [problem.M, problem.N, problem.K, problem.alpha, A, B, problem.beta, C]
    return f"iii{scalar}PP{scalar}P{letters}", [*numbers, *trailing]


def list_declared(plan: Plan, at: Mapping[str, int], scalars: ScalarMemory) -> Packed:
    """The arguments that the manifest declares, in its order."""
    packed = [_pack(plan, argument, at, scalars) for argument in plan.arguments]
    return "".join(letter for letter, _ in packed), [number for _, number in packed]


def _pack(plan: Plan, argument: PassedArgument, at: Mapping[str, int], scalars: ScalarMemory) -> tuple[str, float]:
    if argument.by_pointer:
        return _POINTER, scalars.find(argument)
    if argument.role and argument.role not in SCALARS:
        return _POINTER, 0 if argument.role == NULL else at[argument.role]
    return _LETTERS[argument.ctype], _find_number(plan, argument)


def _find_number(plan: Plan, argument: PassedArgument) -> float:
    problem = plan.problem
    number = {"alpha": problem.alpha, "beta": problem.beta}.get(argument.role, argument.value)
    return _to_bfloat16(number) if argument.ctype == BFLOAT16.ctype else number


def pack_scalars(plan: Plan) -> dict[PassedArgument, bytes]:
    """The bytes of each scalar that is passed by pointer."""
    passed = dict.fromkeys(argument for argument in plan.arguments if argument.by_pointer)
    return {argument: struct.pack(f"={_LETTERS[argument.ctype]}", _find_number(plan, argument)) for argument in passed}


def _to_bfloat16(number: float) -> int:
    return int(np.array(number, BFLOAT16.numpy_type()).view(np.uint16))


class ScalarMemory:
    """The scalars of a plan that its kernels read from device memory; nothing if there are none."""

    _STEP = 16

    def __init__(self, plan: Plan):
        """Raises OutOfMemory."""
        scalars = pack_scalars(plan)
        self._offsets = {argument: self._STEP * number for number, argument in enumerate(scalars)}
        self.memory = DeviceMemory(self._STEP * len(scalars)) if scalars else None
        if self.memory:
            padded = b"".join(packed.ljust(self._STEP, b"\0") for packed in scalars.values())
            self.memory.write(0, np.frombuffer(padded, np.uint8))

    def find(self, argument: PassedArgument) -> int:
        """The address of a scalar."""
        assert self.memory is not None, "only arguments that are passed by pointer are looked up"
        return self.memory.address + self._offsets[argument]
