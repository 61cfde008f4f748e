"""The parameters of a kernel as bytes: how each argument of a manifest is packed, and C++ text that checks it.

A kernel reads its parameters where its declaration says. If a manifest passes an `int` for a 64-bit index, or the
fields of a structure in another order, it would read something else, so both compilers are asked first.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from gemmbench.backends.sources import quote_path
from gemmbench.planning.manifests.variant import SCALARS
from gemmbench.planning.plans.plan import PassedArgument, Plan

LETTERS = {
    "int": "i",
    "unsigned": "I",
    "long long": "q",
    "unsigned long long": "Q",
    "short": "h",
    "unsigned short": "H",
    "signed char": "b",
    "unsigned char": "B",
    "bool": "?",
    "float": "f",
    "double": "d",
    "__half": "e",
    "__nv_bfloat16": "H",
}
"""Letters of the module `struct` for types of C++."""
POINTER = "P"


def _find_letter(argument: PassedArgument) -> str:
    """The letter of `struct` for an argument."""
    is_pointer = argument.by_pointer or (argument.role and argument.role not in SCALARS)
    return POINTER if is_pointer else LETTERS[argument.ctype]


@dataclass(frozen=True)
class PassedParameter:
    """One parameter of a kernel: an argument, or the fields of a structure in their order."""

    arguments: tuple[PassedArgument, ...]

    @property
    def is_structure(self) -> bool:
        """Whether it is a structure."""
        return bool(self.arguments[0].field)

    @property
    def letters(self) -> str:
        """Its layout for `struct`: a structure begins and ends at a multiple of its widest field."""
        letters = "".join(map(_find_letter, self.arguments))
        widest = max(letters, key=struct.calcsize)
        return f"0{widest}{letters}0{widest}" if self.is_structure else letters


def list_parameters(arguments: Sequence[PassedArgument]) -> list[PassedParameter]:
    """The parameters that these arguments fill."""
    return [PassedParameter(tuple(group)) for _, group in groupby(arguments, key=lambda argument: argument.parameter)]


_PARAMETER = """
template <int Index, class Function> struct gemmbench_parameter;
template <class First, class... Rest> struct gemmbench_parameter<0, void (*)(First, Rest...)> { using type = First; };
template <int Index, class First, class... Rest> struct gemmbench_parameter<Index, void (*)(First, Rest...)>
    : gemmbench_parameter<Index - 1, void (*)(Rest...)> {};
template <class Function> struct gemmbench_count;
template <class... All> struct gemmbench_count<void (*)(All...)> { static constexpr int value = sizeof...(All); };
"""


def write_checks(plan: Plan, symbols: Sequence[str]) -> str:
    """C++ text that refuses to compile if a kernel of these names does not read what a manifest passes.

    "" for the standard arguments.
    """
    if not plan.arguments:
        return ""
    parameters = list_parameters(plan.arguments)
    lines = [_PARAMETER]
    for number, symbol in enumerate(symbols):
        function = f"gemmbench_function_{number}"
        line = next((each.line for each in plan.variant.launches), 0) or 1
        lines += [f"#line {line} {quote_path(plan.variant.path)}", f"constexpr auto {function} = &{symbol};"]
        count = f"gemmbench_count<decltype(+{function})>::value == {len(parameters)}"
        name = symbol.partition("<")[0]
        fault = f"args: {len(parameters)} items, but {name} has another number of parameters"
        lines += [f"#line {line} {quote_path(plan.variant.path)}", f'static_assert({count}, "{fault}");']
        for place, parameter in enumerate(parameters):
            lines.append(f"#line {line} {quote_path(plan.variant.path)}")
            lines.append(_write_check(place, parameter, f"gemmbench_parameter<{place}, decltype(+{function})>::type"))
    return "\n".join([*lines, ""])


def _write_check(place: int, parameter: PassedParameter, kind: str) -> str:
    nbytes = struct.calcsize(f"@{parameter.letters}")
    if not parameter.is_structure:
        fault = f"args: item {place + 1} has {nbytes} bytes, but the kernel reads another size; write its type, "
        return f'static_assert(sizeof({kind}) == {nbytes}, "{fault}such as long(M)");'
    conditions, before = [f"sizeof(gemmbench_type_{place}) == {nbytes}"], ""
    for argument in parameter.arguments:
        letter = _find_letter(argument)
        offset = struct.calcsize(f"@{before}0{letter}")
        member = f"gemmbench_type_{place}, {argument.field}"
        conditions.append(f"__builtin_offsetof({member}) == {offset}")
        conditions.append(f"sizeof(gemmbench_type_{place}::{argument.field}) == {struct.calcsize(letter)}")
        before += letter
    fault = f"args: the fields of item {place + 1} are not all those of the structure in its order, with their types"
    return (
        f'namespace {{ using gemmbench_type_{place} = {kind}; static_assert({" && ".join(conditions)}, "{fault}"); }}'
    )
