"""Explains one row: how it was measured, what bounds it, its flags, and the command that repeats it."""

from __future__ import annotations

import math
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any

from gemmbench.bench.record import Environment, Ranking, Record, Sustained, Telemetry
from gemmbench.bench.timing import stats
from gemmbench.errors import UsageError, nearest_or_all
from gemmbench.planning.files import results_stem
from gemmbench.planning.precisions import CLASSES
from gemmbench.planning.sizes import parse_sizes
from gemmbench.planning.sweeps.run_request import OPTIONS, Destination
from gemmbench.report.comparison import Comparison
from gemmbench.report.flags import MEANINGS, find_flags
from gemmbench.report.row import MEMORY, UNRANKED, Row
from gemmbench.report.store.recorded_run import Run
from gemmbench.report.text import count_noun, number, percent, with_interval


def _describe_load(row: Row) -> Iterator[str]:
    """Describe the speed, clock, power and energy under a steady load; yields nothing if there was none."""
    found = row.record.sustained
    if found is None:
        return
    yield f"{number(1e3 * found.time)} ms per launch, {number(row.sustained_gflops / 1e3)} TFLOPS,"
    yield f"alone under a steady load ({count_noun(len(found.own), 'block')}, {number(found.seconds, 3)} s in all)."
    if found.baseline:
        yield f"{number(row.sustained_percent)} % of {row.environment.baseline}, in neighbouring blocks"
        yield f"({number(row.percent_of_baseline.value)} % in interleaved windows)."
    yield from _describe_sensors(found)
    if not math.isnan(found.joules):
        yield f"{number(found.joules)} J per launch, {number(row.record.flops / found.joules / 1e9)} GFLOPS per watt."


def _describe_sensors(found: Sustained) -> Iterator[str]:
    known = [
        ("SM clock", found.clock_hz, 1e-9, "GHz"),
        ("power", found.watts, 1, "W"),
        ("temperature", math.nan if found.temperature is None else found.temperature, 1, "degrees C"),
    ]
    values = [f"{name} {number(value * scale)} {unit}" for name, value, scale, unit in known if not math.isnan(value)]
    slowed = [f"clock held down by {' and '.join(found.slowed_by)}"] if found.slowed_by else []
    if values or slowed:
        text = ", ".join([*values, *slowed])
        yield f"{text[0].upper()}{text[1:]}."
    if not found.settled:
        yield "Clock, power or temperature were still changing when counting began."


_POLICY = ("rounds", "until", "max_time")
_KEPT = ("--device", "--kernels", "--weights", "--config", "-c")
"""Options that appear only in the run's command, because rows do not record them."""


def rerun_command(environment: Environment, record: Record) -> str:
    """Return a `gemmbench run` command with every option that the row depends on. It also measures the baseline."""
    words = _network_command(record) if record.network else _gemm_command(record)
    config = {} if record.picked else record.config  # the variant that was picked brings its own parameters
    policy = environment.policy
    options = {
        "params": config,
        "cache": record.cache and ("hot" if record.cache == "hot" else "cold"),
        "data": record.data if record.data != "digits" else None,
        "seed": record.seed,
        **{name: f"{policy[name]:g}" for name in _POLICY if policy.get(name)},
        "sustained": f"{policy['sustained']:g}" if "sustained" in policy else None,
        "baseline": environment.baseline,
        "gate": policy.get("gate") is not False,
        "pdl": bool(policy.get("pdl")),
    }
    return shlex.join([*words, *_write_options(options), *_keep_options(environment, record)])


def _write_options(options: Mapping[str, Any]) -> list[str]:
    """Write options as words of a command line; empty values are left out."""
    return [word for name, value in options.items() for word in OPTIONS[name].write(None if value == "" else value)]


def _gemm_command(record: Record) -> list[str]:
    problem = record.problem
    scalars = {"alpha": f"{problem.alpha:.17g}", "beta": f"{problem.beta:.17g}"}
    shape = {"sizes": problem.shape.size, "precisions": problem.precision_name, "layouts": problem.layout}
    form = {name: ",".join(value) if isinstance(value, tuple) else value for name, value in problem.form.items()}
    return ["gemmbench", "run", record.variant, *_write_options({**shape, **scalars, **form})]


def _network_command(record: Record) -> list[str]:
    return ["gemmbench", "mlp", record.variant, "--batch", str(record.problem.M)]


def _keep_options(environment: Environment, record: Record) -> list[str]:
    """Return the options to keep from the run's command. The device is always among them."""
    kept = {"--device": environment.backend, **_read_options(environment.command)}
    if not record.network:  # the row of a GEMM records all that a config sets
        kept.pop("--config", None)
        kept.pop("-c", None)
    return [word for pair in kept.items() for word in pair]


def find_recorded_option(environment: Environment, name: str) -> str | None:
    """Return the value of an option in a run's command, or None for an option that the rows record."""
    return _read_options(environment.command).get(name)


def _read_options(command: str) -> dict[str, str]:
    """Return the options of a command that rows do not record."""
    typed = _split_command(command)
    found: dict[str, str] = {}
    for word, following in zip_longest(typed, typed[1:], fillvalue=""):
        name, assigned, value = word.partition("=")
        if name in _KEPT and (assigned or following):
            found[name] = value if assigned else following
    return found


def _split_command(command: str) -> list[str]:
    """Split a recorded command into words. Commands in old files may have unbalanced quotes."""
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


_WIDEST = 110
_INDENT = 10
_STOPPED = {
    "until": "enough for its interval (--until)",
    "beaten": "enough to be clearly slower than the winner",
    "rounds": "as many as --rounds allows",
    "max-time": "all that the time limit allowed (--max-time)",
    "interrupted": "then it was interrupted",
    "failed": "then it failed",
}


def explain_row(row: Row, width: int | None = None) -> list[str]:
    """Explain all that is known about a row in lines of at most `width` characters (None: no limit)."""
    record, width = row.record, min(width or _WIDEST, _WIDEST)
    lines = [line for name, text in explain_in_paragraphs(row) for line in _wrap(name, text, width)]
    drawn = [" " * _INDENT + line for line in record.wrong_map.splitlines()]
    return [*lines, *drawn, f"{'Again:':<{_INDENT}}{rerun_command(row.environment, record)}"]


def explain_in_paragraphs(row: Row) -> list[tuple[str, str]]:
    """Explain all that is known about a row, except its map of C, as pairs of a name and a paragraph."""
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
        ("Load", list(_describe_load(row))),
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
    final = " (measured again)" if record.phase == "final" else ""
    asked = f"{record.network.title} {problem.layout} {problem.precision_name}" if record.network else str(problem)
    return f"{record.variant} at {asked}{config}{final}"


def _describe_status(row: Row) -> Iterator[str]:
    explained = explain_unranked(row.record) if row.status == UNRANKED else row.record.reason
    reason = f": {explained}" if explained else ""
    yield f"{row.status}{reason}."
    if row.record.diagnosis:
        yield f"Likely cause: {row.record.diagnosis}."


_ALLOWED_ERROR = 16


def _describe_check(record: Record) -> Iterator[str]:
    if not record.checked:
        yield "no: it did not get that far."
        return
    passed = "every check passed; " if record.status == "ok" else ""
    yield f"{passed}the last check was '{record.check_rule}'."
    if record.error is not None:
        unit = "sixteenths of the allowed rounding error" if record.network else "u (|alpha| |A| |B| + |beta| |C0|)"
        beyond = record.error > _ALLOWED_ERROR
        words = f"more than the {_ALLOWED_ERROR} that are allowed" if beyond else f"{_ALLOWED_ERROR} are allowed"
        yield f"Largest error: {number(record.error)} {unit}; {words}."
    if record.product_class:
        yield f"Single products are of class {record.product_class}: they are off by at most"
        yield f"{number(record.product_error, 3)} units in the last place."


def explain_unranked(record: Record) -> str:
    """Explain why a row is not ranked: because of the class of its products or the way it was timed."""
    if not record.is_of_weaker_class:
        return "overlapping with the previous product, so it is not ranked with other rows"
    found, wanted = record.product_class, record.problem.precision.product_class
    words = f"{CLASSES[found].words}, " if found in CLASSES else ""
    return f"class {found}: {words}less exact than class {wanted}, so it is not ranked"


def _describe_time(row: Row) -> Iterator[str]:
    samples, time = row.record.samples, row.time
    if not samples:
        return
    interval = f" (95 % interval {number(time.low * 1e3)} to {number(time.high * 1e3)})" if time.known else ""
    caveat, baseline = row.environment.caveat, row.environment.baseline
    speed = caveat or f"{number(row.gflops)} GFLOPS"
    yield f"{number(time.value * 1e3)} ms per launch{interval}, {speed}."
    if not caveat and not math.isnan(row.percent_of_baseline.value) and row.record.variant != baseline:
        yield f"{with_interval(row.percent_of_baseline)} % of {baseline}, paired by rounds{_compare_clock(row)}."
    least, low, high = stats.quartiles(samples)
    yield f"Fastest round {number(least * 1e3)} ms, quartiles {number(low * 1e3)} and {number(high * 1e3)},"
    yield f"{count_noun(stats.count_outliers(samples), 'outlier')} (kept)."


def _compare_clock(row: Row) -> str:
    """Return text such as `, at a clock 0.20 % lower`; "" if a clock is unknown."""
    if math.isnan(row.clock_ratio):
        return ""
    percent = 100 * (row.clock_ratio - 1)
    return f", at a clock {abs(percent):.2f} % {'lower' if percent < 0 else 'higher'}"


def _describe_method(row: Row) -> Iterator[str]:
    record = row.record
    if not record.samples:
        return
    window = record.launches * stats.median(record.samples)
    yield f"{_describe_rounds(record)}, {_STOPPED.get(record.stopped, record.stopped)},"
    others = record.batch_rows > 1
    yield "interleaved with the other rows of its batch." if others else "with no other rows in its batch."
    launches = count_noun(record.launches, "launch") + " back to back" * (record.launches > 1)
    launches += ", as a CUDA graph" if record.graph else f" ({record.no_graph})" if record.no_graph else ""
    launches += ", which may begin before the previous product has ended" if record.pdl else ""
    launches += ", which may have begun before the previous product had ended" if record.overlap_unknown else ""
    yield f"Each round has one window of {launches}, {number(window * 1e3)} ms{_describe_gate(row)}."
    yield f"Cache {record.cache}: {_describe_sets(record)}. Data: {record.data}, seed {record.seed}."
    if record.packages:
        yield f"Packages: {', '.join(f'{name} {version}' for name, version in record.packages.items())}."
    if record.setup_seconds:
        yield f"Preparing B took {number(record.setup_seconds * 1e3)} ms, which is not part of the time."
    if record.ranking:
        yield _describe_ranking(record.ranking)


def _describe_rounds(record: Record) -> str:
    """Describe how the time was computed from the rounds."""
    rounds, blocks = count_noun(len(record.samples), "round"), len(set(record.blocks))
    spread = stats.spread_of_blocks(record.by_round)
    if math.isnan(spread):
        return f"median of {rounds} in {count_noun(blocks, 'block')}"
    differ = f"the slowest takes {number(100 * spread, 2)} % longer than the fastest"
    text = f"mean of {count_noun(blocks, 'block')} of rounds, each of which places operands and binds kernels anew"
    return f"{text} ({differ}); {rounds} in all"


def _describe_ranking(ranking: Ranking) -> str:
    """Describe how the configuration was chosen."""
    times = " and ".join(number(each * 1e3) for each in ranking.best)
    found = f"; the two shortest times were {times} ms" if len(ranking.best) == 2 else ""
    chosen = count_noun(len(ranking.shortlist), "configuration")
    return f"One of {chosen} that short loads chose from {ranking.tried}{found}."


def _describe_sets(record: Record) -> str:
    return "1 operand set" if record.sets == 1 else f"{record.sets} operand sets in rotation"


def _describe_gate(row: Row) -> str:
    if not row.environment.on_gpu(row.record.backend):
        return ""
    return ", queued behind a gate" if row.record.gated else ", without a gate, so it may include host time"


def _describe_bound(row: Row) -> Iterator[str]:
    roof = row.roofline
    yield f"at least {number(roof.bytes * 1e-6)} MB must be moved, {number(roof.intensity)} FLOP per byte."
    if roof.bound:
        memory = roof.bound == MEMORY
        peak = "the memory bandwidth" if memory else "the peak at the measured clock"
        yield f"{'Memory' if memory else 'Compute'}-bound: reaches {number(roof.percent)} % of {peak}."
    elif row.record.samples:
        yield "The bound is unknown, because the clock or the device's rates are unknown."


def _describe_launch(row: Row) -> Iterator[str]:
    record = row.record
    if not record.grid:
        return
    grid, block = "x".join(map(str, record.grid)), "x".join(map(str, record.block))
    yield f"grid {grid}, block {block}, {count_noun(record.shared_dynamic, 'byte')} of dynamic shared memory."
    if record.registers >= 0:
        yield f"{count_noun(record.registers, 'register')} per thread,"
        yield f"{count_noun(max(record.spills, 0), 'byte')} spilled,"
        yield f"{count_noun(max(record.shared_static, 0), 'byte')} of static shared memory."
    if launch := row.launch_occupancy:
        occupancy = launch.occupancy
        yield f"In theory {count_noun(occupancy.blocks_per_sm, 'block')} per multiprocessor,"
        yield f"occupancy {percent(occupancy.fraction)},"
        yield f"limited by {occupancy.limiter}: {number(launch.waves)} waves,"
        yield f"the last one {percent(launch.last_wave)} full."


def _describe_device(row: Row) -> Iterator[str]:
    clocks, telemetry = row.record.clocks_hz, row.record.telemetry
    if clocks:
        yield _describe_clock(row.environment, row.clock_hz, min(clocks), max(clocks))
    if telemetry is None:
        return
    if telemetry.readings:
        yield f"NVML, {count_noun(telemetry.readings, 'reading')} while it ran: {_describe_telemetry(telemetry)}."
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


_MOST_LISTED = 12


def find_row(comparison: Comparison, wanted: str) -> Row:
    """Find a row by its number, or the only row of KERNEL or KERNEL@SIZE. Raises UsageError."""
    rows, file = comparison.rows, comparison.run.path.name
    if wanted.isdecimal():
        if not 1 <= int(wanted) <= len(rows):
            raise UsageError(f"--explain {wanted}: {file} has rows 1 to {len(rows)}")
        return rows[int(wanted) - 1]
    name, _, size = wanted.partition("@")
    named = [row for row in rows if row.record.variant == name]
    if not named:
        known = (row.record.variant for row in rows)
        raise UsageError(f"--explain: no row of '{name}'{nearest_or_all(name, known, f'{file} has', 'gemmbench show')}")
    with suppress(UsageError):  # 512x512x512 means 512, as in --sizes
        size = ",".join(shape.size for shape in parse_sizes(size))
    found = [row for row in named if size in ("", row.record.problem.shape.size, row.record.problem.size)]
    if not found:
        sizes = ", ".join(dict.fromkeys(row.record.problem.size for row in named))
        raise UsageError(f"--explain: no row {wanted}; sizes of {name}: {sizes}")
    if len(found) > 1:
        known_sizes = list(dict.fromkeys(row.record.problem.size for row in found))
        by_size = f" or size, such as {name}@{known_sizes[0]}" if len(known_sizes) > 1 else ""
        raise UsageError(
            f"--explain {wanted}: {len(found)} rows; choose one by its number{by_size}: {_list_rows(found)}"
        )
    return found[0]


def write_explain_command(run: Run, row: Row) -> str:
    """Return the command that explains a row, such as `gemmbench show 1f3a --explain tiled@64`; "" without a file."""
    if run.path == Path():
        return ""
    stem, record = results_stem(run.path), row.record
    has_id = run.path.parent.resolve() == Destination.folder.resolve() and stem == run.environment.run
    file = stem.rpartition("-")[2] if has_id else str(run.path)
    alike = {each.identity for each in run.full_records if _label(each) == _label(record)}
    name = _label(record) if len(alike) == 1 else str(row.number)
    return shlex.join(["gemmbench", "show", file, "--explain", name])


def _label(record: Record) -> str:
    return f"{record.variant}@{record.problem.size}"


def _list_rows(rows: Sequence[Row]) -> str:
    listed = "; ".join(f"{row.number}: {name_row(row)}" for row in rows[:_MOST_LISTED])
    more = len(rows) - _MOST_LISTED
    return f"{listed}; and {more} more (--wide numbers them)" if more > 0 else listed
