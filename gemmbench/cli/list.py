"""`gemmbench list`: the variants in ladder order."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import click

from gemmbench.backends import registry
from gemmbench.cli.option_fields import OUTPUT, command, option
from gemmbench.cli.options import DeviceOptions
from gemmbench.errors import OK, USAGE, SpecError
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.configurations import count_configurations
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.plans.suitability import choose_backend, explain_unready
from gemmbench.session.machine import open_catalog

_HEAD = ["name", "summary", "precisions", "layouts", "min. cc", "configs", "here"]
_COMMANDS = {"gemm": "", "mlp": ", in gemmbench mlp"}


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """The options of `gemmbench list`."""

    where: DeviceOptions
    as_json: bool = option("--json", is_flag=True, heading=OUTPUT, help="Write JSON.")


@dataclass(frozen=True)
class ListedVariant:
    """One variant, as --json writes it; `reason` is why it is not ready on `device`."""

    name: str
    summary: str
    precisions: tuple[str, ...]
    layouts: tuple[str, ...]
    min_sm: int
    configurations: int
    computes: str
    device: str
    ready: bool
    reason: str

    @property
    def cells(self) -> list[str]:
        """The cells of its line in the table."""
        here = f"ready, {self.device}{_COMMANDS[self.computes]}" if self.ready else f"skipped: {self.reason}"
        capability = f"{self.min_sm / 10}" if self.min_sm else "-"
        lists = " ".join(self.precisions), " ".join(self.layouts)
        return [self.name, self.summary, *lists, capability, str(self.configurations), here]


@command(ListOptions, "list")
def list_variants(options: ListOptions) -> int:
    """List the variants and whether each can run here."""
    choice = registry.choose_device(options.where.device)
    targets = registry.glance_at_devices(choice)
    catalog = open_catalog(options.where.kernels)
    variants, faults = [], []
    for name in catalog.names:
        try:
            variants.append(catalog.get(name))
        except SpecError as fault:
            faults.append(str(fault))
    variants.sort(key=lambda variant: (variant.order, variant.name))
    listed = [_list_variant(variant, choice.primary, targets) for variant in variants]
    click.echo(json.dumps([asdict(each) for each in listed], indent=1) if options.as_json else _format_table(listed))
    for message in faults:
        click.echo(f"gemmbench: {message}", err=True)
    return USAGE if faults else OK


def _list_variant(variant: Variant, primary: str, targets: Mapping[str, Target]) -> ListedVariant:
    device = choose_backend(variant, primary, targets)
    reason = explain_unready(variant, device, targets.get(device), registry.why_refused)
    return ListedVariant(
        name=variant.name,
        summary=variant.summary,
        precisions=variant.precisions,
        layouts=variant.layouts,
        min_sm=variant.min_sm,
        configurations=count_configurations(variant),
        computes=variant.computes,
        device=device,
        ready=not reason,
        reason=reason,
    )


def _format_table(listed: Sequence[ListedVariant]) -> str:
    """tabulate's format `simple`; importing tabulate would take as long as reading all kernels."""
    body = [each.cells for each in listed]
    columns = zip(_HEAD, *body, strict=True)
    widths = [max(len(head) + 2, *map(len, cells)) for head, *cells in columns]
    lines = [_HEAD, ["-" * width for width in widths], *body]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
