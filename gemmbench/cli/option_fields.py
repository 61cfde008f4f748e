"""Options as fields of frozen dataclasses: declared once, read by click, passed on with types."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import field, fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

import click

from gemmbench.errors import UsageError
from gemmbench.planning.files import STDOUT
from gemmbench.planning.sizes import check_digits


class _Number(click.ParamType):  # type: ignore[type-arg]  # generic only in recent releases of click
    """A number that click reads, with few enough digits."""

    def __init__(self, kind: click.ParamType):  # type: ignore[type-arg]  # as above
        self.kind, self.name = kind, kind.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Fails with the count of its digits if it has too many."""
        try:
            check_digits("invalid value", value if isinstance(value, str) else "")
        except UsageError as fault:
            self.fail(str(fault).removeprefix("invalid value: "), param, ctx)
        return self.kind.convert(value, param, ctx)


INTEGER, NUMBER = _Number(click.INT), _Number(click.FLOAT)


T = TypeVar("T")
Values = dict[str, Any]
_PARAMETER = "click"

# The headings of options in --help, in this order.
PROBLEM, DEVICE, MEASURING, STOPPING = "Problem", "Device", "Measuring", "Stopping and time limits"
TRANSFERS, REFERENCE, RESULTS, OUTPUT, OTHER = "Transfers", "Reference run", "Results", "Output", "Options"
HEADINGS = (PROBLEM, DEVICE, MEASURING, STOPPING, TRANSFERS, REFERENCE, RESULTS, OUTPUT, OTHER)

VARIABLES = "Every option can also be set by an environment variable: --max-time by GEMMBENCH_MAX_TIME."
_WIDEST_NAME = 24


class HeadedOption(click.Option):
    """An option that --help shows under `heading`."""

    def __init__(self, *arguments: Any, heading: str = OTHER, **settings: Any):
        super().__init__(*arguments, **settings)
        self.heading = heading


def option(*names: str, **settings: Any) -> Any:
    """A field for an option, which is also an environment variable named after its long form."""
    long = next(name for name in names if name.startswith("--")).partition("/")[0]
    variable = "GEMMBENCH_" + long.removeprefix("--").replace("-", "_").upper()
    settings = {"envvar": variable, **settings}
    return field(metadata={_PARAMETER: lambda name: HeadedOption([*names, name], **settings)})


def argument(**settings: Any) -> Any:
    """A field for a positional argument."""
    return field(metadata={_PARAMETER: lambda name: click.Argument([name], **settings)})


def command(
    kind: type[T],
    name: str | None = None,
    hidden: bool = False,
    complete: Callable[[click.Context, Values], Values] = lambda context, values: values,
) -> Callable[[Callable[[T], int]], click.Command]:
    """Make a function of one options dataclass a click command; its docstring is the help.

    `complete` changes the values that click parsed, and adds those of fields without an option.
    """

    def wrap(function: Callable[[T], int]) -> click.Command:
        @functools.wraps(function)
        def call(**values: Any) -> int:
            if list(values.values()).count(STDOUT) > 1:
                raise UsageError("only one export can go to stdout, -; name a file for each of the others")
            return function(_build_options(kind, complete(click.get_current_context(), values)))

        params = list(_list_parameters(kind))
        return click.command(name, cls=HeadedCommand, params=params, hidden=hidden)(call)

    return wrap


class HeadedCommand(click.Command):
    """A command whose --help shows its options under their headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, all in the same two columns."""
        groups: dict[str, list[tuple[str, str]]] = {heading: [] for heading in HEADINGS}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                groups[getattr(param, "heading", OTHER)].append(record)
        names = [name for records in groups.values() for name, _ in records]
        width = max(len(name) for name in names if len(name) <= _WIDEST_NAME)
        for heading, records in groups.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(width), text) for name, text in records], col_max=width)
        if any(isinstance(param, HeadedOption) for param in self.params):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(VARIABLES)


def _list_parameters(kind: type) -> Iterator[click.Parameter]:
    """The click parameters of a dataclass and of its groups, in order."""
    hints = get_type_hints(kind)
    for each in fields(kind):
        if is_dataclass(hints[each.name]):
            yield from _list_parameters(hints[each.name])
        elif _PARAMETER in each.metadata:
            yield each.metadata[_PARAMETER](each.name)


def _build_options(kind: type[T], values: dict[str, Any]) -> T:
    """The dataclass with the values that click parsed."""
    hints = get_type_hints(kind)
    names = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    return kind(
        **{name: _build_options(hints[name], values) if is_dataclass(hints[name]) else values[name] for name in names}
    )
