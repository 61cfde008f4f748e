"""The names of kernels in the machine code, which C++ mangles.

An empty kernel is instantiated with the address of each kernel. That makes the compiler instantiate a
template, and writes its mangled name into the name of the empty kernel:

    _Z16gemmbench_kernelILi0EXadL_Z5sgemmILi64EEvPfS1_EEEvv   contains L_Z5sgemmILi64EEvPfS1_E
    _Z5sgemmILi64EEvPfS0_                                     is the kernel

Only the numbers of substitutions (`S1_`) differ between the two, so they are compared without them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gemmbench.backends.inlining import quote_path
from gemmbench.planning.plans.plan import Plan

_TAG = "gemmbench_kernel"
_SUBSTITUTION = re.compile(r"S[0-9A-Z]*_")


def write_tags(plan: Plan) -> str:
    """The text that instantiates the kernels of a plan; "" if their names are not mangled.

    Errors in it are reported at the line of the manifest that names the kernel.
    """
    launches = [launch for launch in plan.variant.launches if launch.mangled]
    if not launches:
        return ""
    lines = ["", f"template <int Number, auto Function> __global__ void {_TAG}() {{}}"]
    for number, symbol in enumerate(plan.symbols):
        name = symbol.partition("<")[0]
        line = next((launch.line for launch in launches if launch.symbol == name), 0)
        address = f"{_TAG}_{number}"
        lines += [f"#line {line or 1} {quote_path(plan.variant.path)}", f"constexpr auto {address} = &{symbol};"]
        lines += [f"template __global__ void {_TAG}<{number}, {address}>();"]
    return "\n".join([*lines, ""])


def find_names(symbols: Sequence[str], kernels: Sequence[str]) -> tuple[str, ...] | None:
    """The names in the machine code of kernels that the text calls `symbols`; None if one is missing."""
    names = [_find_name(number, symbol, kernels) for number, symbol in enumerate(symbols)]
    return tuple(name for name in names if name) if all(names) else None


def list_own(kernels: Sequence[str]) -> list[str]:
    """The kernels of the text, without those that only name others."""
    return [kernel for kernel in kernels if _TAG not in kernel]


def _find_name(number: int, symbol: str, kernels: Sequence[str]) -> str | None:
    if symbol in kernels:
        return symbol
    tag = next((kernel for kernel in kernels if f"{_TAG}ILi{number}E" in kernel), "")
    return next((kernel for kernel in list_own(kernels) if f"L{_normalise(kernel)}E" in _normalise(tag)), None)


def _normalise(name: str) -> str:
    return _SUBSTITUTION.sub("S_", name)
