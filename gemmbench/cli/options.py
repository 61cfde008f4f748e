"""Options that several commands share; each is also an environment variable GEMMBENCH_..."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from gemmbench.planning.sweeps.options import Options

if TYPE_CHECKING:
    from gemmbench.planning.sweeps.limits import Limits

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

# tabulate's formats, spelt out so that --help need not import it; a test compares them
FORMATS = (
    "asciidoc colon_grid double_grid double_outline fancy_grid fancy_outline github grid heavy_grid heavy_outline "
    "html jira latex latex_booktabs latex_longtable latex_raw mediawiki mixed_grid mixed_outline moinmoin orgtbl "
    "outline pipe plain presto pretty psql rounded_grid rounded_outline rst simple simple_grid simple_outline "
    "textile tsv unsafehtml youtrack"
).split()


def option(*names: str, **settings: Any) -> Decorator:
    """A click option with its environment variable, named after the long form."""
    long = next(name for name in names if name.startswith("--")).partition("/")[0]
    variable = "GEMMBENCH_" + long.removeprefix("--").replace("-", "_").upper()
    return click.option(*names, envvar=variable, show_envvar=True, **settings)


class VariantName(click.ParamType):
    """A variant's name, completed in the shell from the kernel files."""

    name = "variant"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Names that begin with what is typed."""
        from gemmbench.cli.planning import open_catalog

        names = open_catalog(ctx.params.get("kernels")).names
        return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def stacked(*decorators: Decorator) -> Decorator:
    """One decorator from several, listed in the order --help shows."""

    def apply(command: Callable[..., Any]) -> Callable[..., Any]:
        for decorate in reversed(decorators):
            command = decorate(command)
        return command

    return apply


def words(pairs: Iterable[tuple[str, object]]) -> tuple[str, ...]:
    """Options as the words of a command line, less those that have no value."""
    return tuple(word for name, value in pairs if value is not None for word in (name, str(value)))


kernels = option("--kernels", type=click.Path(), help="A folder with more .cu files.")
device = option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
sizes = option("--sizes", help="1024,4096 or 1024x768x1024 (M x N x K) or 512:4096:512.")
precisions = option("--precision", "precisions", help="f32, tf32, f64, f16 or bf16; several with commas.")
layouts = option("--layout", "layouts", help="nn, nt, tn or tt; several with commas.")
params = option("--param", "params", multiple=True, help="BM=64,128 (repeat for more), or all.")
seed = option("--seed", type=int, help="Seed of the data.")

style = option(
    "--format",
    "style",
    type=click.Choice(["rich", *FORMATS]),
    metavar="NAME",
    help="rich, or any tabulate format: github, simple, tsv, latex, html ...  [default: rich on a terminal]",
)

problem_options = stacked(
    sizes,
    precisions,
    layouts,
    params,
    option("--alpha", type=float, help="C = alpha A B + beta C."),
    option("--beta", type=float, help="0 means that C is not read."),
    device,
    kernels,
)
measure_options = stacked(
    option("--cache", type=click.Choice(["cold", "hot"]), help="Operands in turn, or the same again."),
    option("--data", type=click.Choice(["uniform", "normal", "zeros", "ones", "ints"]), help="What A and B hold."),
    seed,
    option("--rounds", type=int, help="Exactly so many rounds, or with --until at most; 10 for an interval."),
    option("--until", metavar="SHARE", help="Go on until the 95 % interval is as narrow as +- this.  [default: 0.5%]"),
    option("--max-time", type=float, help="Seconds of timing for one kernel and problem, at most."),
    option(
        "--energy", type=float, metavar="SECONDS", help="Load each kernel that long to measure its energy; 2 will do."
    ),
    option("--baseline", help="What is 100 %; cublas on a GPU, openblas on a CPU."),
    option("--gate/--no-gate", default=True, help="Queue launches behind a gate (needed for short kernels)."),
)
limit_options = stacked(
    option("--compile-limit", type=float, metavar="SECONDS", help="For compiling one kernel.  [default: 120]"),
    option("--launch-limit", type=float, metavar="SECONDS", help="For one launch of a kernel.  [default: 60]"),
    option(
        "--sweep-limit", type=float, metavar="SECONDS", help="For the whole run, which then ends as if interrupted."
    ),
)
transfer_options = stacked(
    option("--with-transfers", is_flag=True, help="Measure the whole job too: copies in, kernel, copy out."),
    option("--panels", type=click.IntRange(1, 64), default=8, show_default=True, help="Panels of C, for transfers."),
    option("--streams", type=click.IntRange(1, 16), default=3, show_default=True, help="Streams, for transfers."),
)
output_options = stacked(
    option("--export-csv", type=click.Path(), help="Write the rows to this CSV file."),
    option("--export-json", type=click.Path(), help="Write the rows to this JSON file."),
    option("--export-markdown", type=click.Path(), help="Write the tables to this Markdown file."),
    option("--wide", is_flag=True, help="More columns: registers, occupancy, waves, bound, clock, power, energy."),
    style,
)
journal_options = stacked(
    option("--out", type=click.Path(), default="results", show_default=True, help="Folder for the results."),
    option("--resume", is_flag=False, flag_value="newest", metavar="[FILE]", help="Go on with an interrupted run."),
)
run_options = stacked(
    problem_options,
    measure_options,
    limit_options,
    transfer_options,
    journal_options,
    option("--dry-run", is_flag=True, help="Show plans, skips and an estimate of time; run nothing."),
    output_options,
)

RUN_KEYS = (
    "sizes precisions layouts params alpha beta cache data seed rounds until max_time energy baseline gate"
).split()


def limits(settings: Mapping[str, Any]) -> Limits:
    """The time limits that were asked for. Raises UsageError."""
    from gemmbench.planning.sweeps.limits import Limits

    return Limits.of(**{name: settings[f"{name}_limit"] for name in ("compile", "launch", "sweep")})


def sweep_options(settings: dict[str, Any], variants: tuple[str, ...]) -> Options:
    """The part of a command's settings that changes a sweep."""
    return Options(variants=variants, **{key: settings[key] for key in RUN_KEYS})
