"""The arguments of a host function: their kinds, for launcher.h, and their values on each operand set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ctypes import Array, Structure, addressof, c_double, c_longlong, c_void_p, create_string_buffer
from dataclasses import dataclass

from gemmbench.backends.cuda.launching.arguments import pack_scalars
from gemmbench.planning.manifests.code_keys import FLOAT_TYPES
from gemmbench.planning.manifests.variant import NULL, OPERANDS, SCALARS, STREAM
from gemmbench.planning.plans.evaluation import to_row_major
from gemmbench.planning.plans.plan import PassedArgument, Plan
from gemmbench.planning.problems import Problem

_STANDARD = ("M", "N", "K", "alpha", "A", "B", "beta", "C", "workspace", STREAM)
_WHOLE, _FRACTION, _ADDRESS, _NOTHING = "i", "f", "p", "0"


class Slot(Structure):
    """An argument, as launcher.h has it."""

    _fields_ = (("whole", c_longlong), ("number", c_double), ("address", c_void_p))


@dataclass(frozen=True)
class LauncherArgument:
    """An argument of a host function; `written` is the name of a standard one."""

    passed: PassedArgument
    written: str = ""

    def __str__(self) -> str:
        return self.written or self.place or str(self.passed.value)

    @property
    def kind(self) -> str:
        """Which member of a slot has its value: a letter of launcher.h."""
        passed = self.passed
        if passed.role == NULL:
            return _NOTHING
        if passed.by_pointer or passed.role in (*OPERANDS, STREAM):
            return _ADDRESS
        return _FRACTION if passed.role in SCALARS or passed.ctype in FLOAT_TYPES.values() else _WHOLE

    @property
    def place(self) -> str:
        """The name of what it points to, if it is an address."""
        return f"&{self.passed.ctype} {self.passed.role}" if self.passed.by_pointer else self.passed.role

    def fill(self, problem: Problem, addresses: Mapping[str, int]) -> Slot:
        """The slot of a launch; `addresses` has one for each `place`."""
        if self.kind == _ADDRESS:
            return Slot(address=addresses[self.place] or None)
        value = {"alpha": problem.alpha, "beta": problem.beta}.get(self.passed.role, self.passed.value)
        return Slot(number=value) if self.kind == _FRACTION else Slot(whole=int(value))


def list_arguments(plan: Plan) -> list[LauncherArgument]:
    """The arguments of a plan's host function, in order."""
    if plan.arguments:
        return [LauncherArgument(passed) for passed in plan.arguments]
    return [LauncherArgument(_map_standard_argument(plan, name), name) for name in _STANDARD]


class HostScalars:
    """The scalars of a plan that its host function takes by pointer; they stay in host memory, as for cuBLAS."""

    def __init__(self, plan: Plan):
        self._buffers = {argument: create_string_buffer(packed, 16) for argument, packed in pack_scalars(plan).items()}

    def find(self, argument: PassedArgument) -> int:
        """The address of a scalar."""
        return addressof(self._buffers[argument])


def _map_standard_argument(plan: Plan, name: str) -> PassedArgument:
    """A standard argument as the manifest means it: a column-major one calls B A."""
    sizes = count_sizes(plan)
    return PassedArgument("", "int", sizes[name]) if name in sizes else PassedArgument(to_row_major(plan.variant, name))


def count_sizes(plan: Plan) -> dict[str, int]:
    """M, N and K as the manifest means them."""
    seen = plan.problem.column_major if plan.variant.call.column_major else plan.problem
    return {"M": seen.M, "N": seen.N, "K": seen.K}


def pack_slots(slots: Sequence[Slot]) -> Array[Slot]:
    """Slots one after the other."""
    return (Slot * len(slots))(*slots)
