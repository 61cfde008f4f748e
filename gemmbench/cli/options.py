"""The options of commands: most come from the table in planning, and those only for the command line are defined here.

Options are fields of frozen dataclasses. Click reads them, and commands receive typed values. Each option can also be
set by an environment variable GEMMBENCH_...
"""

from __future__ import annotations

import functools
import inspect
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import click
from click.shell_completion import CompletionItem

from gemmbench.errors import GemmbenchError, UsageError, nearest
from gemmbench.planning.files import STDOUT, list_results, list_saved, results_stem
from gemmbench.planning.manifests.variant import ALL, Variant
from gemmbench.planning.precisions import PRECISIONS
from gemmbench.planning.problems import LAYOUTS
from gemmbench.planning.sizes import check_digits
from gemmbench.planning.sweeps.run_request import (
    DEVICE,
    FOLDER,
    HEADINGS,
    NAME_OF_VARIANT,
    OPTIONS,
    OTHER,
    OUTPUT,
    PROBLEM,
    RESULTS,
    Destination,
    Option,
    RunRequest,
    TransferOptions,
    make_request,
)
from gemmbench.report.table import is_complete
from gemmbench.report.tables.view import View
from gemmbench.session.machine import open_catalog

_POSTS = "posts/"
"""The folder that holds the configs of posts."""


class _Number(click.ParamType):  # type: ignore[type-arg]  # generic only in recent releases of click
    """A number that click reads and that has a limited number of digits."""

    def __init__(self, kind: click.ParamType):  # type: ignore[type-arg]  # as above
        self.kind, self.name = kind, kind.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert to a number. If there are too many digits, it fails with their count."""
        try:
            check_digits("invalid value", value if isinstance(value, str) else "")
        except UsageError as fault:
            self.fail(str(fault).removeprefix("invalid value: "), param, ctx)
        return self.kind.convert(value, param, ctx)


INTEGER, NUMBER = _Number(click.INT), _Number(click.FLOAT)


def _complete(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def _list_configs() -> list[str]:
    from gemmbench.planning.sweeps.sweep import list_configs  # only a shell that completes a name needs it

    return list_configs()


class VariantName(click.ParamType):  # type: ignore[type-arg]  # generic only in recent releases of click
    """The name of a kernel or library, or the path of a kernel file."""

    name = "kernel"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return the name for this argument in help. If there are several, click adds the brackets."""
        return "KERNELS" if param.nargs == -1 else "KERNEL"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the names of variants, including those in --kernels, and libraries; files if no name matches."""
        known = open_catalog(ctx.params.get("kernels")).names
        return _complete(known, incomplete) or [CompletionItem(incomplete, type="file")]


class ConfigName(click.ParamType):  # type: ignore[type-arg]  # as above
    """The name of a config or the path of a file."""

    name = "config"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the names of configs; files if no name matches."""
        return _complete(_list_configs(), incomplete) or [CompletionItem(incomplete, type="file")]


class RunName(click.ParamType):  # type: ignore[type-arg]  # as above
    """The name of a saved run, the id of a run, or the path of a results file."""

    name = "text"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the names of saved runs, or else the ids of runs; files if neither matches."""
        folder = Path(ctx.params.get("out") or Destination.folder)
        return (
            _complete(map(results_stem, list_saved(folder)), incomplete)
            or _complete((results_stem(path).rpartition("-")[2] for path in list_results(folder)), incomplete)
            or [CompletionItem(incomplete, type="file")]
        )


class Names(click.ParamType):  # type: ignore[type-arg]  # as above
    """Names separated by commas."""

    name = "text"

    def __init__(self, known: Iterable[str]):
        self.known = tuple(known)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete with names that are not in the list yet."""
        *before, last = incomplete.split(",")
        return [
            CompletionItem(",".join([*before, name]))
            for name in self.known
            if name.startswith(last) and name not in before
        ]


class ParamValues(click.ParamType):  # type: ignore[type-arg]  # as above
    """A parameter and its values: BM=64,128."""

    name = "text"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the parameters of the named kernels, and then the values of the parameter that was typed."""
        named = ctx.params.get("variants") or ctx.args  # click stops at an option that has no value yet
        catalog = open_catalog(ctx.params.get("kernels"))
        variants: list[Variant] = []
        for name in named:
            with suppress(GemmbenchError):
                variants.append(catalog.get(name))
        values = {name: known for variant in variants for name, known in variant.params}
        name, equals, written = incomplete.partition("=")
        if not equals:
            return _complete([*(f"{each}=" for each in values), ALL], incomplete)
        offered = Names(map(str, values.get(name, ()))).shell_complete(ctx, param, written)
        return [CompletionItem(f"{name}={item.value}") for item in offered]


class PostName(click.ParamType):  # type: ignore[type-arg]  # as above
    """The name of a post or the beginning of one."""

    name = "post"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the names of posts."""
        posts = (name.removeprefix(_POSTS) for name in _list_configs() if name.startswith(_POSTS))
        return _complete(posts, incomplete)


# tabulate's formats, listed so that this module need not import it; a test compares them
MARKUP = ("asciidoc", "colon_grid", "jira", "mediawiki", "moinmoin", "orgtbl", "rst", "textile", "youtrack")
"""Formats of tabulate that are not offered, because their readers may take text for markup and nothing escapes it."""
FORMATS = (
    "double_grid double_outline fancy_grid fancy_outline github grid heavy_grid heavy_outline html latex "
    "latex_booktabs latex_longtable latex_raw mixed_grid mixed_outline outline pipe plain presto pretty psql "
    "rounded_grid rounded_outline simple simple_grid simple_outline tsv unsafehtml"
).split()


class Seconds(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions
    """The value of an option that needs none. A word that follows such an option may be mistaken for its value."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Convert to a number. If that fails, it shows two ways to write the option without a number."""
        try:
            return float(value)
        except ValueError:
            long = param.opts[0] if param else "the option"
            self.fail(f"'{value}' is not a number of seconds; write {long}=4, or {long} as the last word", param, ctx)


PRECISION_NAMES, LAYOUT_NAMES = Names(PRECISIONS), Names(LAYOUTS)
_TYPES = {int: INTEGER, float: NUMBER, NAME_OF_VARIANT: VariantName(), FOLDER: click.Path()}
_NAMED_TYPES = {"precisions": PRECISION_NAMES, "layouts": LAYOUT_NAMES, "params": ParamValues()}
"""The types of options that a shell can complete, by the name of the option."""


T = TypeVar("T")
Values = dict[str, Any]
_PARAMETER, _GROUP, _MAKER = "click", "group", "maker"

VARIABLES = "Environment variables set options too: GEMMBENCH_MAX_TIME sets --max-time."
_WIDEST_NAME = 24


class HeadedOption(click.Option):
    """An option that --help shows under the heading `heading`."""

    def __init__(self, *arguments: Any, heading: str = OTHER, **settings: Any):
        super().__init__(*arguments, **settings)
        self.heading = heading


def option(*names: str, **settings: Any) -> Any:
    """Make a field for an option. The option can also be set by an environment variable named after its long form."""
    long = next(name for name in names if name.startswith("--")).partition("/")[0]
    variable = "GEMMBENCH_" + long.removeprefix("--").replace("-", "_").upper()
    settings = {"envvar": variable, **settings}
    return field(metadata={_PARAMETER: lambda name: HeadedOption([*names, name], **settings)})


def group(*names: str) -> Any:
    """Make a field without a value that stands for the options of the table with these names."""
    return field(init=False, default=None, metadata={_GROUP: names})


def made(make: Callable[[Values], Any]) -> Any:
    """Make a field whose value is computed from the values of all options of the command."""
    return field(metadata={_MAKER: make})


def argument(**settings: Any) -> Any:
    """Make a field for a positional argument."""
    return field(metadata={_PARAMETER: lambda name: click.Argument([name], **settings)})


def command(
    kind: type[T],
    name: str | None = None,
    hidden: bool = False,
    complete: Callable[[click.Context], Values] = lambda context: {},
    common: Sequence[str] = (),
) -> Callable[[Callable[..., int]], click.Command]:
    """Turn a function of one options dataclass into a click command. Its docstring becomes the help.

    If the function takes two arguments, the first is the request, made from the options of the table.

    `complete` returns values that replace those that click parsed, or that no option sets. `common` names the options
    that --help shows if it does not show all.
    """

    def wrap(function: Callable[..., int]) -> click.Command:
        takes_request = len(inspect.signature(function).parameters) > 1

        @functools.wraps(function)
        def call(**values: Any) -> int:
            if list(values.values()).count(STDOUT) > 1:
                raise UsageError("only one export can go to stdout (-); give a file for each of the others")
            values |= complete(click.get_current_context())
            requests = [_read_request(values)] if takes_request else []
            return function(*requests, _build_options(kind, values))

        params = list(_list_parameters(kind))
        return click.command(name, cls=HeadedCommand, params=params, hidden=hidden, common=common)(call)

    return wrap


_ALL_OPTIONS, _COMMON = "gemmbench.all_options", "Most used options"


def _show_all_options(ctx: click.Context, param: click.Parameter, is_asked: bool) -> None:
    if is_asked and not ctx.resilient_parsing:
        ctx.meta[_ALL_OPTIONS] = True
        click.echo(ctx.get_help())
        ctx.exit()


_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all_options,
    help="Show every option and exit.",
)


_ALIKE = 0.7
"""The similarity from which a known option is suggested for an unknown one."""


class HeadedCommand(click.Command):
    """A command whose --help shows its options under their headings.

    If the command has `common` options, --help shows only these, after the first paragraph and the examples of the
    docstring. --help-all shows everything. Examples are paragraphs that click does not wrap.
    """

    def __init__(self, *arguments: Any, common: Sequence[str] = (), **settings: Any):
        super().__init__(*arguments, **settings)
        self.common = common

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, including --help and --help-all."""
        return [*super().get_params(ctx), _HELP_ALL]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words. The error for an unknown option names options that begin the same way, if there are any."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as fault:
            offered, word = fault.possibilities or (), fault.option_name.lstrip("-")
            longer = [name for name in offered if name.startswith(fault.option_name)]
            close = [name for name in offered if nearest(word, [name.lstrip("-")], cutoff=_ALIKE)]
            fault.possibilities = longer or close  # type: ignore[misc]
            raise

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the docstring, or the part of it that --help shows."""
        if not self.common or _ALL_OPTIONS in ctx.meta:
            super().format_help_text(ctx, formatter)
            return
        first, *others = inspect.cleandoc(self.help or "").split("\n\n")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text("\n\n".join([first, *(each for each in others if each.startswith("\b"))]))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write all options in the same two columns."""
        if self.common and _ALL_OPTIONS not in ctx.meta:
            self._format_common(ctx, formatter)
            return
        groups: dict[str, list[tuple[str, str]]] = {heading: [] for heading in HEADINGS}
        for param in self.get_params(ctx)[: None if self.common else -1]:  # elsewhere --help shows everything
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                groups[getattr(param, "heading", OTHER)].append(record)
        names = [name for records in groups.values() for name, _ in records]
        width = max(len(name) for name in names if len(name) <= _WIDEST_NAME)
        for heading, records in groups.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(width), text) for name, text in records], col_max=width)
        if self.common:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(VARIABLES)

    def _format_common(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [param for param in self.params if isinstance(param, click.Option)]
        params = {param.name: param for param in options}
        shown = [*(params[name] for name in self.common), *self.get_params(ctx)[-2:]]
        with formatter.section(_COMMON):
            formatter.write_dl([record for param in shown if (record := param.get_help_record(ctx))], col_max=24)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"{ctx.command_path} --help-all shows all {len(options)} options, by topic.")


def _list_parameters(kind: type) -> Iterator[click.Parameter]:
    """Yield the click parameters of a dataclass and of its groups in order."""
    hints = get_type_hints(kind)
    for each in fields(kind):
        if _PARAMETER in each.metadata:
            yield each.metadata[_PARAMETER](each.name)
        elif _GROUP in each.metadata:
            yield from (_make_parameter(OPTIONS[name]) for name in each.metadata[_GROUP])
        elif _MAKER not in each.metadata and is_dataclass(hints[each.name]):
            yield from _list_parameters(hints[each.name])


def _make_parameter(declared: Option) -> HeadedOption:
    """Make the click parameter for an option of the table."""
    kind = declared.kind
    known = _NAMED_TYPES.get(declared.name) or _TYPES.get(kind, click.STRING)
    settings: Values = {"type": click.Choice(kind) if isinstance(kind, tuple) else known}
    if declared.bounds:
        settings |= {"type": click.IntRange(*declared.bounds), "default": declared.usual, "show_default": True}
    if declared.bare:
        settings |= {"is_flag": False, "flag_value": declared.bare, "type": Seconds()}
    if kind is bool:
        unset = None if declared.in_config else declared.usual
        settings = {"is_flag": True, "default": unset} if len(declared.words) == 1 else {"default": declared.usual}
    variable = "GEMMBENCH_" + declared.words[0].removeprefix("--").replace("-", "_").upper()
    return HeadedOption(
        [declared.flag, declared.name],
        heading=declared.heading,
        help=declared.help,
        metavar=declared.metavar,
        multiple=declared.repeats,
        envvar=variable,
        **settings,
    )


def _build_options(kind: type[T], values: Values) -> T:
    """Build the dataclass from the values that click parsed."""
    hints = get_type_hints(kind)
    built: Values = {}
    for each in fields(kind):  # type: ignore[arg-type]
        if _MAKER in each.metadata:
            built[each.name] = each.metadata[_MAKER](values)
        elif is_dataclass(hints[each.name]):
            built[each.name] = _build_options(hints[each.name], values)
        elif each.init:
            built[each.name] = values[each.name]
    return kind(**built)


# Single options that several groups or commands have.
def _device_option() -> Any:
    text = "auto, cpu, cuda or cuda:N."
    return option("--device", metavar="DEVICE", default="auto", show_default=True, heading=DEVICE, help=text)


def config_option(default: str, text: str = "Name of a config, or path of a YAML file.") -> Any:
    return option("-c", "--config", type=ConfigName(), default=default, show_default=True, heading=PROBLEM, help=text)


def out_option() -> Any:
    text = "Folder for the results."
    return option(
        "--out",
        type=click.Path(),
        metavar="FOLDER",
        default=str(Destination.folder),
        show_default=True,
        heading=RESULTS,
        help=text,
    )


def dry_run_option(text: str) -> Any:
    return option("--dry-run", is_flag=True, help=text)


def style_option() -> Any:
    return option(
        "--format",
        type=click.Choice(["rich", *FORMATS]),
        metavar="NAME",
        heading=OUTPUT,
        help="rich, or any tabulate format: github, simple, tsv, latex, html ...  [default: rich on a terminal]",
    )


SHAPE = ("sizes", "precisions", "layouts", "params")
SCALARS = ("alpha", "beta", "epilogue", "ld", "separate_c")
MEASURE = (
    *("cache", "data", "seed", "rounds", "until", "max_time", "sustained", "peaks"),
    *("baseline", "gate", "pdl"),
)
LIMITS = ("compile_limit", "launch_limit", "sweep_limit", "yes")
TRANSFER = ("with_transfers", "panels", "streams")


def _read_request(values: Values) -> RunRequest:
    """Make a request from the options of a command. Raises UsageError."""
    given = {name: values[name] for name in OPTIONS if name in values and name not in TRANSFER}
    command = values.get("recorded_command") or shlex.join(["gemmbench", *sys.argv[1:]])
    resume = Path(values["resume_from"]) if values.get("resume_from") else None
    return make_request(
        values.get("config", RunRequest.config),
        Destination(Path(Destination.folder if values.get("out") is None else values["out"]), resume, command),
        values.get("variants") or [name for name in [values.get("variant")] if name is not None],
        **{name: None if value == () else value for name, value in given.items()},
    )


def read_transfers(values: Values) -> TransferOptions:
    """Read whether and how jobs are measured with their copies."""
    return TransferOptions(**{name: values[name] for name in TRANSFER})


@dataclass(frozen=True, kw_only=True)
class DeviceOptions:
    """Where the kernels run, and where to find more of them."""

    device: str = _device_option()
    kernels: None = group("kernels")


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """How to print the rows and where to export them."""

    export_csv: str | None = option(
        "--export-csv",
        type=click.Path(),
        metavar="FILE",
        heading=OUTPUT,
        help="Write the rows to this CSV file; - for stdout.",
    )
    export_json: str | None = option(
        "--export-json", type=click.Path(), metavar="FILE", heading=OUTPUT, help="Write the rows to this JSON file."
    )
    export_markdown: str | None = option(
        "--export-markdown",
        type=click.Path(),
        metavar="FILE",
        heading=OUTPUT,
        help="Write the tables to this Markdown file.",
    )
    wide: bool = option(
        "--wide",
        is_flag=True,
        heading=OUTPUT,
        help="Show all columns, including registers, occupancy, bound, clock and power; narrow screens get one "
        "block per row.",
    )
    details: bool = option(
        "--details",
        is_flag=True,
        heading=OUTPUT,
        help="Show a table for each size with all configurations, even for more than two sizes.",
    )
    notes: bool = option("--notes", is_flag=True, heading=OUTPUT, help="Also show how everything was measured.")
    style: str | None = style_option()

    @property
    def view(self) -> View:
        """The parts that the tables show."""
        return View(self.wide, self.details or is_complete(self.style), self.notes)

    @property
    def to_stdout(self) -> bool:
        """Whether an export goes to stdout."""
        return STDOUT in (self.export_csv, self.export_json, self.export_markdown)

    @property
    def exports(self) -> bool:
        """Whether anything is exported."""
        return any((self.export_csv, self.export_json, self.export_markdown))
