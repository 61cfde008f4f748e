"""The output of `gemmbench profile`: the counters that matter for a GEMM, and what bounds it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gemmbench.analysis.ncu import Counters
from gemmbench.errors import StoreError
from gemmbench.planning.files import display_path, read_text_file
from gemmbench.planning.plans.plan import Plan
from gemmbench.report.table import Report, Table
from gemmbench.report.text import number

ABSENT = "not counted on this GPU"
_EXPLANATION = (
    "Percentages are relative to the peak over the whole duration; occupancy and No Eligible count while an SM "
    "is active. No Eligible: cycles in which a scheduler finds no warp that can issue. Caches start empty; "
    "data is uniform."
)
# A unit is the limit from the first percentage of its peak on, and no unit is below the second:
# the thresholds of Nsight Compute's own "Speed of Light" rule.
BOUND, LEAST = 80.0, 60.0
_NEAR = 10.0  # of two units this close, the first in _UNITS is the cause and the other a consequence
_IDLE = 75.0
_AT_WORK = 0.1
_TOP_STALLS = 3
_NO_FAULT = ("selected", "not_selected")  # the warp issues, or another one does

_MEANINGS = {
    "barrier": "warps wait for others at __syncthreads",
    "branch_resolving": "warps wait for a branch",
    "dispatch_stall": "the dispatcher delays instructions",
    "drain": "warps wait for stores at the end of the kernel",
    "gmma": "warps wait for the registers of wgmma",
    "imc_miss": "misses of the constant cache",
    "lg_throttle": "too many loads and stores of global memory at once",
    "long_scoreboard": "warps wait for data from global memory, L2 or L1",
    "math_pipe_throttle": "warps wait for an arithmetic pipe",
    "membar": "warps wait for a memory fence",
    "mio_throttle": "too many instructions for shared memory at once",
    "no_instruction": "misses of the instruction cache",
    "short_scoreboard": "warps wait for data from shared memory",
    "sleeping": "warps sleep",
    "tex_throttle": "too many texture instructions at once",
    "wait": "warps wait a fixed time after the previous instruction",
}


@dataclass(frozen=True)
class _Unit:
    quantity: str
    name: str
    busy: str


_UNITS = (
    _Unit("tensor", "the tensor pipe", "it is busy"),
    _Unit("fma", "FFMA issue", "the FMA pipe is busy"),
    _Unit("fp64", "DFMA issue", "the FP64 pipe is busy"),
    _Unit("shared", "shared memory", "its data path is busy"),
    _Unit("dram", "DRAM", "it is busy"),
    _Unit("l2", "L2", "it is busy"),
    _Unit("l1", "L1", "it is busy"),
    _Unit("issue", "issue slots", "they are taken"),
)


_PIPES = {"tensor": "the tensor pipe", "fma": "the FMA pipe", "fp64": "the FP64 pipe"}


def report_counters(counted: Sequence[Counters]) -> Report:
    """Report a table for each launch, and what bounds it."""
    return Report([_tabulate_counters(counters) for counters in counted], [_EXPLANATION])


def _tabulate_counters(counters: Counters) -> Table:
    """Make one line for each counter, even if the GPU lacks it. Lines on FP64 appear only if it is used."""
    double = counters.values.get("fp64", 0.0) >= _AT_WORK
    rows = [(name, cell) for name, cell in _ROWS.items() if double or name not in _DOUBLE]
    cells = [[name, cell(counters) or ABSENT] for name, cell in rows]
    headings = ["counter", "value"]
    return Table(_name_launch(counters), headings, cells, [explain_bound(counters)], headings[:1], fold=headings[1:])


def _name_launch(counters: Counters) -> str:
    """Return the name of the kernel with its grid and block."""
    return f"{counters.kernel}: grid {counters.grid}, block {counters.block}"


def explain_bound(counters: Counters) -> str:
    """Explain in a sentence what bounds the kernel."""
    values = counters.values
    busy = [(values[unit.quantity], unit) for unit in _UNITS if unit.quantity in values]
    if not busy:
        return "The bound is unknown, because none of the units was counted."
    most = max(share for share, _ in busy)
    if most < LEAST:
        return _explain_latency(counters, most)
    share, unit = next((share, unit) for share, unit in busy if share >= max(most - _NEAR, LEAST))
    strength = "Bound by" if share >= BOUND else "Mostly bound by"
    return f"{strength} {unit.name}: {unit.busy} {share:.0f} % of the time{_explain_company(unit, values)}."


def _explain_company(unit: _Unit, values: Mapping[str, float]) -> str:
    """Explain what else goes with the cause."""
    if unit.quantity in ("fma", "fp64") and "issue" in values:
        return f", and {values['issue']:.0f} % of the issue slots are taken{_format_instruction_share(unit, values)}"
    if unit.quantity == "issue":
        share, pipe = max((values.get(name, 0.0), words) for name, words in _PIPES.items())
        return f", although {pipe} is busy only {share:.0f} % of the time: other instructions take the slots"
    conflicts = values.get("load conflicts", 0.0) + values.get("store conflicts", 0.0)
    return f", with {conflicts:,.0f} bank conflicts" if unit.quantity == "shared" and conflicts else ""


def _format_instruction_share(unit: _Unit, values: Mapping[str, float]) -> str:
    kind = {"fma": "ffma", "fp64": "dfma"}[unit.quantity]
    share = _ratio(values, kind, "threads")
    return "" if share is None else f" ({share:.0f} % of the instructions are {kind.upper()})"


def _explain_latency(counters: Counters, most: float) -> str:
    active = counters.values.get("active", 100.0)
    if active < _IDLE:
        return (
            f"Bound by idle multiprocessors: they work {active:.0f} % of the time, because a grid of "
            f"{counters.grid} blocks, or its last wave, is too small."
        )
    stalls = [(name, share) for name, share in rank_stalls(counters.stalls) if name not in _NO_FAULT]
    if not stalls:
        return f"Bound by latency: no unit is busy more than {most:.0f} % of the time."
    name, share = stalls[0]
    meaning = f" ({_MEANINGS[name]})" if name in _MEANINGS else ""
    return (
        f"Bound by latency: no unit is busy more than {most:.0f} % of the time. The main stall is "
        f"{name}{meaning}, {share:.0f} % of a warp's time."
    )


def rank_stalls(stalls: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return the percentage of a warp's time for each thing it waits for, longest first."""
    total = sum(stalls.values())
    found = [(name, 100 * value / total) for name, value in stalls.items() if value > 0]
    return sorted(found, key=lambda each: -each[1])


def _ratio(values: Mapping[str, float], part: str, whole: str) -> float | None:
    return 100 * values[part] / values[whole] if part in values and values.get(whole) else None


def _quantity_cell(quantity: str, factor: float, unit: str) -> Callable[[Counters], str]:
    def cell(counters: Counters) -> str:
        value = counters.values.get(quantity)
        return "" if value is None else f"{number(value * factor)} {unit}"

    return cell


def _percent_cell(quantity: str) -> Callable[[Counters], str]:
    return _quantity_cell(quantity, 1.0, "%")


def _share(part: str, whole: str) -> Callable[[Counters], str]:
    def cell(counters: Counters) -> str:
        share = _ratio(counters.values, part, whole)
        return "" if share is None else f"{number(share)} %"

    return cell


def _conflicts(kind: str) -> Callable[[Counters], str]:
    def cell(counters: Counters) -> str:
        values = counters.values
        if f"{kind} conflicts" not in values:
            return ""
        share = _ratio(values, f"{kind} conflicts", f"{kind} wavefronts")
        ratio = "" if share is None else f" ({number(share)} % of its wavefronts)"
        return f"{values[f'{kind} conflicts']:,.0f}{ratio}"

    return cell


def _no_eligible(counters: Counters) -> str:
    """Format Nsight's "No Eligible": the percentage of cycles in which a scheduler finds no warp that can issue."""
    eligible = counters.values.get("eligible")
    return "" if eligible is None else f"{number(100 - eligible)} %"


def _sectors(sectors: str, requests: str) -> Callable[[Counters], str]:
    """Make a cell for the sectors of 32 bytes per request of a warp: 4 if its 32 words of 4 bytes are neighbours."""

    def cell(counters: Counters) -> str:
        share = _ratio(counters.values, sectors, requests)
        return "" if share is None else number(share / 100)

    return cell


def _stalls(counters: Counters) -> str:
    worst = [each for each in rank_stalls(counters.stalls) if each[0] not in _NO_FAULT][:_TOP_STALLS]
    return ", ".join(f"{name} {share:.0f} %" for name, share in worst)


def _registers(counters: Counters) -> str:
    return f"{counters.values['registers']:.0f}" if "registers" in counters.values else ""


_ROWS: dict[str, Callable[[Counters], str]] = {
    "duration": _quantity_cell("duration", 1e3, "ms"),
    "SM clock": _quantity_cell("clock", 1e-9, "GHz"),
    "SMs active": _percent_cell("active"),
    "FMA pipe": _percent_cell("fma"),
    "FP64 pipe": _percent_cell("fp64"),
    "tensor pipe": _percent_cell("tensor"),
    "issue slots taken": _percent_cell("issue"),
    "No Eligible": _no_eligible,
    "FFMA of thread instructions": _share("ffma", "threads"),
    "DFMA of thread instructions": _share("dfma", "threads"),
    "tensor of instructions": _share("tensor instructions", "instructions"),
    "DRAM throughput": _percent_cell("dram"),
    "read from DRAM": _quantity_cell("dram bytes", 1e-6, "MB"),
    "sectors per global load": _sectors("global sectors", "global loads"),
    "sectors per global store": _sectors("stored sectors", "global stores"),
    "L2 throughput": _percent_cell("l2"),
    "L1 throughput": _percent_cell("l1"),
    "shared-memory throughput": _percent_cell("shared"),
    "bank conflicts, loads": _conflicts("load"),
    "bank conflicts, stores": _conflicts("store"),
    "achieved occupancy": _percent_cell("occupancy"),
    "registers per thread": _registers,
    "main stalls": _stalls,
}
_DOUBLE = ("FP64 pipe", "DFMA of thread instructions")


PROFILES = "*.profile.json"
"""The pattern of the files with profiles in a results folder."""


def export_counters(plan: Plan, counted: Sequence[Counters], device: str) -> dict[str, Any]:
    """Return all counters of a profiled kernel for a JSON file."""
    return {"device": device, **_identify_kernel(plan), "launches": [asdict(counters) for counters in counted]}


def _identify_kernel(plan: Plan) -> dict[str, Any]:
    problem = plan.problem
    return {
        "variant": plan.variant.name,
        "configuration": dict(plan.config.values),
        "size": problem.shape.size,
        "layout": problem.layout,
        "precision": problem.precision_name,
    }


@dataclass(frozen=True)
class ProfiledKernel:
    """A kernel that may have a profile. Parameters that `configuration` lacks may have any value."""

    variant: str
    configuration: Mapping[str, int]
    size: str
    layout: str
    precision: str

    def describe_command(self, folder: Path) -> str:
        """Return the command that profiles the kernel and keeps the counters in a results folder."""
        options = [("--param", f"{name}={value}") for name, value in self.configuration.items()]
        options += [("--sizes", self.size)]
        options += [("--layout", self.layout)] if self.layout != "nn" else []
        options += [("--precision", self.precision)] if self.precision != "f32" else []
        options += [("--out", display_path(folder / PROFILES.replace("*", f"{self.variant}-{self.size}")))]
        return shlex.join(["gemmbench", "profile", self.variant, *(word for option in options for word in option)])

    def is_kernel_of(self, profile: Mapping[str, Any]) -> bool:
        """Return whether a profile is of this kernel."""
        same = all(profile.get(name) == getattr(self, name) for name in ("variant", "size", "layout", "precision"))
        return same and self.configuration.items() <= profile.get("configuration", {}).items()


def find_no_eligible(folder: Path, device: str, kernel: ProfiledKernel) -> float | None:
    """Return the percentage of cycles without an eligible warp, from the newest profile of a kernel on a device.

    Returns None if there is no profile. Raises StoreError for a file that is not a profile.
    """
    for path in sorted(folder.glob(PROFILES), reverse=True):
        profile = _read_profile(path)
        if profile.get("device") == device and kernel.is_kernel_of(profile):
            counted = [launch["values"]["eligible"] for launch in profile["launches"] if "eligible" in launch["values"]]
            if counted:
                return 100 - float(counted[-1])
    return None


def _read_profile(path: Path) -> dict[str, Any]:
    try:
        profile: dict[str, Any] = json.loads(read_text_file(path))
        if not all(isinstance(launch["values"], dict) for launch in profile["launches"]):
            raise TypeError
    except (ValueError, KeyError, TypeError):
        raise StoreError(
            f"{display_path(path)}: not a profile; remove it, or write it again with gemmbench profile --out"
        ) from None
    return profile
