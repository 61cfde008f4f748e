"""One row in sentences: what was measured and how, what bounds it, and why it has its flags."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from gemmbench.bench.record import Environment, Record, Telemetry
from gemmbench.bench.timing import stats
from gemmbench.planning.precisions import CLASSES
from gemmbench.report.explanation.rerun import rerun_command
from gemmbench.report.explanation.steady_load import describe_load
from gemmbench.report.flags import MEANINGS, find_flags
from gemmbench.report.roofline import MEMORY
from gemmbench.report.row import UNRANKED, Row
from gemmbench.report.text import count_noun, number, number_within, percent, with_interval

_WIDEST = 110
_INDENT = 10
_STOPPED = {
    "until": "enough for its interval (--until)",
    "beaten": "enough to be clearly slower than the winner",
    "rounds": "the number that --rounds sets or allows",
    "max-time": "all that the time limit allowed (--max-time)",
    "interrupted": "then it was interrupted",
    "failed": "then it failed",
}


def explain_row(row: Row, width: int | None = None) -> list[str]:
    """Everything that is known of a row, in lines that fit a screen; None if it has no limit."""
    record, width = row.record, min(width or _WIDEST, _WIDEST)
    lines = [line for name, text in explain_in_paragraphs(row) for line in _wrap(name, text, width)]
    drawn = [" " * _INDENT + line for line in record.wrong_map.splitlines()]
    return [*lines, *drawn, f"{'Again:':<{_INDENT}}{rerun_command(row.environment, record)}"]


def explain_in_paragraphs(row: Row) -> list[tuple[str, str]]:
    """Everything that is known of a row but its map of C: paragraphs, each with its name."""
    environment, record = row.environment, row.record
    device = f"{environment.device_name(record.backend)} ({record.backend})"
    paragraphs = [
        ("Row", [f"{row.number}: {name_row(row)}, on {device}."]),
        ("Status", list(_describe_status(row))),
        ("Checked", list(_describe_check(record))),
        ("Measured", list(_describe_time(row))),
        ("How", list(_describe_method(row))),
        ("Bound", list(_describe_bound(row))),
        ("Launch", list(_describe_launch(row))),
        ("Device", list(_describe_device(row))),
        ("Load", list(describe_load(row))),
        *_describe_flags(row),
    ]
    return [(name, " ".join(sentences)) for name, sentences in paragraphs if sentences]


def _wrap(name: str, text: str, width: int) -> list[str]:
    margin = " " * _INDENT
    first = f"{name + ':':<{_INDENT}}"
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=margin, break_on_hyphens=False)


def name_row(row: Row) -> str:
    """`tiled at 4096 nn f32 TILE=16 (measured again)`."""
    record, problem = row.record, row.record.problem
    config = f" {record.configuration}" if record.config else ""
    final = " (measured again)" if record.phase == "final" and record.config else ""
    asked = f"{record.network.title} {problem.layout} {problem.precision_name}" if record.network else str(problem)
    return f"{record.variant} at {asked}{config}{final}"


def _describe_status(row: Row) -> Iterator[str]:
    explained = explain_unranked(row.record) if row.status == UNRANKED else row.record.reason
    reason = f": {explained}" if explained else ""
    yield f"{row.status}{reason}."
    if row.record.diagnosis:
        yield f"Likely cause: {row.record.diagnosis}."


def _describe_check(record: Record) -> Iterator[str]:
    if not record.checked:
        yield "no: it did not get that far."
        return
    yield f"the last check was '{record.check_rule}'."
    if record.error is not None:
        unit = "sixteenths of what rounding may do" if record.network else "units of u (|alpha| |A| |B| + |beta| |C0|)"
        yield f"Largest error {number(record.error)} of 16 allowed, in {unit}."
    if record.product_class:
        yield f"Single products are of class {record.product_class}: off by at most"
        yield f"{number(record.product_error, 3)} units in the last place."


def explain_unranked(record: Record) -> str:
    """Why a row is not ranked: by the class of its products, or by how it was timed."""
    if not record.is_of_weaker_class:
        return f"without a CUDA graph, unlike rows next to it, with which it is not ranked: {record.no_graph}"
    found, wanted = record.product_class, record.problem.precision.product_class
    words = f"{CLASSES[found].words}, " if found in CLASSES else ""
    return f"class {found}: {words}less exact than class {wanted}, with which it is not ranked"


def _describe_time(row: Row) -> Iterator[str]:
    samples, time = row.record.samples, row.time
    if not samples:
        return
    interval = f" (95 % interval {number(time.low * 1e3)} to {number(time.high * 1e3)})" if time.known else ""
    yield f"{number(time.value * 1e3)} ms per launch{interval}, {number(row.gflops)} GFLOPS."
    baseline = row.environment.baseline
    if not math.isnan(row.percent_of_baseline.value) and row.record.variant != baseline:
        yield f"{with_interval(row.percent_of_baseline)} % of {baseline}, paired by rounds{_describe_clock_share(row)}."
    least, low, high = stats.quartiles(samples)
    yield f"Fastest round {number(least * 1e3)} ms, quartiles {number(low * 1e3)} and {number(high * 1e3)},"
    yield f"{count_noun(stats.count_outliers(samples), 'outlier')} (kept)."


def _describe_clock_share(row: Row) -> str:
    """`: of the 17.1 %, -0.2 % is clock`, where the clock of both is known."""
    if math.isnan(row.clock_ratio):
        return ""
    difference = number_within(row.percent_of_baseline.value - 100, row.percent_of_baseline, 3)
    return f": of the {difference} %, {100 * (row.clock_ratio - 1):+.2f} % is clock"


def _describe_method(row: Row) -> Iterator[str]:
    record = row.record
    if not record.samples:
        return
    window = record.launches * stats.median(record.samples)
    yield f"{_describe_rounds(record)}, {_STOPPED.get(record.stopped, record.stopped)},"
    others = record.batch_rows > 1
    yield "interleaved with the other rows of its batch." if others else "with no other rows in its batch."
    launches = "1 launch" if record.launches == 1 else f"{record.launches} launches back to back"
    launches += ", as a CUDA graph" if record.graph else f" ({record.no_graph})" if record.no_graph else ""
    launches += ", each of which may begin before the one before it has ended" if record.pdl else ""
    yield f"Each round has one window of {launches}, {number(window * 1e3)} ms{_describe_gate(row)}."
    yield f"Cache {record.cache}: {_describe_sets(record)}. Data: {record.data}, seed {record.seed}."


def _describe_rounds(record: Record) -> str:
    """How the time was formed; a file without blocks has pairs of rounds."""
    rounds, blocks = f"{len(record.samples)} rounds", len(set(record.blocks))
    if not blocks:
        return f"mean of the pairs of {rounds}"
    spread = stats.spread_of_blocks(record.by_round)
    if math.isnan(spread):
        return f"median of {rounds} in {count_noun(blocks, 'block')}"
    differ = f"the slowest takes {number(100 * spread, 2)} % longer than the fastest"
    return f"mean of {blocks} blocks that differ in placement and binding ({differ}), together {rounds}"


def _describe_sets(record: Record) -> str:
    return "1 operand set" if record.sets == 1 else f"{record.sets} operand sets in rotation"


def _describe_gate(row: Row) -> str:
    if not row.environment.on_gpu(row.record.backend):
        return ""
    return ", queued behind a gate" if row.record.gated else ", without a gate, so it may contain host time"


def _describe_bound(row: Row) -> Iterator[str]:
    roof = row.roofline
    yield f"at least {number(roof.bytes * 1e-6)} MB must be moved, {number(roof.intensity)} FLOP per byte."
    if roof.bound:
        memory = roof.bound == MEMORY
        peak = "the memory bandwidth" if memory else "the peak at the measured clock"
        yield f"{'Memory' if memory else 'Compute'}-bound: reaches {number(roof.percent)} % of {peak}."
    elif row.record.samples:
        yield "The bound is unknown, because the clock or the device's rates are."


def _describe_launch(row: Row) -> Iterator[str]:
    record = row.record
    if not record.grid:
        return
    grid, block = "x".join(map(str, record.grid)), "x".join(map(str, record.block))
    yield f"grid {grid}, block {block}, {record.shared_dynamic} bytes of dynamic shared memory."
    if record.registers >= 0:
        yield f"{record.registers} registers per thread, {max(record.spills, 0)} bytes spilled,"
        yield f"{max(record.shared_static, 0)} bytes of static shared memory."
    if launch := row.launch_occupancy:
        occupancy = launch.occupancy
        yield f"In theory {occupancy.blocks_per_sm} blocks per multiprocessor, occupancy {percent(occupancy.fraction)},"
        yield f"limited by {occupancy.limiter}: {number(launch.waves)} waves,"
        yield f"the last one {percent(launch.last_wave)} full."


def _describe_device(row: Row) -> Iterator[str]:
    clocks, telemetry = row.record.clocks_hz, row.record.telemetry
    if clocks:
        yield _describe_clock(row.environment, row.clock_hz, min(clocks), max(clocks))
    if telemetry is None:
        return
    if telemetry.readings:
        yield f"NVML, {count_noun(telemetry.readings, 'reading')} meanwhile: {_describe_telemetry(telemetry)}."
    if telemetry.other_processes is not None:
        yield f"Other processes on the GPU: {telemetry.other_processes}."


def _describe_clock(environment: Environment, clock: float, low: float, high: float) -> str:
    most = f", at most {environment.clock_hz / 1e9:.3f} GHz" if environment.clock_hz else ""
    return f"SM clock {clock / 1e9:.3f} GHz by stamps in its windows ({low / 1e9:.3f} to {high / 1e9:.3f}){most}."


def _describe_telemetry(telemetry: Telemetry) -> str:
    known = [
        ("memory clock", telemetry.memory_clock_hz, 1e-9, "GHz"),
        ("temperature", telemetry.temperature, 1, "degrees C"),
        ("power", telemetry.power, 1, "W"),
    ]
    values = [f"{name} {number(value * scale)} {unit}" for name, value, scale, unit in known if value is not None]
    slowed = " and ".join(telemetry.slowed_by)
    return ", ".join([*values, f"clock held down by {slowed}" if slowed else "nothing held the clock down"])


def _describe_flags(row: Row) -> list[tuple[str, list[str]]]:
    flags = find_flags(row).items()
    return [(f"Flag {letter}", [f"{MEANINGS[letter].partition(':')[0]}: {reason}."]) for letter, reason in flags]
