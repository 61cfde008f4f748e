"""Counts the accesses of a kernel on the CPU for a GPU that need not be present (`inspect --accesses`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from gemmbench.analysis.accesses import (
    AccessCounts,
    SharedCode,
    TimeBound,
    bound_time,
    decide_readings,
    read_shared_code,
)
from gemmbench.backends import registry
from gemmbench.backends.devices import Machine
from gemmbench.bench.record import Record
from gemmbench.errors import GemmbenchError, PlanError, UsageError
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Config, Plan, Skip
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.run_request import Selection, TimeLimits
from gemmbench.report.diagnostics.access_report import CountedKernel, compare_accesses
from gemmbench.report.diagnostics.inspection_report import USUAL_CARDS, USUAL_CLOCK, USUAL_SMS
from gemmbench.session.machine import describe_local
from gemmbench.session.single_kernel import Architecture, find_variant, plan_inspection, plan_kernel

_HOST = "cpu"
_NOT_ASKED = "no machine code was read"
_USUAL_ARCHITECTURE = "90"


def count_accesses(
    selection: Selection,
    architecture: Architecture,
    clock: float | None,
    report_skip: Callable[[str], None],
    asks_nvcc: bool = True,
) -> list[CountedKernel]:
    """Count the accesses of a kernel in every configuration; needs only g++.

    `clock` is in GHz (None: a typical clock for this GPU). With `asks_nvcc`, and if nvcc is installed, the machine code
    decides how accesses are joined. `report_skip` receives a sentence about each configuration that cannot be counted.
    Raises UsageError and DeviceError.
    """
    variant = find_variant(selection)
    if reason := explain_uncountable(variant):
        raise UsageError(
            f"--accesses counts the loads and stores of a kernel in a .cu file, and {variant.name} {reason}"
        )
    counted: list[CountedKernel] = []
    watcher, decide = registry.make_watcher(TimeLimits.compile), _ReadingChoice(selection, architecture)
    for item in plan_kernel(selection, variant, describe_counting_machine(architecture.sms)):
        try:
            if isinstance(item, Skip):
                raise PlanError(item.reason)
            counts = watcher.count(item)
        except PlanError as fault:
            report_skip(f"{variant.name} {item.config}: {fault}" if str(item.config) else f"{variant.name}: {fault}")
            continue
        counts, undecided = decide.decide(item, counts) if asks_nvcc else (counts, _NOT_ASKED)
        counted.append(CountedKernel(item, counts, _bound(item, counts, architecture, clock), undecided))
    return counted


def compare_accesses_of_rows(records: Sequence[Record], kernels: str | None) -> list[str]:
    """Describe how each of these rows of the CPU device would differ from the first on a GPU, one sentence per row.

    Rows whose kernels cannot be counted are left out. The kernels are counted for one large product, which says
    nothing of batches and groups.
    """
    if any(record.problem.count > 1 or record.problem.groups for record in records):
        return []
    architecture = Architecture(_USUAL_ARCHITECTURE, USUAL_SMS[int(_USUAL_ARCHITECTURE)])
    counted: list[CountedKernel] = []
    for record in records:
        problem, params = record.problem, {name: (value,) for name, value in record.config.items()}
        kinds = (problem.precision_name,), (problem.layout,)
        selection = Selection((record.variant,), None, *kinds, params, kernels=kernels)
        with suppress(GemmbenchError):
            counted += count_accesses(selection, architecture, None, lambda text: None, asks_nvcc=False)[:1]
    return [compare_accesses(counted[0], later) for later in counted[1:]]


def explain_uncountable(variant: Variant) -> str:
    """Explain why the accesses of a variant cannot be counted on any machine; "" if they can."""
    if variant.computes == "mlp":
        return "computes a network"
    return "" if variant.is_kernel else "is not a kernel that gemmbench launches itself"


def describe_counting_machine(cores: int = USUAL_SMS[int(_USUAL_ARCHITECTURE)]) -> Machine:
    """Describe the CPU device as if it had this number of cores, since some grids depend on the size of the device.

    The default is the number of multiprocessors of a typical GPU.
    """
    machine = describe_local(registry.choose_device(_HOST))
    host = machine.devices[_HOST]
    return replace(machine, devices={_HOST: replace(host, target=replace(host.target, sms=cores))})


def _bound(plan: Plan, counts: AccessCounts, architecture: Architecture, clock: float | None) -> TimeBound | None:
    ghz = clock or USUAL_CLOCK.get(architecture.sm)
    if not ghz:
        return None
    rate = plan.problem.precision.peak.of_device("", architecture.sm)
    is_usual = architecture.sms == USUAL_SMS.get(architecture.sm) and not clock
    name = USUAL_CARDS.get(architecture.sm, "") if is_usual else f"an sm_{architecture.name}"
    card = f"{name} ({architecture.sms} SMs at {ghz:g} GHz)"
    return bound_time(counts, plan.problem.flops, rate, architecture.sms * ghz * 1e9, card)


class _ReadingChoice:
    """Decides from nvcc's machine code, if nvcc is installed, how accesses to shared memory are joined."""

    def __init__(self, selection: Selection, architecture: Architecture):
        self._selection, self._architecture = selection, architecture
        self._plans: Mapping[tuple[Problem, Config], Plan] | None = None

    def decide(self, plan: Plan, counts: AccessCounts) -> tuple[AccessCounts, str]:
        """Return the counts as decided by the machine code, or unchanged with the reason why it could not decide."""
        if counts.is_decided:
            return counts, ""
        try:
            return decide_readings(counts, self._read_code(plan)), ""
        except GemmbenchError as fault:
            return counts, str(fault).partition("\n")[0].rstrip(":")

    def _read_code(self, plan: Plan) -> SharedCode:
        if self._plans is None:
            planned: Sequence[Plan | Skip] = plan_inspection(self._selection, self._architecture)
            self._plans = {(each.problem, each.config): each for each in planned if isinstance(each, Plan)}
        found = self._plans.get((plan.problem, plan.config))
        if found is None:
            raise PlanError(f"it is not planned for sm_{self._architecture.name}")
        return read_shared_code(registry.make_inspecting_compiler().sass_by_line(found))
