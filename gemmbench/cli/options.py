"""Groups of options that several commands share, and the names that a shell completes.

Each option is also a variable GEMMBENCH_...
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from gemmbench.cli.option_fields import (
    DEVICE,
    INTEGER,
    MEASURING,
    NUMBER,
    OUTPUT,
    PROBLEM,
    RESULTS,
    STOPPING,
    TRANSFERS,
    option,
)
from gemmbench.planning.files import list_saved, results_stem
from gemmbench.planning.precisions import PRECISIONS
from gemmbench.planning.problems import LAYOUTS, PanelCut
from gemmbench.planning.sweeps.overrides import Cache, Fill, TimeLimits
from gemmbench.report.table import is_complete
from gemmbench.report.tables.view import View
from gemmbench.session.machine import open_catalog

_RESULTS = "results"
_POSTS = "posts/"
"""The folder of their configs."""


def _complete(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def _list_configs() -> list[str]:
    from gemmbench.planning.sweeps.sweep import list_configs  # only a shell that completes a name needs it

    return list_configs()


class VariantName(click.ParamType):  # type: ignore[type-arg]  # generic only in recent releases of click
    """The name of a variant, or the path of its file."""

    name = "variant"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Variants of the kernel files, those of --kernels included, and libraries; files where no name fits."""
        known = open_catalog(ctx.params.get("kernels")).names
        return _complete(known, incomplete) or [CompletionItem(incomplete, type="file")]


class ConfigName(click.ParamType):  # type: ignore[type-arg]  # as above
    """The name of a config, or the path of a file."""

    name = "config"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Configs by name; files where no name fits."""
        return _complete(_list_configs(), incomplete) or [CompletionItem(incomplete, type="file")]


class RunName(click.ParamType):  # type: ignore[type-arg]  # as above
    """The name of a saved run, or the path of a results file."""

    name = "text"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Saved runs by name; files where no name fits."""
        saved = list_saved(Path(ctx.params.get("out") or _RESULTS))
        return _complete(map(results_stem, saved), incomplete) or [CompletionItem(incomplete, type="file")]


class PostName(click.ParamType):  # type: ignore[type-arg]  # as above
    """The name of a post, or the beginning of one."""

    name = "post"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The posts."""
        posts = (name.removeprefix(_POSTS) for name in _list_configs() if name.startswith(_POSTS))
        return _complete(posts, incomplete)


# tabulate's formats, listed so that this module need not import it; a test compares them
MARKUP = ("asciidoc", "colon_grid", "jira", "mediawiki", "moinmoin", "orgtbl", "rst", "textile", "youtrack")
"""Formats of tabulate that are not offered: readers take text for markup, and nothing here escapes it."""
FORMATS = (
    "double_grid double_outline fancy_grid fancy_outline github grid heavy_grid heavy_outline html latex "
    "latex_booktabs latex_longtable latex_raw mixed_grid mixed_outline outline pipe plain presto pretty psql "
    "rounded_grid rounded_outline simple simple_grid simple_outline tsv unsafehtml"
).split()


class Seconds(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions
    """The value of an option that needs none, so that the next word may be taken for it."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """A number. Fails with the two ways to write the option without one."""
        try:
            return float(value)
        except ValueError:
            long = param.opts[0] if param else "the option"
            self.fail(f"'{value}' is not a number of seconds; write {long}=4, or {long} as the last word", param, ctx)


def _join_names(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


# Single options that several groups or commands have.
def _device_option() -> Any:
    text = "auto, cpu, cuda or cuda:N."
    return option("--device", metavar="DEVICE", default="auto", show_default=True, heading=DEVICE, help=text)


def kernels_option() -> Any:
    text = "A folder with more .cu files."
    return option("--kernels", type=click.Path(), metavar="FOLDER", heading=DEVICE, help=text)


def config_option(default: str, text: str = "Name of a config, or a YAML file.") -> Any:
    return option("-c", "--config", type=ConfigName(), default=default, show_default=True, heading=PROBLEM, help=text)


def params_option() -> Any:
    text = "Values to try, such as BM=64,128 (repeatable), or all."
    return option("--param", multiple=True, metavar="NAME=VALUES", heading=PROBLEM, help=text)


def seed_option() -> Any:
    return option("--seed", type=INTEGER, heading=PROBLEM, help="Seed of the data.")


def out_option() -> Any:
    text = "Folder for the results."
    return option(
        "--out", type=click.Path(), metavar="FOLDER", default="results", show_default=True, heading=RESULTS, help=text
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


@dataclass(frozen=True, kw_only=True)
class DeviceOptions:
    """Where the kernels run, and where more of them are."""

    device: str = _device_option()
    kernels: str | None = kernels_option()


@dataclass(frozen=True, kw_only=True)
class ShapeOptions:
    """Which problems, in which configurations."""

    sizes: str | None = option(
        "--sizes",
        metavar="SIZES",
        heading=PROBLEM,
        help="Sizes: 1024,4096 or 1024x768x1024 (M x N x K) or 512:4096:512.",
    )
    precisions: str | None = option(
        "--precision", metavar="NAMES", heading=PROBLEM, help=f"{_join_names(list(PRECISIONS))}; several with commas."
    )
    layouts: str | None = option(
        "--layout", metavar="NAMES", heading=PROBLEM, help=f"{_join_names(list(LAYOUTS))}; several with commas."
    )
    params: tuple[str, ...] = params_option()


@dataclass(frozen=True, kw_only=True)
class ProblemOptions(ShapeOptions):
    """Which problems of a sweep."""

    alpha: float | None = option("--alpha", type=NUMBER, heading=PROBLEM, help="C = alpha A B + beta C.")
    beta: float | None = option("--beta", type=NUMBER, heading=PROBLEM, help="With 0, C is not read.")


@dataclass(frozen=True, kw_only=True)
class MeasureOptions:
    """How to measure."""

    cache: Cache | None = option(
        "--cache",
        type=click.Choice(["cold", "hot"]),
        heading=MEASURING,
        help="cold: rotate operand sets so nothing stays in L2; hot: reuse two sets with one B.",
    )
    data: Fill | None = option(
        "--data",
        type=click.Choice(["uniform", "normal", "zeros", "ones", "ints"]),
        metavar="FILL",
        heading=MEASURING,
        help="Contents of A and B: uniform, normal, zeros, ones or ints.",
    )
    seed: int | None = seed_option()
    rounds: int | None = option(
        "--rounds",
        type=INTEGER,
        heading=STOPPING,
        help="Number of rounds (with --until: the maximum). Intervals need at least 4.",
    )
    until: str | None = option(
        "--until",
        metavar="SHARE",
        heading=STOPPING,
        help="Measure until the 95 % interval is within +- SHARE.  [default: 0.5%]",
    )
    max_time: float | None = option(
        "--max-time",
        type=float,
        metavar="SECONDS",
        heading=STOPPING,
        help="Maximum seconds of timing per kernel and problem.",
    )
    sustained: float | None = option(
        "--sustained",
        is_flag=False,
        flag_value="4",
        type=Seconds(),
        metavar="[SECONDS]",
        heading=MEASURING,
        help="Also measure each row alone under a steady load, 4 s or SECONDS (0: never).  [default: on tensor cores]",
    )
    peaks: bool | None = option(
        "--peaks",
        is_flag=True,
        default=None,
        heading=MEASURING,
        help="Also measure the limits of a GPU, for the roofline (2 s).",
    )
    baseline: str | None = option(
        "--baseline",
        type=VariantName(),
        heading=MEASURING,
        help="The variant that counts as 100 %.  [default: the config's, else cublas or openblas]",
    )
    gate: bool = option(
        "--gate/--no-gate",
        default=True,
        heading=MEASURING,
        help="Queue launches behind a gate (short kernels need it).",
    )
    pdl: bool = option(
        "--pdl",
        is_flag=True,
        heading=MEASURING,
        help="Let a product begin before the last one ends, where a manifest says `pdl`. Such rows are not ranked.",
    )


@dataclass(frozen=True, kw_only=True)
class LimitOptions:
    """Time limits."""

    compile_limit: float | None = option(
        "--compile-limit",
        type=float,
        metavar="SECONDS",
        heading=STOPPING,
        help="Time limit for compiling one kernel.  [default: 120]",
    )
    launch_limit: float | None = option(
        "--launch-limit",
        type=float,
        metavar="SECONDS",
        heading=STOPPING,
        help="Time limit for one launch.  [default: 60; on the CPU 5, and more for large problems]",
    )
    sweep_limit: float | None = option(
        "--sweep-limit",
        type=float,
        metavar="SECONDS",
        heading=STOPPING,
        help="Time limit for the whole run.",
    )

    yes: bool = option(
        "--yes", is_flag=True, heading=STOPPING, help="Start a run that takes more than an hour on the CPU."
    )

    @property
    def limits(self) -> TimeLimits:
        """The time limits. Raises UsageError."""
        return TimeLimits.make(self.yes, compile=self.compile_limit, launch=self.launch_limit, sweep=self.sweep_limit)


@dataclass(frozen=True, kw_only=True)
class TransferOptions:
    """Whether to measure the whole job, copies included."""

    with_transfers: bool = option(
        "--with-transfers",
        is_flag=True,
        heading=TRANSFERS,
        help="Also measure the whole job: copies in, kernel, copy out.",
    )
    panels: int = option(
        "--panels",
        type=click.IntRange(1, 64),
        metavar="INTEGER",
        default=8,
        show_default=True,
        heading=TRANSFERS,
        help="Panels of C for transfers.",
    )
    streams: int = option(
        "--streams",
        type=click.IntRange(1, 16),
        metavar="INTEGER",
        default=3,
        show_default=True,
        heading=TRANSFERS,
        help="Streams for transfers.",
    )

    @property
    def cut(self) -> PanelCut | None:
        """How to cut jobs; None without --with-transfers."""
        return PanelCut(self.panels, self.streams) if self.with_transfers else None


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """How to print the rows, and where to export them."""

    export_csv: str | None = option(
        "--export-csv", type=click.Path(), metavar="FILE", heading=OUTPUT, help="Write the rows to this CSV file."
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
        help="All columns, also registers, occupancy, bound, clock and power; narrow screens get one block per row.",
    )
    details: bool = option(
        "--details",
        is_flag=True,
        heading=OUTPUT,
        help="A table for each size with all configurations, also of more than two sizes.",
    )
    notes: bool = option("--notes", is_flag=True, heading=OUTPUT, help="Also how everything was measured.")
    style: str | None = style_option()

    @property
    def view(self) -> View:
        """What the tables show."""
        return View(self.wide, self.details or is_complete(self.style), self.notes)

    @property
    def exports(self) -> bool:
        """Something is exported."""
        return any((self.export_csv, self.export_json, self.export_markdown))
