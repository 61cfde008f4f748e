"""`gemmbench list`: the variants in ladder order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from gemmbench.cli import options

if TYPE_CHECKING:
    from gemmbench.planning.manifests.variant import Variant
    from gemmbench.planning.plans.plan import Target


_MLP = {"gemm": "", "mlp": ", in gemmbench mlp"}


@click.command("list")
@options.device
@options.kernels
@options.option("--json", "as_json", is_flag=True, help="As JSON.")
def list_variants(device: str, kernels: str | None, as_json: bool) -> int:
    """List the variants and whether each can run here."""
    from gemmbench.backends import registry
    from gemmbench.cli.planning import open_catalog
    from gemmbench.errors import OK, USAGE, SpecError

    choice = registry.choose_device(device)
    targets = registry.glance(choice)
    catalog = open_catalog(kernels)
    variants, faults = [], []
    for name in catalog.names:
        try:
            variants.append(catalog.get(name))
        except SpecError as fault:
            faults.append(str(fault))
    variants.sort(key=lambda variant: (variant.order, variant.name))
    rows = [_row(variant, choice.primary, targets) for variant in variants]
    click.echo(json.dumps(rows, indent=1) if as_json else _table(rows))
    for message in faults:
        click.echo(f"gemmbench: {message}", err=True)
    return USAGE if faults else OK


def _row(variant: Variant, primary: str, targets: dict[str, Target]) -> dict[str, Any]:
    from gemmbench.backends import registry
    from gemmbench.planning.plans.expansion import count_configurations, place, unready

    device = place(variant, primary, targets)
    reason = unready(variant, device, targets.get(device), registry.why_refused)
    return {
        "name": variant.name,
        "summary": variant.summary,
        "precisions": list(variant.precisions),
        "layouts": list(variant.layouts),
        "min_sm": variant.min_sm,
        "configurations": count_configurations(variant),
        "computes": variant.computes,
        "device": device,
        "ready": not reason,
        "reason": reason,
    }


def _table(rows: list[dict[str, Any]]) -> str:
    from tabulate import tabulate

    head = ["name", "summary", "precisions", "layouts", "min. cc", "configs", "here"]
    cells = [
        [
            row["name"],
            row["summary"],
            " ".join(row["precisions"]),
            " ".join(row["layouts"]),
            f"{row['min_sm'] / 10}" if row["min_sm"] else "-",
            row["configurations"],
            f"ready, {row['device']}{_MLP[row['computes']]}" if row["ready"] else f"skipped: {row['reason']}",
        ]
        for row in rows
    ]
    return tabulate(cells, head, tablefmt="simple", disable_numparse=True)
