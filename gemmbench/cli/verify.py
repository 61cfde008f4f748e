"""`gemmbench verify`: correctness alone, over the awkward problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gemmbench.cli import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gemmbench.backends.machine import Machine
    from gemmbench.bench.record import Record
    from gemmbench.planning.manifests.variant import Variant
    from gemmbench.planning.plans.plan import Plan, Skip
    from gemmbench.planning.sweeps.limits import Limits


@click.command()
@click.argument("variants", nargs=-1, type=options.VariantName())
@options.option("--all", "every", is_flag=True, help="Every configuration, not one change per parameter.")
@options.option(
    "--sanitize",
    is_flag=False,
    flag_value="memcheck,racecheck",
    metavar="[TOOLS]",
    help="Run under compute-sanitizer: memcheck, racecheck, initcheck, synccheck.",
)
@options.option(
    "--sanitize-limit",
    type=click.FloatRange(1),
    metavar="SECONDS",
    default=240,
    show_default=True,
    help="For one run of it.",
)
@options.sizes
@options.precisions
@options.layouts
@options.params
@options.device
@options.kernels
@options.seed
@options.limit_options
@options.style
def verify(variants: tuple[str, ...], every: bool, sanitize: str | None, style: str | None, **settings: Any) -> int:
    """Verify VARIANTs on shapes where kernels often break.

    Nothing is timed. Without VARIANTs, verifies all that run here. Sizes are 1, primes, one off a tile and M != N != K, in
    every layout and precision that a variant declares, with alpha and beta other than 1 and 0.

    With --sanitize, each variant runs under compute-sanitizer in its own process, with operands in
    allocations of exactly their size: two shapes, in the first precision that it declares. Write
    VARIANTs before --sanitize.
    """
    from gemmbench.cli import output, planning
    from gemmbench.planning.plans.expansion import check_params
    from gemmbench.planning.sweeps.parsing import chosen_params
    from gemmbench.planning.sweeps.policy import checked_seed
    from gemmbench.report.verification import failures, table

    if sanitize is not None:
        from gemmbench.cli.sanitize import sanitized

        return sanitized(variants, sanitize.split(","), every, style, settings)
    machine = planning.find_machine(settings["device"])
    catalog = planning.open_catalog(settings["kernels"])
    chosen = [
        variant for variant in catalog.ladder(variants or catalog.names) if variants or variant.computes == "gemm"
    ]
    check_params([(variant, chosen_params(settings["params"])) for variant in chosen])
    expanded = plans_of(chosen, every, settings, machine)
    records, interrupted = _check(expanded, machine, checked_seed(settings["seed"] or 0), options.limits(settings))
    click.echo(table(records, output.plain(style)))
    for line in failures(records):
        click.echo(line)
    return output.code_of(records, interrupted)


def plans_of(chosen: Sequence[Variant], every: bool, settings: dict[str, Any], machine: Machine) -> list[Plan | Skip]:
    """What is verified of these variants. Raises UsageError."""
    from gemmbench.backends import registry
    from gemmbench.planning.manifests.variant import ALL
    from gemmbench.planning.plans.expansion import check_memory, configurations, expand
    from gemmbench.planning.problems import awkward
    from gemmbench.planning.problems.sizes import parse_sizes
    from gemmbench.planning.sweeps.parsing import chosen_layouts, chosen_params, chosen_precisions

    params = {ALL: ()} if every else chosen_params(settings["params"])
    found: list[Plan | Skip] = []
    for variant in chosen:
        layouts = chosen_layouts(settings["layouts"]) or variant.layouts
        precisions = chosen_precisions(settings["precisions"]) or variant.precisions
        shapes = parse_sizes(settings["sizes"]) if settings["sizes"] else awkward.SHAPES
        configs = configurations(variant, params) if params else awkward.one_change_each(variant)
        asked = [(awkward.problems(shapes, layouts, precisions), configs)]
        if not settings["sizes"]:
            # Many blocks at once, where a race shows; the CPU device runs one after the other, and slowly.
            crowded = configs[:1] if machine.on_cpu else configs
            asked.append((awkward.problems([awkward.LARGE], layouts[:1], precisions), crowded))
        for problems, wanted in asked:
            check_memory(problems, machine.targets)
            found += expand(
                problems, [(variant, wanted)], machine.choice.primary, machine.targets, registry.why_refused
            )
    return found


def _check(expanded: list[Plan | Skip], machine: Machine, seed: int, limits: Limits) -> tuple[list[Record], bool]:
    from gemmbench.backends import registry
    from gemmbench.bench.runner import Runner
    from gemmbench.cli.interruption import Interruption
    from gemmbench.cli.laboratory import open_laboratory
    from gemmbench.cli.progress import progress_bar
    from gemmbench.planning.plans.plan import Plan
    from gemmbench.planning.sweeps.policy import Measuring

    names = sorted({item.device for item in expanded if isinstance(item, Plan)})
    compilers, stop = registry.make_compilers(machine, names, limits.compile), Interruption(limits.sweep)
    with (
        progress_bar() as progress,
        stop.watched(),
        open_laboratory(machine, names, False, limits, progress, stop.asked, measured=False) as laboratory,
    ):
        runner = Runner(compilers, laboratory, Measuring(seed=seed), "", lambda _: None, progress, stop.asked)
        return runner.run(expanded), stop.asked()
