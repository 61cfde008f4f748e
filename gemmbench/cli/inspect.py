"""`gemmbench inspect`: what the compiler made of a kernel; needs nvcc, no GPU."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gemmbench.cli import options

if TYPE_CHECKING:
    from gemmbench.backends.base import InspectingCompiler
    from gemmbench.planning.plans.plan import Plan, Skip
    from gemmbench.report.sass import Peak

STDOUT = "-"


@click.command()
@click.argument("variant", type=options.VariantName())
@options.option("--arch", help="Architecture, such as 90, 90a or sm_90a.  [default: this GPU's, else 90]")
@options.option(
    "--sms", type=click.IntRange(1), help="Multiprocessors, for the waves.  [default: those of a usual GPU]"
)
@options.option(
    "--clock",
    type=click.FloatRange(0, min_open=True),
    help="Clock in GHz, for the bound of --sass-mix.  [default: as --sms]",
)
@options.sizes
@options.precisions
@options.layouts
@options.params
@options.option("--ptx", metavar="FILE", help="Write the PTX to FILE, or to stdout with -.")
@options.option("--sass", metavar="FILE", help="Write the machine code to FILE, or to stdout with -.")
@options.option("--sass-mix", "mix", is_flag=True, help="Show what fills the hottest loop, and the bound on its speed.")
@options.kernels
@options.style
def inspect(variant: str, ptx: str | None, sass: str | None, mix: bool, style: str | None, **settings: Any) -> int:
    """Show what the compiler made of VARIANT.

    Registers, spills, shared memory, occupancy, blocks and waves. Needs nvcc but no GPU. With --sass-mix, exits with 1 if a loop breaks a limit that the manifest
    sets under `sass`.
    """
    from tabulate import tabulate

    from gemmbench.backends import registry
    from gemmbench.cli.output import plain
    from gemmbench.cli.sass_mix import sass_mix
    from gemmbench.errors import OK, UsageError
    from gemmbench.planning.plans.plan import Skip
    from gemmbench.report.inspection import USUAL_SMS, Inspection

    arch = _architecture(settings["arch"]) if settings["arch"] else _this_gpu()
    sm = int(arch.rstrip("af"))
    sms = settings["sms"] or USUAL_SMS.get(sm, 1)
    if mix and STDOUT in (ptx, sass):
        raise UsageError("--sass-mix writes to stdout, and so do --ptx - and --sass -; name a file for the code")
    compiler, plans = registry.inspecting_compiler(), []
    for item in _expand(variant, settings, sm, sms):
        if isinstance(item, Skip):
            click.echo(f"skipped {item.config}: {item.reason}", err=True)
        else:
            plans.append(item)
    if not plans:
        raise UsageError(f"no configuration of {variant} is left to inspect")
    launches = [one for plan in plans for one in plan.each_launch()]
    rows = [Inspection.of(one, compiler.compile(one).build, sm, sms).cells() for one in launches]
    if STDOUT not in (ptx, sass):
        click.echo(tabulate(rows, headers="keys", tablefmt=plain(style), disable_numparse=True))
        click.echo(f"\nsm_{arch}, {sms} SMs, nvcc at {compiler.path}")
    _write_code(compiler, plans, ptx, sass)
    return sass_mix(compiler, plans, sm, _peak(sm, sms, settings["clock"]), plain(style)) if mix else OK


def _peak(sm: int, sms: int, clock: float | None) -> Peak | None:
    """The f32 rate of such a GPU; None if its architecture is not known."""
    from gemmbench.planning.problems.precision import precision
    from gemmbench.report.inspection import USUAL_CLOCK
    from gemmbench.report.sass import Peak

    rate, ghz = precision("f32").peak.of_device("", sm), clock or USUAL_CLOCK.get(sm)
    return Peak(rate * sms * ghz * 1e9, int(rate / 2)) if rate and ghz else None


def _architecture(written: str) -> str:
    """`90a` of 90a, sm_90a or compute_90a. Raises UsageError."""
    from gemmbench.errors import UsageError

    found = re.fullmatch(r"(?:sm_|compute_)?(\d{2,3}[af]?)", written)
    if found is None:
        known = "write a compute capability without the dot, such as 90 or 90a"
        raise UsageError(f"--arch '{written}' is not one; {known}")
    return found[1]


def _this_gpu() -> str:
    from gemmbench.backends import registry

    seen = registry.glance_inspected()
    return str(seen.sm) if seen and seen.sm else "90"


def _expand(variant: str, settings: dict[str, Any], sm: int, sms: int) -> list[Plan | Skip]:
    from gemmbench.backends import registry
    from gemmbench.cli.planning import open_catalog
    from gemmbench.errors import UsageError
    from gemmbench.planning.networks.network_config import MlpOptions, read_mlp
    from gemmbench.planning.plans.expansion import check_params, configurations, expand, plan_network
    from gemmbench.planning.sweeps.options import Options
    from gemmbench.planning.sweeps.parsing import chosen_params
    from gemmbench.planning.sweeps.sweep_config import read_sweep

    found = open_catalog(settings["kernels"]).get(variant)
    if not found.is_kernel:
        raise UsageError(f"{variant} is no .cu file, so there is nothing for nvcc to compile; take one that is")
    target = registry.inspected_backend().architecture(sm, sms)
    if found.computes == "mlp":
        chosen = chosen_params(settings["params"])
        check_params([(found, chosen)])
        network = read_mlp("mlp", MlpOptions(), False).network
        configs = configurations(found, chosen)
        return [plan_network(network, found, config, target.kind, target, registry.why_refused) for config in configs]
    given = {key: settings[key] for key in ("precisions", "layouts", "params")}
    sweep = read_sweep("quick", Options(variants=(variant,), sizes=settings["sizes"] or "4096", **given), False)
    params = sweep.choices[0].params
    check_params([(found, params)])
    return expand(
        sweep.problems,
        [(found, configurations(found, params))],
        target.kind,
        {target.kind: target},
        registry.why_refused,
    )


def _write_code(compiler: InspectingCompiler, plans: list[Plan], ptx: str | None, sass: str | None) -> None:
    from gemmbench.errors import UsageError
    from gemmbench.report.store import write_text

    if (ptx or sass) and len(plans) > 1:
        raise UsageError(
            f"--ptx and --sass take one configuration, here are {len(plans)}; choose with --param and --sizes"
        )
    for path, code in ((ptx, compiler.ptx), (sass, compiler.sass)):
        if path == STDOUT:
            click.echo(code(plans[0]))
        elif path:
            write_text(Path(path), code(plans[0]))
