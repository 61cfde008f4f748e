"""Runs every kernel under compute-sanitizer, each in its own process (`verify --sanitize`)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gemmbench.analysis import sanitizer
from gemmbench.analysis.toolkit import find_watcher
from gemmbench.backends import registry
from gemmbench.backends.devices import Machine
from gemmbench.bench.build import compile_plans
from gemmbench.errors import UsageError, nearest
from gemmbench.planning.manifests.variant import ALL, Variant
from gemmbench.planning.plans import configurations
from gemmbench.planning.plans.configurations import check_params, list_configurations
from gemmbench.planning.plans.plan import Config, Plan, Skip
from gemmbench.planning.plans.skip_reasons import explain_unfit_device
from gemmbench.planning.sizes import read_sizes
from gemmbench.planning.sweeps.run_request import RunRequest, Selection, to_words
from gemmbench.report.diagnostics.verification_report import SanitizerResult
from gemmbench.session.machine import find_gpu
from gemmbench.session.reporter import SILENT, Interruption, Reporter
from gemmbench.session.verification_runs import choose_variants, plan_verification

# A batch size that fits no tile, and as little timing as possible.
_NETWORK_OPTIONS = "--batch 33 --weights random --rounds 1 --max-time 0.001 --cache hot --no-gate".split()


@dataclass(frozen=True)
class VerifyCommand:
    """The command of this program that verifies one variant.

    `words` is the command without the options `chosen`, which select `configs`. A variant that cannot run has a
    `reason`.
    """

    variant: str
    configs: tuple[Config, ...]
    words: tuple[str, ...]
    chosen: tuple[str, ...]
    reason: str = ""

    def words_for(self, config: Config) -> tuple[str, ...]:
        """Return the command that verifies one configuration."""
        return (*self.words, *to_words(("--param", f"{name}={value}") for name, value in config.values))


@dataclass(frozen=True)
class Sanitization:
    """The findings of the tools. `broken` says which kernel files cannot be read, and why."""

    results: list[SanitizerResult]
    interrupted: bool
    broken: list[str]


def sanitize_kernels(
    request: RunRequest,
    tools: Sequence[str],
    device: str,
    limit: float,
    reporter: Reporter = SILENT,
    *,
    every: bool = False,
    exit_first: bool = False,
) -> Sanitization:
    """Run the variants under the tools. `limit` is the seconds for one run of a tool. See verify_kernels for the rest.

    Raises GemmbenchError, such as DeviceError if there is no GPU or a tool is missing.
    """
    _check_tools(tools)
    machine = find_gpu(device, "--sanitize")
    find_watcher(sanitizer.PROGRAM)
    variants, broken = choose_variants(request.selection, lambda variant: variant.is_kernel, reporter)
    with tempfile.TemporaryDirectory() as folder:
        commands = _prepare_commands(variants, request, machine, folder, reporter, every)
        results, interrupted = _run_tools(commands, tools, limit, request.limits.sweep, reporter, exit_first)
    return Sanitization(results, interrupted, broken)


def _check_tools(tools: Sequence[str]) -> None:
    for name in tools:
        if name not in sanitizer.TOOLS:
            hint = nearest(name, sanitizer.TOOLS) or "; name KERNELs before --sanitize"
            raise UsageError(f"--sanitize: unknown tool '{name}'{hint}; known: {', '.join(sanitizer.TOOLS)}")


def _prepare_commands(
    variants: Sequence[Variant], request: RunRequest, machine: Machine, folder: str, reporter: Reporter, every: bool
) -> list[VerifyCommand]:
    """Plan the commands and compile their code in advance, so that compiling does not count toward a time limit."""
    check_params([(variant, request.selection.params) for variant in variants])
    commands: list[VerifyCommand] = []
    plans: list[Plan] = []
    for variant in variants:
        narrowed = replace(request, selection=_narrow(request.selection, variant))
        if variant.computes == "gemm":
            mine, skips = _split_plans(plan_verification(variant, narrowed.selection, machine, every), machine)
            commands.append(_make_gemm_command(variant, narrowed, mine, skips, machine, every))
            plans += mine
        else:
            commands.append(_make_network_command(variant, narrowed, machine, folder))
    compilers = registry.make_compilers(machine, [machine.choice.primary], request.limits.compile)
    with reporter.progress_bar() as progress:
        compile_plans(plans, compilers, progress)
    return commands


def _narrow(selection: Selection, variant: Variant) -> Selection:
    """Narrow the selection for one variant to few shapes, one precision, and the parameters that the variant has."""
    names = {ALL, *(name for name, _ in variant.params)}
    return replace(
        selection,
        sizes=selection.sizes or read_sizes(configurations.SANITIZED),
        precisions=selection.precisions or variant.precisions[:1],
        params={name: values for name, values in selection.params.items() if name in names},
    )


def _split_plans(expanded: Sequence[Plan | Skip], machine: Machine) -> tuple[list[Plan], list[Skip]]:
    """Split the items into the plans that run on the GPU and the skips."""
    plans = [item for item in expanded if isinstance(item, Plan) and item.device == machine.choice.primary]
    return plans, [item for item in expanded if isinstance(item, Skip)]


def _make_gemm_command(
    variant: Variant,
    request: RunRequest,
    plans: Sequence[Plan],
    skips: Sequence[Skip],
    machine: Machine,
    every: bool,
) -> VerifyCommand:
    asked = request.selection.list_words("sizes", "precisions", "layouts")
    words = ("verify", variant.name, *asked, *_list_common_words(request, machine), "--no-pdl", "--no-watch")
    # A variant that picks others takes no parameters, so none of its configurations can be named.
    configs = (Config(),) if variant.picks else tuple(dict.fromkeys(plan.config for plan in plans))
    chosen = ("--all",) if every else tuple(request.selection.list_words("params"))
    reason = "" if plans else next((skip.reason for skip in skips), "runs on the host")
    return VerifyCommand(variant.name, configs, words, chosen, reason)


def _make_network_command(variant: Variant, request: RunRequest, machine: Machine, folder: str) -> VerifyCommand:
    """Make the command for a kernel that computes a network, in its default or the requested configurations."""
    options = *_NETWORK_OPTIONS, "--baseline", variant.name, "--out", folder
    words = ("mlp", variant.name, *options, *_list_common_words(request, machine))
    reason = explain_unfit_device(variant, machine.primary.target) or registry.why_refused(
        variant, machine.choice.primary
    )
    configs = tuple(list_configurations(variant, request.selection.params))
    return VerifyCommand(variant.name, configs, words, tuple(request.selection.list_words("params")), reason)


def _list_common_words(request: RunRequest, machine: Machine) -> tuple[str, ...]:
    others = [("--seed", request.measuring.seed), ("--device", machine.choice.option)]
    return (*request.selection.list_words("kernels"), *to_words(others))


def _run_tools(
    commands: Sequence[VerifyCommand],
    tools: Sequence[str],
    limit: float,
    sweep_limit: float,
    reporter: Reporter,
    exit_first: bool,
) -> tuple[list[SanitizerResult], bool]:
    """Run every command under every tool. Returns the findings and whether the run was interrupted."""
    findings: list[SanitizerResult] = []
    interruption = Interruption(sweep_limit, reporter.message)
    with reporter.progress_bar() as progress, interruption.handle_ctrl_c():
        for number, command in enumerate(commands):
            if command.reason:
                findings.append(SanitizerResult(command.variant, "", "", None, command.reason))
                continue
            for tool in tools:
                if interruption.is_requested():
                    return findings, True
                progress(f"{tool} {command.variant}", number, len(commands))
                findings += _run_tool(tool, command, limit)
                if exit_first and not all(each.clean for each in findings if each.verdict):
                    return findings, False
    return findings, False


def _run_tool(tool: str, command: VerifyCommand, limit: float) -> Iterator[SanitizerResult]:
    """Yield one result if all configurations together are clean, otherwise one for each configuration."""
    configs = command.configs
    verdict = sanitizer.run_sanitizer(tool, (*command.words, *command.chosen), limit)
    together = SanitizerResult(command.variant, _describe_configs(configs), tool, verdict)
    if together.clean or len(configs) == 1:
        yield together
        return
    each = [
        SanitizerResult(command.variant, str(one), tool, sanitizer.run_sanitizer(tool, command.words_for(one), limit))
        for one in configs
    ]
    yield from each
    if all(finding.clean for finding in each) and verdict.status != "timeout":
        yield together  # an error that was seen once stays an error


def _describe_configs(configs: Sequence[Config]) -> str:
    return str(configs[0]) if len(configs) == 1 else f"all {len(configs)}"
