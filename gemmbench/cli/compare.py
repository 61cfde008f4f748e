"""`gemmbench compare`: the same experiment on named variants, ending in verdicts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import click

from gemmbench.cli.completed_names import VariantName
from gemmbench.cli.option_fields import argument, command, option
from gemmbench.cli.options import config_option
from gemmbench.cli.run import SweepOptions, conduct_sweep
from gemmbench.errors import BAD_ROW, INCONCLUSIVE, OK, UsageError
from gemmbench.report.verdicts import Verdict, judge_variants

_EXIT_CODES = {"slower": BAD_ROW, "inconclusive": INCONCLUSIVE}


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """The options of `gemmbench compare`."""

    variants: tuple[str, ...] = argument(nargs=-1, required=True, type=VariantName())
    config: str = config_option("quick", "Config that sizes and policy come from.")
    fail_on: tuple[str, ...] = option(
        "--fail-on",
        type=click.Choice(list(_EXIT_CODES)),
        multiple=True,
        help="Exit with 1 if a variant is slower than one named before it, with 4 if a verdict is inconclusive.",
    )
    sweep: SweepOptions


@command(CompareOptions)
def compare(options: CompareOptions) -> int:
    """Measure VARIANTs together and report which is faster.

    Each pair gets a verdict at each size: `faster` or `slower` if the whole 95 % interval of the
    paired ratio lies outside 1 +- 1 %, `same` if it lies inside, otherwise `inconclusive`.

    REVISION:NAME is a kernel as of a git revision: gemmbench compare HEAD~3:tiled tiled.
    """
    names = tuple(dict.fromkeys(options.variants))
    if len(names) < 2:
        raise UsageError("compare needs two different variants: gemmbench compare tiled cublas")
    code, comparison = conduct_sweep(names, options.config, options.sweep, compare=True)
    if comparison is None:
        return code
    verdicts = judge_variants(comparison, names)
    click.echo("\n" + "\n".join(verdict.sentence for verdict in verdicts))
    return code or _choose_exit_code(verdicts, options.fail_on)


def _choose_exit_code(verdicts: Sequence[Verdict], fail_on: Collection[str]) -> int:
    """The exit code that --fail-on assigns to the verdicts."""
    for word, code in _EXIT_CODES.items():
        if word in fail_on and any(verdict.word == word for verdict in verdicts):
            return code
    return OK
