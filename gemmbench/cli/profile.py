"""`gemmbench profile`: what Nsight Compute counts of one launch, and what bounds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gemmbench.cli import options

if TYPE_CHECKING:
    from gemmbench.backends.machine import Machine
    from gemmbench.planning.plans.plan import Plan

_shared = options.stacked(
    options.option("--sizes", default="4096", show_default=True, help="One size: 4096 or 1024x768x1024 (M x N x K)."),
    options.precisions,
    options.layouts,
    options.params,
    options.device,
    options.kernels,
    options.seed,
)


@click.command()
@click.argument("variant", type=options.VariantName())
@_shared
@options.style
def profile(variant: str, style: str | None, **settings: Any) -> int:
    """Profile one launch of VARIANT with Nsight Compute.

    Names what bounds the kernel, and shows how busy the FMA and tensor pipes, issue slots, DRAM, L2, L1 and shared memory are, bank
    conflicts, occupancy and stalls. Clocks stay as they are; ncu empties the caches before each of
    its passes.
    """
    from gemmbench.analysis import ncu
    from gemmbench.analysis.watched_program import find
    from gemmbench.backends import registry
    from gemmbench.cli.output import plain
    from gemmbench.cli.planning import find_gpu
    from gemmbench.errors import OK
    from gemmbench.report.profile import table, title, verdict

    machine = find_gpu(settings["device"], "profile")
    plan = _plan(variant, settings, machine)
    find(ncu.PROGRAM)
    registry.make_compilers(machine, [plan.device])[plan.device].compile(plan)  # what does not compile is told here
    click.echo(f"{variant} {plan.config}".strip() + f", {plan.problem}\n")
    for counters in ncu.profile(_command(plan, settings, machine)):
        for text in (title(counters), "", table(counters, plain(style)), "", verdict(counters), ""):
            click.echo(text)
    click.echo("Percent of peak over the whole duration, but for occupancy. Caches empty at first, uniform data.")
    return OK


@click.command("one-launch", hidden=True)
@click.argument("variant", type=options.VariantName())
@_shared
def one_launch(variant: str, **settings: Any) -> int:
    """Launch VARIANT once, in the range that a profiler records.

    A launch before it warms up.
    """
    from gemmbench.backends import registry
    from gemmbench.bench.experiments.one_launch import launch_once
    from gemmbench.cli.planning import find_gpu
    from gemmbench.errors import OK
    from gemmbench.planning.sweeps.policy import checked_seed

    machine = find_gpu(settings["device"], "one-launch")
    plan = _plan(variant, settings, machine)
    artifact = registry.make_compilers(machine, [plan.device])[plan.device].compile(plan)
    device = registry.open_backends(machine, [plan.device], gate=False)[plan.device]
    try:
        launch_once(device, plan, artifact, checked_seed(settings["seed"] or 0))
    finally:
        device.close()
    return OK


def _plan(name: str, settings: dict[str, Any], machine: Machine) -> Plan:
    """The one plan that is asked for. Raises UsageError if it is none, or several."""
    from gemmbench.backends import registry
    from gemmbench.cli.planning import open_catalog
    from gemmbench.errors import UsageError
    from gemmbench.planning.plans.expansion import check_memory, check_params, configurations, expand
    from gemmbench.planning.plans.plan import Skip
    from gemmbench.planning.sweeps.options import Options
    from gemmbench.planning.sweeps.sweep_config import read_sweep

    variant = open_catalog(settings["kernels"]).get(name)
    asked = {key: settings[key] for key in ("sizes", "precisions", "layouts", "params")}
    asked["precisions"] = asked["precisions"] or variant.precisions[0]
    sweep = read_sweep("quick", Options(variants=(name,), **asked), False)
    params = sweep.choices[0].params
    check_params([(variant, params)])
    check_memory(sweep.problems, machine.targets)
    chosen = [(variant, configurations(variant, params))]
    expanded = expand(sweep.problems, chosen, machine.choice.primary, machine.targets, registry.why_refused)
    if len(expanded) != 1:
        raise UsageError(f"a profile is of one launch, here are {len(expanded)}; take one size and one value for each")
    (plan,) = expanded
    if isinstance(plan, Skip):
        raise UsageError(f"{name} cannot run here: {plan.reason}")
    if plan.device != machine.choice.primary:
        raise UsageError(f"{name} runs on the host: there is no kernel to profile")
    return plan


def _command(plan: Plan, settings: dict[str, Any], machine: Machine) -> list[str]:
    """This program's command that launches the plan."""
    problem = plan.problem
    given = [
        ("--sizes", f"{problem.M}x{problem.N}x{problem.K}"),
        ("--precision", problem.precision_name),
        ("--layout", problem.layout),
        *(("--param", f"{name}={value}") for name, value in plan.config.values if not plan.config.picked),
        ("--kernels", settings["kernels"]),
        ("--seed", settings["seed"]),
        ("--device", machine.choice.option),
    ]
    return ["one-launch", plan.variant.name, *options.words(given)]
