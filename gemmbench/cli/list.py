"""`gemmbench list`: the variants in ladder order."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import click
from tabulate import tabulate

from gemmbench.backends import registry
from gemmbench.cli.option_fields import command, option
from gemmbench.cli.options import DeviceOptions
from gemmbench.errors import OK, USAGE, SpecError
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.expansion import count_configurations, place, unready
from gemmbench.planning.plans.plan import Target
from gemmbench.session.machine import open_catalog

_HEAD = ["name", "summary", "precisions", "layouts", "min. cc", "configs", "here"]
_COMMANDS = {"gemm": "", "mlp": ", in gemmbench mlp"}


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """What `gemmbench list` takes."""

    where: DeviceOptions
    as_json: bool = option("--json", is_flag=True, help="Write JSON.")


@command(ListOptions, "list")
def list_variants(options: ListOptions) -> int:
    """List the variants and whether each can run here."""
    choice = registry.choose_device(options.where.device)
    targets = registry.glance(choice)
    catalog = open_catalog(options.where.kernels)
    variants, faults = [], []
    for name in catalog.names:
        try:
            variants.append(catalog.get(name))
        except SpecError as fault:
            faults.append(str(fault))
    variants.sort(key=lambda variant: (variant.order, variant.name))
    rows = [_describe(variant, choice.primary, targets) for variant in variants]
    click.echo(json.dumps(rows, indent=1) if options.as_json else _format_table(rows))
    for message in faults:
        click.echo(f"gemmbench: {message}", err=True)
    return USAGE if faults else OK


def _describe(variant: Variant, primary: str, targets: dict[str, Target]) -> dict[str, Any]:
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


def _format_table(rows: list[dict[str, Any]]) -> str:
    cells = [
        [
            row["name"],
            row["summary"],
            " ".join(row["precisions"]),
            " ".join(row["layouts"]),
            f"{row['min_sm'] / 10}" if row["min_sm"] else "-",
            row["configurations"],
            f"ready, {row['device']}{_COMMANDS[row['computes']]}" if row["ready"] else f"skipped: {row['reason']}",
        ]
        for row in rows
    ]
    return str(tabulate(cells, _HEAD, tablefmt="simple", disable_numparse=True))
