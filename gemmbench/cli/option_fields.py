"""Options as fields of frozen dataclasses: declared once, read by click, passed on with types.

@dataclass(frozen=True)
class ListOptions:
    device: DeviceOptions                  a group of options that several commands share
    as_json: bool = option("--json", is_flag=True, help="Write JSON.")

@command(ListOptions, "list")
def list_variants(options: ListOptions) -> int: ...
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import field, fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

import click

T = TypeVar("T")
_PARAMETER = "click"


def option(*names: str, **settings: Any) -> Any:
    """A field for an option, which is also an environment variable named after its long form."""
    long = next(name for name in names if name.startswith("--")).partition("/")[0]
    variable = "GEMMBENCH_" + long.removeprefix("--").replace("-", "_").upper()
    settings = {"envvar": variable, "show_envvar": True, **settings}
    return field(metadata={_PARAMETER: lambda name: click.Option([*names, name], **settings)})


def argument(**settings: Any) -> Any:
    """A field for a positional argument."""
    return field(metadata={_PARAMETER: lambda name: click.Argument([name], **settings)})


def command(
    kind: type[T], name: str | None = None, hidden: bool = False
) -> Callable[[Callable[[T], int]], click.Command]:
    """Make a function of one options dataclass a click command; its docstring is the help."""

    def wrap(function: Callable[[T], int]) -> click.Command:
        @functools.wraps(function)
        def call(**values: Any) -> int:
            return function(_build_options(kind, values))

        return click.command(name, params=list(_list_parameters(kind)), hidden=hidden)(call)

    return wrap


def _list_parameters(kind: type) -> Iterator[click.Parameter]:
    """The click parameters of a dataclass and of its groups, in order."""
    hints = get_type_hints(kind)
    for each in fields(kind):
        if is_dataclass(hints[each.name]):
            yield from _list_parameters(hints[each.name])
        else:
            yield each.metadata[_PARAMETER](each.name)


def _build_options(kind: type[T], values: dict[str, Any]) -> T:
    """The dataclass with the values that click parsed."""
    hints = get_type_hints(kind)
    names = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    return kind(
        **{name: _build_options(hints[name], values) if is_dataclass(hints[name]) else values[name] for name in names}
    )
