"""`gemmbench compare`: the same experiment on named variants, ending in verdicts."""

from __future__ import annotations

from typing import Any

import click

from gemmbench.cli import options


@click.command()
@click.argument("variants", nargs=-1, required=True, type=options.VariantName())
@options.option("-c", "--config", default="quick", show_default=True, help="Where sizes and policy come from.")
@options.run_options
def compare(variants: tuple[str, ...], config: str, **settings: Any) -> int:
    """Measure VARIANTs side by side and say, for each pair and size, which is faster.

    The verdict is `faster` or `slower` if the whole 95 % interval of the paired ratio lies
    outside 1 +- 1 %, `same` if inside, else `inconclusive`.
    """
    from gemmbench.cli import session
    from gemmbench.errors import UsageError
    from gemmbench.report.comparison import sentences
    from gemmbench.spec.sweep import named_sweep

    names = tuple(dict.fromkeys(variants))
    if len(names) < 2:
        raise UsageError("compare needs two different variants: gemmbench compare tiled cublas")
    machine = session.find_machine(settings["device"])
    on_cpu = machine.choice.primary == "cpu"
    sweep = named_sweep(names, config, options.sweep_options(settings, names), on_cpu)
    code, results = session.conduct(sweep, machine, settings)
    if results is not None:
        click.echo()
        for sentence in sentences(results, names):
            click.echo(sentence)
    return code
