"""One row in sentences: what was measured and how, what bounds it, why each flag, and the command that repeats it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from gemmbench.bench.record import Environment, Record
from gemmbench.bench.timing import stats
from gemmbench.errors import UsageError, nearest
from gemmbench.report.beside import Beside, beside
from gemmbench.report.comparison import Row, groups
from gemmbench.report.flags import MEANINGS, flags
from gemmbench.report.occupation import occupation
from gemmbench.report.repeat import command
from gemmbench.report.roofline import MEMORY
from gemmbench.report.store import Run
from gemmbench.report.tables import number, with_interval
from gemmbench.report.wide import percent

_LISTED = 12
_WIDTH = 110
_INDENT = 10
_STOPPED = {
    "until": "then its interval was narrow enough (--until)",
    "rounds": "as many as --rounds asks for or allows",
    "max-time": "no more in the time allowed (--max-time)",
    "interrupted": "then it was interrupted",
    "failed": "then it failed",
}


def find(run: Run, wanted: str) -> Row:
    """The row of that number, or the only one of that `VARIANT` or `VARIANT@SIZE`. Raises UsageError."""
    rows = [row for group in groups(run) for row in group.rows]
    if wanted.isdecimal():
        if not 1 <= int(wanted) <= len(rows):
            raise UsageError(f"--explain {wanted}: {run.path.name} has rows 1 to {len(rows)}")
        return rows[int(wanted) - 1]
    name, _, size = wanted.partition("@")
    named = [row for row in rows if row.record.variant == name]
    if not named:
        known = list(dict.fromkeys(row.record.variant for row in rows))
        raise UsageError(f"--explain: no row of '{name}'{nearest(name, known)}; {run.path.name} has {', '.join(known)}")
    found = [row for row in named if not size or row.record.problem.size == size]
    if len(found) == 1:
        return found[0]
    if not found:
        sizes = ", ".join(dict.fromkeys(row.record.problem.size for row in named))
        raise UsageError(f"--explain: no row {wanted}; {name} was asked for at {sizes}")
    listed = "; ".join(f"{row.number}: {_name(row.record)}" for row in found[:_LISTED])
    more = f"; and {len(found) - _LISTED} more (--wide numbers them)" if len(found) > _LISTED else ""
    raise UsageError(f"--explain {wanted}: {len(found)} rows; name one by its number: {listed}{more}")


def told(run: Run, row: Row) -> list[str]:
    """All that is known of a row, line by line."""
    environment, record = run.environment, row.record
    facts = beside(environment, row)
    paragraphs = [
        ("Row", [f"{row.number}: {_name(record)}, {_where(environment, record)}."]),
        ("Status", list(_status(row))),
        ("Checked", list(_checked(record))),
        ("Measured", list(_measured(environment, row))),
        ("How", list(_how(environment, record))),
        ("Bound", list(_bound(row, facts))),
        ("Launch", list(_launch(environment, record))),
        ("Device", list(_device(environment, row, facts))),
        ("Energy", list(_energy(record, facts))),
        *((f"Flag {letter}", [f"{MEANINGS[letter].partition(':')[0]}: {why}."]) for letter, why in flags(row).items()),
    ]
    lines = [line for name, sentences in paragraphs if sentences for line in _wrapped(name, " ".join(sentences))]
    drawn = [" " * _INDENT + line for line in record.wrong_map.splitlines()]
    return [*lines, *drawn, f"{'Again:':<{_INDENT}}{command(environment, record)}"]


def _wrapped(name: str, text: str) -> list[str]:
    margin = " " * _INDENT
    first = f"{name + ':':<{_INDENT}}"
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=margin, break_on_hyphens=False)


def _name(record: Record) -> str:
    config = f" {record.configuration}" if record.config else ""
    final = " (measured again)" if record.phase == "final" and record.config else ""
    problem = record.problem
    named = f"{record.network.title} {problem.layout} {problem.precision_name}" if record.network else str(problem)
    return f"{record.variant} at {named}{config}{final}"


def _where(environment: Environment, record: Record) -> str:
    here = record.backend == environment.backend
    return f"on {environment.device if here else environment.host or 'the CPU'} ({record.backend})"


def _status(row: Row) -> Iterator[str]:
    reason = f": {row.record.reason}" if row.record.reason else ""
    yield f"{row.status}{reason}."
    if row.record.diagnosis:
        yield f"Likely cause: {row.record.diagnosis}."


def _checked(record: Record) -> Iterator[str]:
    if not record.checked:
        yield "no: it did not come so far."
        return
    yield f"the last rule that judged it is '{record.check_rule}'."
    if record.error is not None:
        unit = "sixteenths of what rounding may do" if record.network else "units of u (|alpha| |A| |B| + |beta| |C0|)"
        yield f"Largest error {number(record.error)} of 16 allowed, in {unit}."


def _measured(environment: Environment, row: Row) -> Iterator[str]:
    samples, time = row.record.samples, row.time
    if not samples:
        return
    interval = f" (95 % interval {number(time.low * 1e3)} to {number(time.high * 1e3)})" if time.known else ""
    yield f"{number(time.value * 1e3)} ms a launch{interval}, {number(row.gflops)} GFLOPS."
    if not math.isnan(row.percent.value) and row.record.variant != environment.baseline:
        yield f"{with_interval(row.percent)} % of {environment.baseline}, paired by rounds."
    least, low, high = stats.quartiles(samples)
    yield (
        f"Fastest round {number(least * 1e3)} ms, quartiles {number(low * 1e3)} and {number(high * 1e3)},"
        f" {stats.outliers(samples)} outliers (kept)."
    )


def _how(environment: Environment, record: Record) -> Iterator[str]:
    if not record.samples:
        return
    window = record.launches * stats.median(record.samples)
    yield f"median of {len(record.samples)} rounds, {_STOPPED.get(record.stopped, record.stopped)},"
    yield "interleaved with those of the other rows of its batch." if record.batch_rows > 1 else "alone in its batch."
    many = "es back to back" if record.launches > 1 else ""
    queued = _gate(environment, record)
    yield f"In a round one window of {record.launches} launch{many}, {number(window * 1e3)} ms{queued}."
    yield f"Cache {record.cache}: {record.sets} operand sets in turn. Data: {record.data}, seed {record.seed}."


def _gate(environment: Environment, record: Record) -> str:
    if not environment.on_gpu(record.backend):
        return ""
    return ", queued behind a gate" if record.gated else ", without a gate, so that host time may be in it"


def _bound(row: Row, facts: Beside) -> Iterator[str]:
    moved, intensity = number(facts.bytes_least * 1e-6), number(facts.flop_per_byte)
    yield f"at the least {moved} MB must move, {intensity} FLOP for each byte."
    if facts.bound:
        what = "The memory's bandwidth" if facts.bound == MEMORY else "Arithmetic at the clock seen"
        yield f"{what} bounds it, and {number(facts.percent_of_bound)} % of that bound are reached."
    elif row.record.samples:
        yield "The clock or the rates of this device are not known, so neither is the bound."


def _launch(environment: Environment, record: Record) -> Iterator[str]:
    if not record.grid:
        return
    sizes = "x".join(map(str, record.grid)), "x".join(map(str, record.block))
    yield f"grid {sizes[0]}, block {sizes[1]}, {record.shared_dynamic} bytes of dynamic shared memory."
    if record.registers >= 0:
        yield f"{record.registers} registers a thread, {max(record.spills, 0)} bytes spilled,"
        yield f"{max(record.shared_static, 0)} bytes of static shared memory."
    if filled := occupation(environment, record):
        found = filled.occupancy
        yield (
            f"In theory {found.blocks_per_sm} blocks a multiprocessor, occupancy {percent(found.fraction)},"
            f" limited by {found.limiter}: {number(filled.waves)} waves, the last one {percent(filled.last_wave)} full."
        )


def _device(environment: Environment, row: Row, facts: Beside) -> Iterator[str]:
    if facts.clock_low_hz is not None and facts.clock_high_hz is not None:
        span = f"{facts.clock_low_hz / 1e9:.3f} to {facts.clock_high_hz / 1e9:.3f}"
        most = f", at most {environment.clock_hz / 1e9:.3f} GHz" if environment.clock_hz else ""
        yield f"SM clock {row.clock_hz / 1e9:.3f} GHz by stamps in its windows ({span}){most}."
    telemetry = row.record.telemetry
    if telemetry is None:
        return
    known = [
        ("memory clock", telemetry.memory_clock_hz, 1e-9, "GHz"),
        ("temperature", telemetry.temperature, 1, "degrees C"),
        ("power", telemetry.power, 1, "W"),
    ]
    said = [f"{name} {number(value * unit)} {of}" for name, value, unit, of in known if value is not None]
    if telemetry.readings:
        yield f"NVML, asked {telemetry.readings} times meanwhile: {', '.join([*said, _held(telemetry.slowed_by)])}."
    if telemetry.other_processes is not None:
        yield f"Other processes on the GPU: {telemetry.other_processes}."


def _held(slowed: list[str]) -> str:
    return f"clock held down by {' and '.join(slowed)}" if slowed else "nothing held the clock down"


def _energy(record: Record, facts: Beside) -> Iterator[str]:
    telemetry = record.telemetry
    if telemetry and telemetry.energy and telemetry.energy_power:
        yield f"{number(telemetry.energy)} J a launch, {number(facts.gflops_per_w)} GFLOPS per watt,"
        yield f"from {number(telemetry.energy_seconds)} s of nothing else, at {number(telemetry.energy_power)} W."
