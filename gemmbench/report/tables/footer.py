"""The lines below the tables of kernels: how the numbers were measured, and on which device."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean, median

from gemmbench.backends.base import MATHS
from gemmbench.backends.host import is_busy
from gemmbench.bench.operands.scratch import CACHE_FACTOR
from gemmbench.bench.record import Environment, Record, Result
from gemmbench.bench.timing import stats
from gemmbench.planning.files import escape_cell
from gemmbench.planning.plans.plan import shorten_device
from gemmbench.report.percent_of_baseline import is_valid_baseline
from gemmbench.report.repeatability import explain_process_deviation
from gemmbench.report.row import peak_flops
from gemmbench.report.store.recorded_run import Run
from gemmbench.report.text import count_noun, number


def summary_lines(run: Run, caveat: bool = True, columns: Sequence[str] = ()) -> list[str]:
    """Return what a screen says about the numbers: what they are, with a `caveat` on a CPU, and their device.

    If only some `columns` are shown, others are not explained.
    """
    environment, timed = run.environment, [record for record in run.full_records if record.samples]
    device = [_name_device(environment, timed)]
    if not timed:
        return device
    baseline, is_pass = environment.baseline, _name_unit(run) == _PASS
    if columns and not any("time" in name.lower() or "%" in name for name in columns):
        return device
    speed = f" {_name_speed(run)} in the same rounds." if baseline and (is_pass or environment.gpu) else ""
    return [f"Time: mean per {_name_unit(run)}, +- 95 % interval{environment.scope * caveat}.{speed}", *device]


def warning_lines(run: Run) -> list[str]:
    """Return what no screen leaves out: reasons to doubt numbers, and what kernels printed."""
    environment, timed = run.environment, [record for record in run.full_records if record.samples]
    return [
        *_warn_of_loads(environment, timed),
        *_list_checked_here(timed),
        *_warn_of_busy_host(environment, timed),
        *list_printed(run.records),
    ]


def footer_lines(run: Run, wide: bool = False) -> list[str]:
    """Describe how the numbers were measured, and on which device.

    Speeds of the CPU device are explained only below `wide` tables, which show them.
    """
    timed = [record for record in run.full_records if record.samples]
    if not timed:
        return [*_describe_device(run.environment, timed), *list_printed(run.records)]
    endings = _explain_endings(run.environment, timed)
    return [
        f"Time: mean of one {_name_unit(run)} over blocks of interleaved rounds, +- 95 % interval"
        f"{run.environment.scope}.",
        *_explain_baseline(run, shows_speeds=wide or run.environment.gpu),
        *explain_process_deviation(_list_shortest_times(run.environment, timed)),
        *_explain_alone(timed),
        *_explain_sustained(timed),
        *_warn_of_loads(run.environment, timed),
        _describe_method(timed),
        *([endings] if endings else []),
        *_list_checked_here(timed),
        *_explain_partly_cold(run.environment, timed),
        *_explain_missing_floor(run.environment, timed),
        *_describe_device(run.environment, timed),
        *list_printed(run.records),
    ]


_LONGEST_PRINTED = 300


def list_printed(records: Iterable[Result]) -> list[str]:
    """List what kernels printed, one line for each kernel: the longest summary of its batches."""
    lines: dict[str, str] = {}
    for record in records:
        if len(record.printed) > len(lines.get(record.variant, "")):
            lines[record.variant] = record.printed
    return [escape_cell(f"{name} {printed}")[:_LONGEST_PRINTED] for name, printed in lines.items()]


def detail_lines(run: Run, wide: bool = False) -> list[str]:
    """List units, settings of the device and versions of software. `wide` means the same as in footer_lines."""
    environment = run.environment
    units = _EXPLAIN_NETWORK if _name_unit(run) == _PASS else _EXPLAIN_GEMM
    settings = ", ".join(filter(None, (_describe_settings(environment), _judge_clock(run))))
    versions = ", ".join(f"{name} {version}" for name, version in environment.software.items())
    return [
        *(units if wide or environment.gpu else [line for line in units if "GFLOPS" not in line]),
        *([f"Card: {environment.uuid}, VBIOS {environment.vbios or 'unknown'}."] if environment.uuid else []),
        *([f"Settings: {settings}."] if settings else []),
        *([f"Software: {versions}."] if versions else []),
    ]


_LAUNCH, _PASS = "launch", "forward pass"
_EXPLAIN_GEMM = (
    "GFLOPS = 2 M N K / time.",
    "Error in units of u (|alpha| |A| |B| + |beta| |C0|), where u is the unit roundoff; 16 are allowed.",
)
_EXPLAIN_NETWORK = (
    "Time: includes all launches of a forward pass. GFLOPS = 2 x batch x sum of inputs x outputs / time.",
    "Error in sixteenths of the allowed rounding error, layer by layer; 16 are allowed.",
    "Accuracy: the share of the stored test digits that the network recognizes; it was not trained on them.",
)


def _name_unit(run: Run) -> str:
    """Return the name of what was timed."""
    return _PASS if run.records and run.records[0].network else _LAUNCH


def _explain_baseline(run: Run, shows_speeds: bool) -> list[str]:
    baseline = run.environment.baseline
    verified = "Rows are verified before they are timed."
    if not baseline or not (shows_speeds or _name_unit(run) == _PASS):
        return [verified]
    return [f"{_name_speed(run)}, in the same rounds.{_explain_math(run)} {verified}"]


def _name_speed(run: Run) -> str:
    baseline = run.environment.baseline
    return f"x {baseline}: times as fast" if _name_unit(run) == _PASS else f"% of {baseline}: speed"


def _explain_math(run: Run) -> str:
    """Explain which of two kinds of math was faster for the baseline; "" if there was no choice."""
    baseline, network = run.environment.baseline, _name_unit(run) == _PASS
    rows = [record for record in run.records if record.variant == baseline and not record.config and record.samples]
    free = [record for record in rows if set(record.picked.split(", ")) <= set(MATHS)]
    chosen = list(dict.fromkeys(math for record in free for math in record.picked.split(", ")))
    if not chosen:
        return ""
    place = "in each layer" if network else "at each size"
    if len(chosen) > 1:
        choice = f"with {' or '.join(chosen)}, the faster {place}"
    else:
        (other,) = set(MATHS) - set(chosen)
        several = network or len({record.problem for record in free}) > 1
        choice = f"with {chosen[0]}, faster than {other}" + (f" {place}" if several else "")
    names = dict.fromkeys(record.problem.precision_name for record in free)
    return f" 100 % is {baseline}{'' if len(free) == len(rows) else ', in ' + ' and '.join(names)} {choice}."


def _explain_alone(timed: Sequence[Record]) -> list[str]:
    rows = [record for record in timed if record.alone]
    if not rows:
        return []
    empty = stats.median([record.empty_seconds for record in rows if record.empty_seconds is not None])
    return [
        "Alone: one product in plain launches on an idle GPU with a cold cache, between two events, median of "
        f"{_format_range([len(record.alone) for record in rows])}; an empty kernel takes {number(1e6 * empty, 3)} us."
    ]


def _list_shortest_times(environment: Environment, timed: Sequence[Record]) -> list[float]:
    """Return the shorter time of each row on the GPU that has a ratio and of its baseline, in seconds."""
    baselines = {(each.batch, each.batch_key): each for each in timed if is_valid_baseline(environment, each)}
    pairs = [(each, baselines.get((each.batch, each.batch_key))) for each in timed if each.ranked]
    return [
        min(median(each.samples), median(baseline.samples))
        for each, baseline in pairs
        if baseline and each.variant != baseline.variant and environment.on_gpu(each.backend)
    ]


def _explain_sustained(timed: Sequence[Record]) -> list[str]:
    line = (
        "Sustained: each row alone under a steady load, in blocks that alternate with the baseline's. J: joules "
        "per launch."
    )
    return [line] if any(record.sustained for record in timed) else []


def _warn_of_loads(environment: Environment, timed: Sequence[Record]) -> list[str]:
    """Warn about steady loads that were not steady, or that drew more power than allowed."""
    loads, lines = [record.sustained for record in timed if record.sustained], []
    if unsettled := sum(not load.settled for load in loads):
        rows = f"{unsettled} of {len(loads)} rows" if len(loads) > 1 else "the row"
        lines.append(
            f"Under the load of {rows}, the clock, power or temperature was still "
            "changing when counting began, which can shift percentages by several points; --sustained with "
            "more seconds helps."
        )
    limit = environment.conditions.power_limit if environment.conditions else None
    if limit is not None and (above := [load.watts for load in loads if load.watts >= limit + 1]):
        lines.append(
            f"{count_noun(len(above), 'row')} drew more than the power limit of {limit:.0f} W while counted, at most "
            f"{max(above):.0f} W; a longer load may lower the clock."
        )
    return lines


def _describe_method(timed: Sequence[Record]) -> str:
    caches = Counter(record.cache for record in timed).most_common()
    cache = ", ".join(name for name, _ in caches)
    sets = _format_range([record.sets for record in timed])
    rounds = _format_range([len(record.samples) for record in timed])
    used = "set" if sets == "1" else "sets"
    blocks = _format_range([len(set(record.blocks)) for record in timed])
    placed = f" in {blocks} blocks" if blocks != "1" else ""
    first = timed[0]
    return f"Cache: {cache} ({sets} operand {used}). Data: {first.data}, seed {first.seed}. Rounds: {rounds}{placed}."


def _explain_partly_cold(environment: Environment, timed: Sequence[Record]) -> list[str]:
    """Explain rows on the device that were only partly cold."""
    partly = [row for row in timed if row.cache == "partly cold" and row.backend == environment.backend]
    if not partly or not environment.l2:
        return []
    sizes = [row.sets * row.least_bytes / 2**20 for row in partly]
    filled = " to ".join(dict.fromkeys(f"{size:.3g}" for size in (min(sizes), max(sizes))))
    return [
        f"Partly cold: the operand sets take {filled} MiB, less than {CACHE_FACTOR} times the cache "
        f"({environment.l2 / 2**20:.0f} MiB), so operands may still be in it."
    ]


def _explain_missing_floor(environment: Environment, timed: Sequence[Record]) -> list[str]:
    """Explain that arithmetic sets no lower bound on times if the peak of a GPU is unknown."""
    rows = [record for record in timed if record.backend == environment.backend and environment.gpu]
    clock = environment.clock_hz or math.nan
    unknown = [record for record in rows if math.isnan(peak_flops(environment, record, clock))]
    names = ", ".join(dict.fromkeys(record.problem.precision_name for record in unknown))
    if not names:
        return []
    signs = ["it is cold but shorter than its memory traffic takes"] if environment.bandwidth else []
    if any(record.elapsed_ratio is not None for record in rows):
        signs.append("gemmbench waited much longer than the kernel's process reports")
    effect = f"a time counts as too good only if {' or '.join(signs)}" if signs else "no time counts as too good"
    return [f"The peak of this device in {names} is unknown, so {effect}."]


def _list_checked_here(timed: Sequence[Record]) -> list[str]:
    """List which kernels were verified only at the sizes of the table, grouped by reason."""
    names: dict[str, list[str]] = {}
    for record in timed:
        if record.only_here:
            names.setdefault(record.only_here, []).append(record.variant)
    here = "this size" if len({record.problem.size for record in timed}) == 1 else "these sizes"
    return [f"{', '.join(dict.fromkeys(each))}: checked only at {here}: {why}." for why, each in names.items()]


def _format_range(values: Sequence[int]) -> str:
    return f"{min(values)}" if min(values) == max(values) else f"{min(values)} to {max(values)}"


def _explain_endings(environment: Environment, timed: Sequence[Record]) -> str:
    """Say how many rows stopped before their interval was narrow enough, if rows stop for that reason."""
    until = environment.policy.get("until", 0)
    if not isinstance(until, float) or not until:
        return ""
    seconds = environment.policy.get("max_time")
    limits = {"rounds": "the round limit", "max-time": "the time limit" + (f" ({seconds:g} s)" if seconds else "")}
    counts = Counter(record.stopped for record in timed)
    stopped = [(counts[reason], limit) for reason, limit in limits.items() if counts[reason]]
    if not stopped:
        return f"Each interval reached +- {100 * until:g} %." if set(counts) == {"until"} else ""
    words = " and ".join(
        f"{count} at {limit}" if index else f"{count_noun(count, 'row')} stopped at {limit}"
        for index, (count, limit) in enumerate(stopped)
    )
    its = "its" if sum(count for count, _ in stopped) == 1 else "their"
    return f"{words[0].upper()}{words[1:]} before {its} interval reached +- {100 * until:g} %."


def _name_device(environment: Environment, timed: Sequence[Record]) -> str:
    """Return a line such as `Device: NVIDIA H100 (cuda), 132 SMs at 1.989 GHz, power limit 700 W.`"""
    clocks = sorted(clock for record in timed for clock in record.clocks_hz)
    clock = f" at {clocks[len(clocks) // 2] / 1e9:.3f} GHz" if clocks else ""
    units = count_noun(environment.sms, "SM" if environment.gpu else "core")
    known = f"{units}{clock}{_describe_power_limit(environment)}"
    return f"Device: {shorten_device(environment.device)} ({environment.backend}), {known}."


def _describe_device(environment: Environment, timed: Sequence[Record]) -> list[str]:
    short = _name_device(environment, timed)
    lines = [short.replace(shorten_device(environment.device), environment.device, 1)]
    others = dict.fromkeys(record.backend for record in timed if record.backend != environment.backend)
    host = f"{environment.host}, {count_noun(environment.cores, 'core')}"
    lines += [f"Rows marked {backend}: {host}." for backend in others]
    lines += _warn_of_busy_host(environment, timed)
    return lines


def _warn_of_busy_host(environment: Environment, timed: Sequence[Record]) -> list[str]:
    counts = [record.competitors for record in timed if record.competitors is not None]
    cores = environment.cores or environment.sms
    if not counts or not is_busy(fmean(counts), cores):
        return []
    others = f"{fmean(counts):.1f} other processes on {count_noun(cores, 'core')}"
    return [f"The host was busy ({others}), so times on the CPU may be too long."]


def _describe_power_limit(environment: Environment) -> str:
    known = environment.conditions
    return f", power limit {known.power_limit:.0f} W" if known and known.power_limit is not None else ""


def list_modes(environment: Environment) -> dict[str, str]:
    """Return `on` or `off` for each known mode of the device."""
    known = environment.conditions
    modes = {"ECC": known.ecc, "MIG": known.mig, "persistence mode": known.persistence} if known else {}
    return {name: "on" if on else "off" for name, on in modes.items() if on is not None}


def _describe_settings(environment: Environment) -> str:
    """Return text such as `ECC on, MIG off, persistence mode on`. Unknown modes are left out."""
    return ", ".join(f"{name} {state}" for name, state in list_modes(environment).items())


_MOVED, _HIGHEST = 1.01, 0.98
"""How much a clock moves if it is not locked, and the share of the highest clock that counts as the highest."""


def _judge_clock(run: Run) -> str:
    """Judge from the windows whether the clock was locked, since no driver reports a lock; "" if unknown."""
    environment = run.environment
    highest = environment.conditions.max_sm_clock if environment.conditions else None
    records = [record for record in run.full_records if environment.on_gpu(record.backend)]
    clocks = [clock for record in records for clock in record.clocks_hz]
    if not clocks or not highest:
        return ""
    reasons = {reason for record in records if record.telemetry for reason in record.telemetry.slowed_by}
    if max(clocks) > _MOVED * min(clocks) or reasons - {"application clocks"}:
        return "clock not locked"
    if max(clocks) >= _HIGHEST * highest:
        return "clock steady at its highest"
    return f"clock locked at {max(clocks) / 1e9:.3f} GHz"
