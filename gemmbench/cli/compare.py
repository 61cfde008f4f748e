"""`gemmbench compare`: the same experiment on named variants, ending in verdicts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import click

from gemmbench.cli import options

if TYPE_CHECKING:
    from gemmbench.report.verdicts import Verdict


@click.command()
@click.argument("variants", nargs=-1, required=True, type=options.VariantName())
@options.option("-c", "--config", default="quick", show_default=True, help="Where sizes and policy come from.")
@options.option(
    "--fail-on",
    type=click.Choice(["slower", "inconclusive"]),
    multiple=True,
    help="Exit with 1 if one is slower than one named before it, with 4 if a verdict is inconclusive.",
)
@options.run_options
def compare(variants: tuple[str, ...], config: str, fail_on: tuple[str, ...], **settings: Any) -> int:
    """Measure VARIANTs together and report which is faster.

    Each pair gets a verdict at each size: `faster` or `slower` if the whole 95 % interval of the
    paired ratio lies outside 1 +- 1 %, `same` if it lies inside, otherwise `inconclusive`.

    REVISION:NAME is a kernel as of a git revision: gemmbench compare HEAD~3:tiled tiled.
    """
    from gemmbench.cli import measuring, planning
    from gemmbench.errors import UsageError
    from gemmbench.planning.sweeps.sweep_config import named_sweep
    from gemmbench.report.verdicts import verdicts

    names = tuple(dict.fromkeys(variants))
    if len(names) < 2:
        raise UsageError("compare needs two different variants: gemmbench compare tiled cublas")
    machine = planning.find_machine(settings["device"])
    sweep = named_sweep(names, config, options.sweep_options(settings, names), machine.on_cpu)
    code, results = measuring.conduct(sweep, machine, settings)
    if results is None:
        return code
    found = verdicts(results, names)
    click.echo("\n" + "\n".join(verdict.sentence for verdict in found))
    return code or _code(found, fail_on)


def _code(found: Sequence[Verdict], fail_on: Collection[str]) -> int:
    """The exit code that the verdicts ask for."""
    from gemmbench.errors import BAD_ROW, INCONCLUSIVE, OK

    for word, code in (("slower", BAD_ROW), ("inconclusive", INCONCLUSIVE)):
        if word in fail_on and any(verdict.word == word for verdict in found):
            return code
    return OK
