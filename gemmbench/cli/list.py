"""`gemmbench list`: the variants in ladder order."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from gemmbench.backends import registry
from gemmbench.cli.options import DeviceOptions, command, option, style_option
from gemmbench.cli.output import print_line, print_reports
from gemmbench.errors import OK, USAGE
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.configurations import count_configurations
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.plans.skip_reasons import choose_backend, explain_unready
from gemmbench.planning.sweeps.overrides import OUTPUT, RunRequest
from gemmbench.report.table import Report, Table
from gemmbench.session.machine import open_catalog

_SHORT = ["name", "family", "here", "precisions", "summary"]
_LONG = ["name", "family", "summary", "precisions", "layouts", "min. cc", "configs", "here"]
_SHORT_FOLD, _LONG_FOLD = ["precisions", "summary"], ["summary", "here"]
_COMMANDS = {"gemm": "", "mlp": ", in gemmbench mlp"}
_HERE = {"gemm": "yes", "mlp": "in mlp"}


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """The options of `gemmbench list`."""

    where: DeviceOptions
    long: bool = option(
        "--long", is_flag=True, heading=OUTPUT, help="Also layouts, configurations, and why a variant cannot run."
    )
    as_json: bool = option("--json", is_flag=True, heading=OUTPUT, help="Write JSON, with all of --long.")
    style: str | None = style_option()


@dataclass(frozen=True)
class ListedVariant:
    """One variant, as --json writes it; `reason` is why it is not ready on `device`.

    `family` is the folder of a kernel, or `library`; `configurations` is None where nobody asked for details.
    """

    name: str
    family: str
    summary: str
    precisions: tuple[str, ...]
    layouts: tuple[str, ...]
    min_sm: int
    configurations: int | None
    computes: str
    device: str
    ready: bool
    reason: str

    @property
    def short_cells(self) -> list[str]:
        """The cells of its row in the table."""
        here = _HERE[self.computes] if self.ready else "no"
        return [self.name, self.family, here, " ".join(self.precisions), self.summary]

    @property
    def long_cells(self) -> list[str]:
        """The cells of its row with --long."""
        here = f"ready, {self.device}{_COMMANDS[self.computes]}" if self.ready else f"skipped: {self.reason}"
        capability = f"{self.min_sm / 10}" if self.min_sm else "-"
        lists = " ".join(self.precisions), " ".join(self.layouts)
        return [self.name, self.family, self.summary, *lists, capability, str(self.configurations), here]


@command(ListOptions, "list")
def list_variants(request: RunRequest, options: ListOptions) -> int:
    """List the variants and whether each can run here."""
    choice = registry.choose_device(options.where.device)
    targets = registry.glance_at_devices(choice)
    variants, faults = open_catalog(request.selection.kernels).read_all()
    detailed = options.long or options.as_json
    listed = [_list_variant(variant, choice.primary, targets, detailed) for variant in variants]
    if options.as_json:
        click.echo(json.dumps([asdict(each) for each in listed], indent=1))
    else:
        print_reports([_make_report(listed, options.long)], options.style)
    for fault in faults:
        print_line(f"gemmbench: {fault}", to_stderr=True)
    return USAGE if faults else OK


def _list_variant(variant: Variant, primary: str, targets: Mapping[str, Target], detailed: bool) -> ListedVariant:
    device = choose_backend(variant, primary, targets)
    reason = explain_unready(variant, device, targets.get(device), registry.why_refused)
    return ListedVariant(
        name=variant.name,
        family=Path(variant.path).parent.name if variant.path else variant.kind,
        summary=variant.summary,
        precisions=variant.precisions,
        layouts=variant.layouts,
        min_sm=variant.min_sm,
        configurations=count_configurations(variant) if detailed else None,
        computes=variant.computes,
        device=device,
        ready=not reason,
        reason=reason,
    )


def _make_report(listed: Sequence[ListedVariant], long: bool) -> Report:
    headings, fold = (_LONG, _LONG_FOLD) if long else (_SHORT, _SHORT_FOLD)
    cells = [each.long_cells if long else each.short_cells for each in listed]
    statuses = ["ok" if each.ready else "skipped" for each in listed]
    table = Table("", headings, cells, (), headings, statuses, fold, wide=long)
    unready = sum(not each.ready for each in listed)
    footer = [f"{len(listed)} variants, {len(listed) - unready} of which run here."]
    if unready and not long:
        footer.append("gemmbench list --long tells why the others do not.")
    return Report([table], [" ".join(footer)])
