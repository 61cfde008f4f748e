"""The lines below all tables: how the numbers were made, and on what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gemmbench.bench.record import Environment, Record
from gemmbench.report.store import Run


def footer(run: Run) -> list[str]:
    """How the numbers were made, and on what."""
    environment = run.environment
    timed = [record for record in run.records if record.samples]
    lines = ["GFLOPS = 2 M N K / time. Time: median over interleaved rounds, one launch."]
    if run.records and run.records[0].network:
        from gemmbench.report import network

        lines = network.footer(environment, run.records)
    if timed:
        lines.append(_method(timed) + _ended(environment, timed))
    clocks = sorted(clock for record in timed for clock in record.clocks_hz)
    seen = f", clock seen {clocks[len(clocks) // 2] / 1e9:.3f} GHz" if clocks else ""
    what = "SMs" if environment.is_gpu else "cores"
    lines.append(
        f"Device: {environment.device} ({environment.backend}), {environment.sms} {what}{seen}{_set_up(environment)}."
    )
    if environment.host and any(record.backend != environment.backend for record in timed):
        lines.append(f"Rows marked cpu: {environment.host}, {environment.cores} cores.")
    if environment.software:
        lines.append(
            "Software: " + ", ".join(f"{name} {version}" for name, version in environment.software.items()) + "."
        )
    if not (run.records and run.records[0].network):
        lines.append("Error in units of u (|alpha| |A| |B| + |beta| |C0|), u the unit roundoff; 16 are allowed.")
    return lines


def _set_up(environment: Environment) -> str:
    """`, power limit 700 W, ECC on, MIG off, persistence mode on`, as far as known."""
    known = environment.conditions
    if known is None:
        return ""
    limit = f", power limit {known.power_limit:.0f} W" if known.power_limit is not None else ""
    modes = {"ECC": known.ecc, "MIG": known.mig, "persistence mode": known.persistence}
    return limit + "".join(f", {name} {'on' if on else 'off'}" for name, on in modes.items() if on is not None)


def _method(timed: Sequence[Record]) -> str:
    def span(values: Sequence[int]) -> str:
        return f"{min(values)}" if min(values) == max(values) else f"{min(values)} to {max(values)}"

    caches = Counter(record.cache for record in timed).most_common()
    cache = ", ".join(name for name, _ in caches)
    sets = span([record.sets for record in timed])
    data = timed[0]
    rounds = span([len(record.samples) for record in timed])
    one = "set" if sets == "1" else "sets in turn"
    return f"Cache: {cache} ({sets} operand {one}). Data: {data.data}, seed {data.seed}. Rounds: {rounds}."


def _ended(environment: Environment, timed: Sequence[Record]) -> str:
    """Why the rounds ended, where they could end early."""
    until = environment.policy.get("until", 0)
    if not isinstance(until, float) or not until:
        return ""
    words = {
        "until": f"within +- {100 * until:g} %",
        "rounds": "at the last round",
        "max-time": f"out of time ({environment.policy['max_time']:g} s)",
    }
    counted = Counter(record.stopped for record in timed)
    ended = [f"{counted[reason]} {said}" for reason, said in words.items() if counted[reason]]
    return f" Intervals: {', '.join(ended)}." if ended else ""
