"""`gemmbench run`: the main job."""

from __future__ import annotations

from dataclasses import dataclass

from gemmbench.cli.option_fields import argument, command
from gemmbench.cli.options import VariantName, config_option
from gemmbench.cli.run_options import RunOptions, conduct_sweep


@dataclass(frozen=True, kw_only=True)
class RunCommand:
    """What `gemmbench run` takes."""

    variants: tuple[str, ...] = argument(nargs=-1, type=VariantName())
    config: str = config_option("quick")
    run: RunOptions


@command(RunCommand)
def run(options: RunCommand) -> int:
    """Verify and time VARIANTs and compare them with the baseline.

    Without VARIANTs, the config names them. Every row is verified before it is timed, and written to
    the results file as soon as it is measured.
    """
    code, _ = conduct_sweep(options.variants, options.config, options.run)
    return code
