"""`gemmbench list`: shows kernels and libraries, grouped by family or in ladder order."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import click

from gemmbench.backends import registry
from gemmbench.cli.options import DeviceOptions, VariantName, argument, command, option, style_option
from gemmbench.cli.output import print_line, print_reports
from gemmbench.errors import OK, USAGE, UsageError, nearest
from gemmbench.planning.files import printable
from gemmbench.planning.manifests.catalog import NoManifest
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.configurations import count_configurations
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.plans.skip_reasons import choose_backend, explain_unready
from gemmbench.planning.sweeps.run_request import OUTPUT, RunRequest
from gemmbench.report.table import Report, Table
from gemmbench.session.machine import open_catalog

_OVERVIEW = ["family", "kernels"]
_SHORT = ["name", "family", "here", "precisions", "summary"]
_LONG = ["name", "family", "summary", "precisions", "layouts", "min. cc", "configs", "here"]
_SHORT_FOLD, _LONG_FOLD = ["summary"], ["summary", "here"]
_MOST_PRECISIONS = 2
_COMMANDS = {"gemm": "", "mlp": ", in gemmbench mlp"}
_HERE = {"gemm": "yes", "mlp": "in mlp"}


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """The options of `gemmbench list`."""

    patterns: tuple[str, ...] = argument(nargs=-1, metavar="[PATTERN]...", type=VariantName())
    where: DeviceOptions
    here: bool = option("--here", is_flag=True, help="Only kernels and libraries that can run here.")
    details: bool = option(
        "--details", is_flag=True, heading=OUTPUT, help="Print one line for each, as with a PATTERN."
    )
    long: bool = option(
        "--long", is_flag=True, heading=OUTPUT, help="Also show layouts, configurations, and why a kernel cannot run."
    )
    as_json: bool = option(
        "--json", is_flag=True, heading=OUTPUT, help="Write JSON, with everything that --long shows."
    )
    style: str | None = style_option()


@dataclass(frozen=True)
class ListedVariant:
    """A variant as --json writes it. `reason` says why it is not ready on `device`.

    `family` is the folder of a kernel, or `library`. `configurations` is None unless details were requested.
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
        """The cells of the variant's row in the table."""
        here = _HERE[self.computes] if self.ready else "no"
        shown, more = self.precisions[:_MOST_PRECISIONS], len(self.precisions) - _MOST_PRECISIONS
        return [self.name, self.family, here, " ".join([*shown, *([f"+{more}"] if more > 0 else [])]), self.summary]

    @property
    def long_cells(self) -> list[str]:
        """The cells of the variant's row with --long."""
        here = f"ready, {self.device}{_COMMANDS[self.computes]}" if self.ready else f"skipped: {self.reason}"
        capability = f"{self.min_sm / 10}" if self.min_sm else "-"
        lists = " ".join(self.precisions), " ".join(self.layouts)
        return [self.name, self.family, self.summary, *lists, capability, str(self.configurations), here]


@command(ListOptions, "list")
def list_variants(request: RunRequest, options: ListOptions) -> int:
    """List kernels and libraries, and what can run here.

    Without a PATTERN, shows their names by family. With one, such as 'sgemm*' or a family, shows a
    line for each.
    """
    choice = registry.choose_device(options.where.device)
    targets = registry.glance_at_devices(choice)
    variants, faults = open_catalog(request.selection.kernels).read_all()
    detailed = options.long or options.as_json
    listed = [
        _list_variant(variant, choice.primary, targets, detailed)
        for variant in _choose_variants(variants, options.patterns)
    ]
    listed = [each for each in listed if each.ready or not options.here]
    if options.as_json:
        click.echo(json.dumps([asdict(each) for each in listed], indent=1))
    elif options.long or options.details or options.patterns:
        print_reports([_report_rows(listed, options.long)], options.style)
    else:
        print_reports([_report_families(listed)], options.style)
    if others := [printable(Path(fault.location).name) for fault in faults if isinstance(fault, NoManifest)]:
        print_line(
            f"not listed, without a manifest: {', '.join(others)}; name a kernel among them by its path", to_stderr=True
        )
    broken = [fault for fault in faults if not isinstance(fault, NoManifest)]
    for fault in broken:
        print_line(f"gemmbench: {fault}", to_stderr=True)
    return USAGE if broken else OK


def _name_family(variant: Variant) -> str:
    return Path(variant.path).parent.name if variant.path else variant.kind


def _list_names(variant: Variant) -> list[str]:
    return [variant.name, _name_family(variant)]


def _choose_variants(variants: Sequence[Variant], patterns: Sequence[str]) -> list[Variant]:
    """Choose the variants whose name or family matches a pattern, or all if there are no patterns.

    Raises UsageError for a pattern that matches nothing.
    """
    chosen: dict[str, Variant] = {}
    for pattern in patterns:
        found = [each for each in variants if any(fnmatchcase(name, pattern) for name in _list_names(each))]
        if not found:
            names = {name for each in variants for name in _list_names(each)}
            raise UsageError(
                f"no kernel or family matches '{pattern}'{nearest(pattern, names)}; gemmbench list shows all"
            )
        chosen |= {each.name: each for each in found}
    return [each for each in variants if not patterns or each.name in chosen]


def _list_variant(variant: Variant, primary: str, targets: Mapping[str, Target], detailed: bool) -> ListedVariant:
    device = choose_backend(variant, primary, targets)
    reason = explain_unready(variant, device, targets.get(device), registry.why_refused)
    return ListedVariant(
        name=variant.name,
        family=_name_family(variant),
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


def _report_families(listed: Sequence[ListedVariant]) -> Report:
    """Report the names in each family in ladder order. Names of variants that cannot run here are in parentheses."""
    families: dict[str, list[str]] = {}
    for each in listed:
        families.setdefault(each.family, []).append(each.name if each.ready else f"({each.name})")
    cells = [[family, ", ".join(names)] for family, names in families.items()]
    table = Table("", _OVERVIEW, cells, left=_OVERVIEW[:1], fold=_OVERVIEW[1:])
    more = "gemmbench list 'sgemm*' or a family describes each kernel. --here: those that run here. --long: everything."
    return Report([table], [f"{_count(listed, ' The others are in parentheses.')}", more])


def _report_rows(listed: Sequence[ListedVariant], long: bool) -> Report:
    headings, fold = (_LONG, _LONG_FOLD) if long else (_SHORT, _SHORT_FOLD)
    cells = [each.long_cells if long else each.short_cells for each in listed]
    statuses = ["ok" if each.ready else "skipped" for each in listed]
    table = Table("", headings, cells, (), headings, statuses, fold, wide=long)
    return Report([table], [_count(listed, "" if long else " --long explains why the others do not.")])


def _count(listed: Sequence[ListedVariant], others: str) -> str:
    """Return a sentence such as `34 of 59 kernels and libraries run here.`, and add `others` unless all do."""
    ready = sum(each.ready for each in listed)
    return f"{ready} of {len(listed)} kernels and libraries run here.{others if ready < len(listed) else ''}"
