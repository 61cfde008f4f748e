"""`gemmbench run`: the main job."""

from __future__ import annotations

from typing import Any

import click

from gemmbench.cli import options


@click.command()
@click.argument("variants", nargs=-1, type=options.VariantName())
@options.option("-c", "--config", default="quick", show_default=True, help="A config's name, or a YAML file.")
@options.run_options
def run(variants: tuple[str, ...], config: str, **settings: Any) -> int:
    """Verify and time VARIANTs and compare them with the baseline.

    Without VARIANTs, the config names them. Every row is verified before it is timed, and written to
    the results file as soon as it is measured.
    """
    from gemmbench.cli import measuring, planning
    from gemmbench.planning.sweeps.sweep_config import read_sweep

    machine = planning.find_machine(settings["device"])
    sweep = read_sweep(config, options.sweep_options(settings, variants), machine.on_cpu)
    return measuring.conduct(sweep, machine, settings)[0]
