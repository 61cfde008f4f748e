"""Flags: letters on rows whose numbers deserve a second look, with their meanings and reasons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gemmbench.bench.timing import stats
from gemmbench.report.row import Row, is_forged
from gemmbench.report.text import count_noun

_MOST_CLOCK_SPREAD = 0.02
"""The largest spread of the clock between rounds that raises no flag, as a share of the median."""
_MOST_TIME_SPREAD = 0.02
"""The widest 95 % interval of the time that raises no flag, as a share of the time."""
_MOST_TIME_SPREAD_ON_CPU = 0.2
"""The same limit on a CPU."""
_LEAST_GAP = 0.005
"""Two modes of the samples raise a flag if they are further apart than this share of the time."""
_LEAST_WINDOW = 1e-3
"""How long a window should last, in seconds."""
_TOLERANCE = 0.9  # the launches in a window are chosen from a slower window before it

_SLOWING = (
    "power cap",
    "hardware slowdown",
    "thermal slowdown by software",
    "thermal slowdown by hardware",
    "power brake",
)


MEANINGS = {
    "G": "too good: faster than the device can be, and not ranked",
    "C": f"clock moved: by more than {100 * _MOST_CLOCK_SPREAD:g} % between rounds",
    "T": "throttled: power or heat held the clock down",
    "O": "others: other processes had the GPU open",
    "N": f"noisy: the 95 % interval of the time spans more than {100 * _MOST_TIME_SPREAD:g} % of it"
    f" ({100 * _MOST_TIME_SPREAD_ON_CPU:g} % on a CPU)",
    "B": f"bimodal: the times have two modes, more than {100 * _LEAST_GAP:g} % apart",
    "F": f"few samples: fewer than {stats.MIN_BLOCKS} blocks of rounds, no interval",
    "S": f"short windows: shorter than {1e3 * _LEAST_WINDOW:g} ms",
    "H": "hot: some or all operands were in the cache",
    "R": "reads C: the kernel reads C although beta is 0, and is verified with a C that has no NaN",
    "P": "PDL: a product may begin before the previous one has ended, and the row is not ranked",
    "L": "launches unknown: gemmbench cannot find out whether its products overlap",
    "E": "one launch per product or group: the kernel takes one at a time",
    "A": "approximated: an activation may be off by more than rounding, as its manifest declares",
    "U": "ungated: some samples may include host time",
}
"""Every letter and its meaning, in the order in which rows show them."""


_NORMAL_ON_CPU = "HSB"
"""On a CPU, operands are rarely cold, the timer is fine enough for short windows, and times often have two modes."""


def find_flags(row: Row) -> dict[str, str]:
    """Find the flags of a row, each with its reason in numbers.

    A row without a valid time has none. What is normal on the device or was asked for raises no flag: with
    `--cache hot` every row is hot, and with `--no-gate` every row is ungated.
    """
    if not row.record.samples or not row.valid:
        return {}
    policy = row.environment.policy
    normal = "" if _is_on_gpu(row) else _NORMAL_ON_CPU
    normal += "H" * (policy.get("cache") == "hot") + "U" * (policy.get("gate") is False)
    found = [(letter, reason) for letter, reason in (*_flag_device(row), *_flag_samples(row)) if letter not in normal]
    return dict(sorted(found, key=lambda flag: list(MEANINGS).index(flag[0])))


def flag_letters(row: Row) -> str:
    """Return the letters of a row, such as `CT`; "" for a row without flags."""
    return "".join(find_flags(row))


def _find_meanings(rows: Iterable[Row]) -> dict[str, str]:
    """Return the meaning of each letter that these rows have."""
    letters = {letter for row in rows for letter in find_flags(row)}
    return {letter: meaning for letter, meaning in MEANINGS.items() if letter in letters}


def explain_letters(rows: Iterable[Row]) -> list[str]:
    """Explain in one line the letters that tables of these rows show; an empty list if there are none."""
    meanings = "; ".join(f"{letter} {meaning}" for letter, meaning in _find_meanings(rows).items())
    return [f"Flags: {meanings}."] if meanings else []


def name_letters(rows: Iterable[Row]) -> str:
    """Return text such as `Flags: N noisy, B bimodal`; "" if no row has a flag."""
    names = [f"{letter} {meaning.partition(':')[0]}" for letter, meaning in _find_meanings(rows).items()]
    return f"Flags: {', '.join(names)}" if names else ""


def _flag_device(row: Row) -> Iterator[tuple[str, str]]:
    record, telemetry = row.record, row.record.telemetry
    if is_forged(row.record):
        ratio = f"{row.record.elapsed_ratio:.1f}"
        yield "G", f"its windows took {ratio} times as long by gemmbench's own clock as its process reports"
    elif row.too_good:
        yield (
            "G",
            (
                "the time is shorter than the arithmetic takes at the highest clock, or shorter than the memory "
                "traffic takes"
            ),
        )
    if (share := spread(record.clocks_hz)) > _MOST_CLOCK_SPREAD:
        low, high = min(record.clocks_hz) / 1e9, max(record.clocks_hz) / 1e9
        ranged = f"the SM clock ranged from {low:.3f} to {high:.3f} GHz, {100 * share:.1f} % of its median"
        yield "C", f"{ranged}; nvidia-smi -lgc locks it"
    slowing = [name for name in telemetry.slowed_by if name in _SLOWING] if telemetry else []
    if slowing:
        yield "T", f"the clock was held down by {' and '.join(slowing)}; let the GPU cool down, or lock a lower clock"
    if telemetry and telemetry.other_processes:
        yield "O", f"NVML counted {telemetry.other_processes}; nvidia-smi lists them"


def _flag_samples(row: Row) -> Iterator[tuple[str, str]]:
    record, time = row.record, row.time
    if not time.known:
        rounds = count_noun(len(record.samples), "round")
        yield "F", f"{rounds}; an interval needs {stats.MIN_BLOCKS} blocks of at least 2 rounds (--rounds, --max-time)"
    elif (share := _time_spread(row)) > (_MOST_TIME_SPREAD if _is_on_gpu(row) else _MOST_TIME_SPREAD_ON_CPU):
        wide = f"the 95 % interval of the time spans {100 * share:.1f} % of it"
        yield "N", f"{wide}; end other programs, or measure longer (--rounds, --max-time)"
    modes = stats.find_modes(record.samples)
    if modes and modes[1] - modes[0] > _LEAST_GAP * time.value:
        texts = [f"{1e3 * seconds:.4g}" for seconds in modes]
        decimals = max(len(text.partition(".")[2]) for text in texts)
        low, high = (f"{float(text):.{decimals}f}" for text in texts)
        yield "B", f"some rounds take about {low} ms, others take about {high} ms, and none takes a time in between"
    window = time.value * record.launches
    if 0 < window < _TOLERANCE * _LEAST_WINDOW:
        yield "S", f"a window of {count_noun(record.launches, 'launch')} lasts {1e3 * window:.3g} ms"
    if not record.gated and _is_on_gpu(row):
        yield "U", "the gate was off, or opened by itself twice while a window was being queued"
    if record.pdl:
        yield "P", "it overlaps with the previous product, so a single product takes longer than the time per launch"
    if record.per_product:
        groups = sum(map(bool, record.problem.groups))
        kind, count = ("groups", groups) if groups else ("many", record.problem.count)
        together = f"a kernel computes all in one if it can and its manifest has `kinds: [one, {kind}]`"
        yield "E", f"{count} launches or calls, one for each; {together}"
    if record.approx:
        yield "A", f"the factor of the activation may be off by {record.approx:.3g} (`approx` in its manifest)"
    if record.overlap_unknown:
        yield "L", "it launches by itself and cannot be recorded as a CUDA graph, which would show its launches"
    if record.reads_c:
        yield "R", "the manifest declares `reads_c`"
    if record.cache in ("hot", "partly cold"):
        yield "H", f"the cache was {record.cache} ({record.sets} operand sets)"


def _is_on_gpu(row: Row) -> bool:
    return row.environment.on_gpu(row.record.backend)


def _time_spread(row: Row) -> float:
    """Return the width of the time's 95 % interval as a share of the time; NaN if unknown."""
    return (row.time.high - row.time.low) / row.time.value


def spread(values: Sequence[float]) -> float:
    """Return the largest minus the smallest value as a share of the median; 0 if there are no values."""
    return (max(values) - min(values)) / stats.median(values) if values else 0.0
