"""Packs the arguments of a manifest into the parameters of a kernel, and writes C++ text that checks them.

A kernel reads its parameters as it declares them. If a manifest passed an `int` for a 64-bit index or the fields of a
structure in the wrong order, the kernel would read wrong values. Both compilers therefore check this first.
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
"""The format characters of the `struct` module for C++ types."""
POINTER = "P"


def _find_letter(argument: PassedArgument) -> str:
    """Return the `struct` format character of an argument."""
    is_pointer = argument.by_pointer or (argument.role and argument.role not in SCALARS)
    return POINTER if is_pointer else LETTERS[argument.ctype]


@dataclass(frozen=True)
class PassedParameter:
    """One parameter of a kernel: a single argument, or the fields of a structure in order."""

    arguments: tuple[PassedArgument, ...]

    @property
    def is_structure(self) -> bool:
        """Whether the parameter is a structure."""
        return bool(self.arguments[0].field)

    @property
    def letters(self) -> str:
        """The format for `struct`. A structure begins and ends at a multiple of the size of its widest field."""
        letters = "".join(map(_find_letter, self.arguments))
        widest = max(letters, key=struct.calcsize)
        return f"0{widest}{letters}0{widest}" if self.is_structure else letters


def list_parameters(arguments: Sequence[PassedArgument]) -> list[PassedParameter]:
    """Return the parameters that these arguments make up."""
    return [PassedParameter(tuple(group)) for _, group in groupby(arguments, key=lambda argument: argument.parameter)]


_PARAMETER = """
template <int Index, class Function> struct gemmbench_parameter;
template <class First, class... Rest> struct gemmbench_parameter<0, void (*)(First, Rest...)> { using type = First; };
template <int Index, class First, class... Rest> struct gemmbench_parameter<Index, void (*)(First, Rest...)>
    : gemmbench_parameter<Index - 1, void (*)(Rest...)> {};
template <class Function> struct gemmbench_count;
template <class... All> struct gemmbench_count<void (*)(All...)> { static constexpr int value = sizeof...(All); };
template <class Type> struct gemmbench_kind { static constexpr int stars = 0, fraction = 0; };
template <class Type> struct gemmbench_kind<Type*> {
    static constexpr int stars = 1 + gemmbench_kind<Type>::stars, fraction = 0;
};
template <class Type> struct gemmbench_kind<Type* const> : gemmbench_kind<Type*> {};
template <> struct gemmbench_kind<float> { static constexpr int stars = 0, fraction = 1; };
template <> struct gemmbench_kind<double> : gemmbench_kind<float> {};
"""


def write_checks(plan: Plan, symbols: Sequence[str]) -> str:
    """Write C++ text that fails to compile if one of these kernels declares other parameters than its manifest passes.

    Returns "" for the standard arguments.
    """
    if not plan.arguments:
        return ""
    parameters = list_parameters(plan.arguments)
    expected = len(parameters) + plan.variant.maps_by_value
    lines = [_PARAMETER]
    for number, symbol in enumerate(symbols):
        function = f"gemmbench_function_{number}"
        line = plan.variant.call.line or next((each.line for each in plan.variant.launches), 0) or 1
        lines += [f"#line {line} {quote_path(plan.variant.path)}", f"constexpr auto {function} = &{symbol};"]
        count = f"gemmbench_count<decltype(+{function})>::value == {expected}"
        name = symbol.partition("<")[0]
        more = " and `maps_by_value`" if plan.variant.maps_by_value else ""
        fault = f"args: {len(parameters)} items{more}, but {name} has a different number of parameters"
        lines += [f"#line {line} {quote_path(plan.variant.path)}", f'static_assert({count}, "{fault}");']
        for place, parameter in enumerate(parameters):
            kind = f"gemmbench_parameter<{place}, decltype(+{function})>::type"
            for condition, fault in _list_checks(place, parameter, kind):
                lines += [f"#line {line} {quote_path(plan.variant.path)}", f'static_assert({condition}, "{fault}");']
    return "\n".join([*lines, ""])


def _list_checks(place: int, parameter: PassedParameter, kind: str) -> list[tuple[str, str]]:
    """Return the conditions that the type `kind` of a parameter must meet, each with the fault to report otherwise."""
    if parameter.is_structure:
        return _list_field_checks(place, parameter, kind)
    letter, item = parameter.letters, f"args: item {place + 1}"
    nbytes = struct.calcsize(letter)
    has_size, is_pointer = f"sizeof({kind}) == {nbytes}", f"gemmbench_kind<{kind}>::stars > 0"
    if letter == POINTER:
        return [
            (has_size, f"{item} is an array, but the kernel reads a number or a structure there"),
            (f"gemmbench_kind<{kind}>::stars < 2", f"{item} points to pointers, which cannot be passed"),
        ]
    fault = f"{item} has {nbytes} bytes, but the kernel reads another size; write its type, such as long(M)"
    checks = [
        (f"{has_size} || !({is_pointer})", f"{item} is a number, but the kernel reads a pointer there"),
        (f"{has_size} || {is_pointer}", fault),
    ]
    if letter in "fd":
        fault = f"{item} is a fraction, but the kernel reads an integer; write an integer, such as 1"
        checks.append((f"sizeof({kind}) != {nbytes} || gemmbench_kind<{kind}>::fraction", fault))
    else:
        fault = f"{item} is an integer, but the kernel reads a fraction; write its type, such as float(M)"
        checks.append((f"sizeof({kind}) != {nbytes} || !gemmbench_kind<{kind}>::fraction", fault))
    return checks


def _list_field_checks(place: int, parameter: PassedParameter, kind: str) -> list[tuple[str, str]]:
    """Return the conditions for a structure. Its fields must have the same offsets and sizes as in C++."""
    conditions, before = [f"sizeof({kind}) == {struct.calcsize(f'@{parameter.letters}')}"], ""
    for argument in parameter.arguments:
        letter = _find_letter(argument)
        offset = struct.calcsize(f"@{before}0{letter}")
        conditions.append(f"__builtin_offsetof({kind}, {argument.field}) == {offset}")
        conditions.append(f"sizeof({kind}::{argument.field}) == {struct.calcsize(letter)}")
        before += letter
    fault = f"args: the fields of item {place + 1} do not match those of the structure in order and type"
    return [(" && ".join(conditions), fault)]
