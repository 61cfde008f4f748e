"""Nsight Compute: reads the hardware counters of one launch from its CSV output.

Names of metrics: NVIDIA, "Nsight Compute Profiling Guide", metrics structure and reference. Stalls: the same guide,
"Warp Stall Reasons". ncu stops at a metric that the GPU or the release does not have, so each quantity has a list of
metrics to try in turn.
"""

from __future__ import annotations

import csv
import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gemmbench.analysis import toolkit
from gemmbench.errors import DeviceError, LaunchError

PROGRAM = "ncu"
LIMIT = 600.0
"""The time limit for one launch with all its passes, in seconds."""

_OF_PEAK = "avg.pct_of_peak_sustained_elapsed"
_OF_ACTIVE = "avg.pct_of_peak_sustained_active"
_THREADS = "smsp__sass_thread_inst_executed_op"

QUANTITIES: dict[str, tuple[str, ...]] = {
    "duration": ("gpu__time_duration.sum",),
    "clock": (
        "sm__cycles_elapsed.avg.per_second",
        "smsp__cycles_elapsed.avg.per_second",
        "gpc__cycles_elapsed.avg.per_second",
    ),
    "active": (f"sm__cycles_active.{_OF_PEAK}",),
    "fma": (f"sm__inst_executed_pipe_fma.{_OF_PEAK}", f"sm__pipe_fma_cycles_active.{_OF_PEAK}"),
    "fp64": (f"sm__inst_executed_pipe_fp64.{_OF_PEAK}", f"sm__pipe_fp64_cycles_active.{_OF_PEAK}"),
    "tensor": (
        f"sm__pipe_tensor_cycles_active.{_OF_PEAK}",
        f"sm__pipe_tensor_op_hmma_cycles_active.{_OF_PEAK}",
        f"sm__inst_executed_pipe_tensor.{_OF_PEAK}",
    ),
    "issue": (f"smsp__issue_active.{_OF_PEAK}", f"sm__inst_issued.{_OF_PEAK}"),
    "eligible": (f"smsp__issue_active.{_OF_ACTIVE}",),
    "ffma": (f"{_THREADS}_ffma_pred_on.sum",),
    "dfma": (f"{_THREADS}_dfma_pred_on.sum",),
    "threads": ("smsp__thread_inst_executed_pred_on.sum", "smsp__thread_inst_executed.sum"),
    "tensor instructions": ("sm__inst_executed_pipe_tensor.sum", "sm__inst_executed_pipe_tensor_op_hmma.sum"),
    "instructions": ("sm__inst_executed.sum", "smsp__inst_executed.sum"),
    "dram": (f"dram__throughput.{_OF_PEAK}",),
    "dram bytes": ("dram__bytes_read.sum",),
    "global loads": ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",),
    "global sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",),
    "global stores": ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",),
    "stored sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",),
    "l2": (f"lts__throughput.{_OF_PEAK}", f"lts__t_sectors.{_OF_PEAK}"),
    "l1": (f"l1tex__throughput.{_OF_PEAK}",),
    "shared": (f"l1tex__data_pipe_lsu_wavefronts_mem_shared.{_OF_PEAK}",),
    "load conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",),
    "store conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",),
    "load wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",),
    "store wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",),
    "occupancy": (f"sm__warps_active.{_OF_ACTIVE}",),
    "registers": ("launch__registers_per_thread",),
}
"""The quantities to count, each with its metrics in order of preference."""

STALLS = (
    "barrier branch_resolving dispatch_stall drain gmma imc_miss lg_throttle long_scoreboard math_pipe_throttle "
    "membar mio_throttle misc no_instruction not_selected selected short_scoreboard sleeping tex_throttle wait"
).split()
"""The reasons why a warp waits between two instructions. `gmma` exists only on compute capability 9.0."""

_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
_MISSING = re.compile(r"[Ff]ailed to find metric (?:regex:)?\^?(\w+)")
_TIMES = {"ns": 1e-9, "nsecond": 1e-9, "us": 1e-6, "usecond": 1e-6, "ms": 1e-3, "msecond": 1e-3}
_RATES = {"khz": 1e3, "mhz": 1e6, "ghz": 1e9, "cycle/usecond": 1e6, "cycle/nsecond": 1e9}
_SCALES = _TIMES | _RATES


@dataclass(frozen=True)
class Counters:
    """The counters of one kernel by quantity, in seconds, Hz, percent or as a count.

    Quantities that this GPU does not count are missing. `stalls` gives for each reason the number of warps it stalls,
    per cycle in which an instruction is issued.
    """

    kernel: str
    grid: str
    block: str
    values: Mapping[str, float]
    stalls: Mapping[str, float]


def count_launches(arguments: Sequence[str], limit: float = LIMIT) -> list[Counters]:
    """Count the kernels that `gemmbench ARGUMENTS` launches inside the range that it marks for a profiler.

    Raises DeviceError if ncu is missing or has no permission to count, and LaunchError if the program fails.
    """
    program, missing = toolkit.find_watcher(PROGRAM), set[str]()
    while True:
        names = choose_metrics(missing)
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            ran = toolkit.run_watcher(ncu_command(program, log, names, toolkit.gemmbench_command(*arguments)), limit)
            report = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        if found := read_counters(report, names):
            return found
        unknown = set(_MISSING.findall(f"{report}\n{ran.out}\n{ran.err}")) - missing
        if not unknown:
            raise _explain_failure(ran, report, limit)
        missing |= unknown


def choose_metrics(missing: Collection[str] = ()) -> dict[str, str]:
    """Choose a metric for each quantity and each stall.

    `missing` are metrics that are unavailable, without their suffixes.
    """
    candidates = {**QUANTITIES, **{f"stall {name}": (_STALL.format(name),) for name in STALLS}}
    available = {
        name: [each for each in known if each.partition(".")[0] not in missing] for name, known in candidates.items()
    }
    return {name: known[0] for name, known in available.items() if known}


def ncu_command(program: str, log: Path, names: Mapping[str, str], target: Sequence[str]) -> list[str]:
    """Return the command that counts in the range that the target marks.

    ncu leaves the clock alone, just as when kernels are timed.
    """
    words = f"--config-file off --csv --page raw --print-units base --clock-control none --log-file {log}".split()
    words += "--profile-from-start off --target-processes application-only --metrics".split()
    return [program, *words, ",".join(dict.fromkeys(names.values())), *target]


def read_counters(report: str, names: Mapping[str, str]) -> list[Counters]:
    """Parse the CSV of `--page raw`, which has a line of names, a line of units, and one line per kernel."""
    lines = [line for line in report.splitlines() if line.startswith('"')]
    rows = list(csv.reader(lines))
    if not rows or "Kernel Name" not in rows[0]:
        return []
    head = rows[0]
    tables = [dict(zip(head, row, strict=False)) for row in rows[1:]]
    units = next((table for table in tables if not table["Kernel Name"]), {})
    return [_counters(table, units, names) for table in tables if table["Kernel Name"]]


def _counters(row: Mapping[str, str], units: Mapping[str, str], names: Mapping[str, str]) -> Counters:
    values = {}
    for name, metric in names.items():
        value = number(row.get(metric, ""))
        if value is not None:
            values[name] = value * _SCALES.get(units.get(metric, "").lower(), 1.0)
    stalls = {name.partition(" ")[2]: values.pop(name) for name in list(values) if name.startswith("stall ")}
    return Counters(row["Kernel Name"], row.get("Grid Size", ""), row.get("Block Size", ""), values, stalls)


def number(cell: str) -> float | None:
    """Parse a cell as a number; None for `n/a`, `nan` or an empty cell.

    Numbers may have commas for thousands and may be followed by instances in brackets.
    """
    found = re.match(r"\s*(-?[\d,]{0,40}\.?\d{1,40}(?:[eE][-+]?\d+)?)(?![\w.])", cell)
    return float(found[1].replace(",", "")) if found else None


_REFUSALS = (
    (
        "ERR_NVGPUCTRPERM",
        "this user may not read the GPU's counters (ERR_NVGPUCTRPERM): run as root, or permit all users, "
        "see https://developer.nvidia.com/ERR_NVGPUCTRPERM",
    ),
    ("driver resource was unavailable", "another tool holds the GPU's counters; stop it (DCGM, another profiler)"),
    ("Failed to initialize the profiler", "the driver refuses profilers: this may be a virtual machine"),
    ("not supported on", "this ncu does not support this GPU: install another release"),
)


def _explain_failure(ran: toolkit.ToolRun, report: str, limit: float) -> Exception:
    """Return the error to raise if ncu counted no kernel."""
    everything = f"{report}\n{ran.out}\n{ran.err}"
    for sign, meaning in _REFUSALS:
        if sign in everything:
            return DeviceError(f"{PROGRAM}: {meaning}")
    if ran.code is None:
        return LaunchError(f"{PROGRAM} did not finish within {limit:g} s; choose a smaller size")
    own = re.search(r"^gemmbench: (.*)$", ran.err, re.MULTILINE)
    errors = re.findall(r"^==ERROR== (.*)$", everything, re.MULTILINE)
    return LaunchError(own[1] if own else f"{PROGRAM} counted nothing: {next(iter(errors), ran.last_words)}")
