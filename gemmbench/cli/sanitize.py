"""`gemmbench verify --sanitize`: every kernel under compute-sanitizer, each in a process of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from gemmbench.cli import options

if TYPE_CHECKING:
    from gemmbench.backends.machine import Machine
    from gemmbench.planning.manifests.variant import Variant
    from gemmbench.planning.plans.plan import Config
    from gemmbench.report.sanitizing import Finding

# A batch that fits no tile; of timing the least there is.
_NETWORK = "--batch 33 --weights random --rounds 1 --max-time 0.001 --cache hot --no-gate".split()


@dataclass(frozen=True)
class Subject:
    """A variant to watch: its configurations, and the command of this program that runs them.

    `chosen` are the words that make the command run these configurations.
    """

    variant: str
    configs: tuple[Config, ...]
    command: tuple[str, ...]
    chosen: tuple[str, ...]
    reason: str = ""

    def alone(self, config: Config) -> tuple[str, ...]:
        """The command for one configuration."""
        return (*self.command, *options.words(("--param", f"{name}={value}") for name, value in config.values))


def sanitized(
    names: Sequence[str], tools: Sequence[str], every: bool, style: str | None, settings: dict[str, Any]
) -> int:
    """Watch the variants, print what was found, return the exit code. Raises UsageError, DeviceError."""
    from gemmbench.analysis import sanitizer
    from gemmbench.analysis.watched_program import find
    from gemmbench.cli import output, planning
    from gemmbench.errors import BAD_ROW, INTERRUPTED, NO_DEVICE, OK
    from gemmbench.report.sanitizing import notes, table

    _check_tools(tools)
    machine = planning.find_gpu(settings["device"], "--sanitize")
    find(sanitizer.PROGRAM)
    with tempfile.TemporaryDirectory() as folder:
        subjects = _subjects(names, every, settings, machine, folder)
        findings, interrupted = _watch(subjects, tools, settings)
    click.echo(table(findings, output.plain(style)))
    for line in notes(findings):
        click.echo(line)
    if interrupted:
        return INTERRUPTED
    if all(finding.verdict is None for finding in findings):
        click.echo("nothing ran: every variant was skipped, for the reasons above", err=True)
        return NO_DEVICE
    return OK if all(finding.clean for finding in findings) else BAD_ROW


def _check_tools(tools: Sequence[str]) -> None:
    from gemmbench.analysis.sanitizer import TOOLS
    from gemmbench.errors import UsageError, nearest

    for name in tools:
        if name not in TOOLS:
            hint = nearest(name, TOOLS) or "; name VARIANTs before --sanitize"
            raise UsageError(f"--sanitize: unknown tool '{name}'{hint}; known: {', '.join(TOOLS)}")


def _subjects(
    names: Sequence[str], every: bool, settings: dict[str, Any], machine: Machine, folder: str
) -> list[Subject]:
    """What there is to watch, compiled already, so that no limit is spent on it. Raises UsageError."""
    from gemmbench.backends import registry
    from gemmbench.bench.runner import build_all
    from gemmbench.cli.planning import open_catalog
    from gemmbench.cli.progress import progress_bar
    from gemmbench.cli.verify import plans_of
    from gemmbench.planning.plans.expansion import check_params
    from gemmbench.planning.plans.plan import Config, Plan
    from gemmbench.planning.sweeps.parsing import chosen_params

    catalog = open_catalog(settings["kernels"])
    variants = [each for each in catalog.ladder(names or catalog.names) if names or each.is_kernel]
    check_params([(variant, chosen_params(settings["params"])) for variant in variants])
    common = options.words(
        [*((f"--{name}", settings[name]) for name in ("kernels", "seed")), ("--device", machine.choice.option)]
    )
    found, plans = [], []
    for variant in variants:
        asked = _asked(variant, settings)
        words = options.words(("--param", text) for text in asked["params"])
        if variant.computes != "gemm":
            command = ("mlp", variant.name, *_NETWORK, "--baseline", variant.name, "--out", folder, *common)
            found.append(_network(variant, asked, machine, command, words))
            continue
        expanded = plans_of([variant], every, asked, machine)
        mine = [item for item in expanded if isinstance(item, Plan) and item.device == machine.choice.primary]
        skips = [item.reason for item in expanded if not isinstance(item, Plan)]
        given = [("--sizes", asked["sizes"]), ("--precision", asked["precisions"]), ("--layout", asked["layouts"])]
        command = ("verify", variant.name, *options.words(given), *common)
        reason = "" if mine else next(iter(skips), "runs on the host")
        # One that dispatches takes no parameters, so what it picks has no command of its own.
        configs = (Config(),) if variant.picks else tuple(dict.fromkeys(plan.config for plan in mine))
        found.append(Subject(variant.name, configs, command, ("--all",) if every else words, reason))
        plans += mine
    with progress_bar() as progress:
        build_all(
            plans,
            registry.make_compilers(machine, [machine.choice.primary], options.limits(settings).compile),
            progress,
        )
    return found


def _asked(variant: Variant, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings for one variant, with the shapes and the precision that stand in for all."""
    from gemmbench.planning.manifests.variant import ALL
    from gemmbench.planning.problems import awkward
    from gemmbench.planning.sweeps.parsing import chosen_params

    shapes = ",".join("x".join(map(str, shape)) for shape in awkward.WATCHED)
    sizes, precisions = settings["sizes"] or shapes, settings["precisions"] or variant.precisions[0]
    own = {ALL, *(name for name, _ in variant.params)}
    params = [text for text in settings["params"] if own.issuperset(chosen_params([text]))]
    return {**settings, "sizes": sizes, "precisions": precisions, "params": params}


def _network(
    variant: Variant, asked: dict[str, Any], machine: Machine, command: tuple[str, ...], words: tuple[str, ...]
) -> Subject:
    """A kernel of networks: its default configuration, or those that were asked for."""
    from gemmbench.backends import registry
    from gemmbench.planning.plans.expansion import configurations, unfit_device
    from gemmbench.planning.sweeps.parsing import chosen_params

    reason = unfit_device(variant, machine.primary.target) or registry.why_refused(variant, machine.choice.primary)
    configs = tuple(configurations(variant, chosen_params(asked["params"])))
    return Subject(variant.name, configs, command, words, reason)


def _watch(subjects: Sequence[Subject], tools: Sequence[str], settings: dict[str, Any]) -> tuple[list[Finding], bool]:
    """The findings, and whether Ctrl-C ended it before all were made."""
    from gemmbench.cli.interruption import Interruption
    from gemmbench.cli.progress import progress_bar
    from gemmbench.report.sanitizing import Finding

    findings, stop = [], Interruption(options.limits(settings).sweep)
    with progress_bar() as progress, stop.watched():
        for number, subject in enumerate(subjects):
            if subject.reason:
                findings.append(Finding(subject.variant, "", "", None, subject.reason))
                continue
            for tool in tools:
                if stop.asked():
                    return findings, True
                progress(f"{tool} {subject.variant}", number, len(subjects))
                findings += _findings(subject, tool, settings["sanitize_limit"])
    return findings, False


def _findings(subject: Subject, tool: str, limit: float) -> Iterator[Finding]:
    """One finding if all configurations are clean together, else one for each on its own."""
    from gemmbench.analysis.sanitizer import check
    from gemmbench.report.sanitizing import Finding

    configs = subject.configs
    whole = Finding(subject.variant, _words(configs), tool, check(tool, (*subject.command, *subject.chosen), limit))
    if whole.clean or len(configs) == 1:
        yield whole
        return
    each = [Finding(subject.variant, str(one), tool, check(tool, subject.alone(one), limit)) for one in configs]
    yield from each
    if all(finding.clean for finding in each) and whole.verdict and whole.verdict.status != "timeout":
        yield whole  # seen once is seen


def _words(configs: Sequence[Config]) -> str:
    return str(configs[0]) if len(configs) == 1 else f"all {len(configs)}"
