"""The winners of searches: configurations that are kept, and used again where everything they depend on is the same.

They are in winners.json, in $GEMMBENCH_DATA_DIR or the user's data folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from tempfile import NamedTemporaryFile

import msgspec
from platformdirs import user_data_path

from gemmbench.backends import registry
from gemmbench.backends.cache.artifacts import content_key
from gemmbench.backends.machine import Machine
from gemmbench.bench.fleet.carried import collect_files
from gemmbench.bench.search.goals import TIME
from gemmbench.errors import StoreError
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Config, Plan, Skip
from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.sweeps.planned_sweep import PlannedSweep

FORMAT = 1


class Conditions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a winner depends on.

    Attributes:
        device: Name of the device.
        driver: Version of its driver; empty on a CPU.
        compiler: Version of the compiler.
        code: A hash of the kernel's file and of its local headers.
        problem: Sizes, layout, precision, alpha and beta, in words.
        variant: Name of the variant.
        goal: `time`, `energy` or `sustained`.
    """

    device: str
    driver: str
    compiler: str
    code: str
    problem: str
    variant: str
    goal: str


class Winner(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A configuration that won.

    Attributes:
        conditions: What it depends on.
        config: Its parameters.
        seconds: Seconds of one launch.
        percent_of_baseline: Percent of the baseline; None without one.
        final: Whether it was measured in full; a search that was interrupted may have only short loads.
        tried: Configurations that were tried.
        date: When the search ended.
    """

    conditions: Conditions
    config: dict[str, int]
    seconds: float
    percent_of_baseline: float | None = None
    final: bool = True
    tried: int = 0
    date: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    format: int
    winners: list[Winner]


def winners_path() -> Path:
    """Where winners are kept."""
    folder = os.environ.get("GEMMBENCH_DATA_DIR")
    return (Path(folder) if folder else user_data_path("gemmbench")) / "winners.json"


def describe_conditions(machine: Machine, variant: Variant, problem: Problem, goal: str) -> Conditions:
    """What a winner found now depends on."""
    software = machine.primary.software
    files = collect_files([variant]).files
    parts = [text for path in sorted(files) for text in (Path(path).name, files[path].decode(errors="replace"))]
    return Conditions(
        device=machine.primary.name,
        driver=software.get("driver", ""),
        compiler=software.get("nvcc") or software.get("compiler", ""),
        code=content_key(parts or [variant.text]),
        problem=str(problem),
        variant=variant.name,
        goal=goal,
    )


def read_winners() -> list[Winner]:
    """All that are kept. Raises StoreError for a file that cannot be read."""
    path = winners_path()
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as fault:
        raise StoreError(f"{path}: {fault.strerror}") from None
    try:
        kept = msgspec.json.decode(content, type=_File)
    except msgspec.DecodeError as fault:
        raise StoreError(f"{path}: {fault}; delete the file, and tune again") from None
    if kept.format != FORMAT:
        raise StoreError(f"{path}: format {kept.format} is not {FORMAT}; delete the file, and tune again")
    return kept.winners


def keep_winners(found: Iterable[Winner]) -> Path:
    """Add winners, in place of those with the same conditions; returns the file. Raises StoreError."""
    by_conditions = {each.conditions: each for each in read_winners()}
    by_conditions |= {each.conditions: each for each in found}
    return _write(list(by_conditions.values()))


def forget_winners(is_forgotten: Callable[[Winner], bool]) -> int:
    """Delete winners; returns how many. Raises StoreError."""
    winners = read_winners()
    kept = [winner for winner in winners if not is_forgotten(winner)]
    if len(kept) < len(winners):
        _write(kept)
    return len(winners) - len(kept)


def find_winner(winners: Sequence[Winner], conditions: Conditions) -> Config | None:
    """The configuration that won under these conditions."""
    found = next((each for each in winners if each.conditions == conditions), None)
    return Config(tuple(found.config.items())) if found else None


def use_winners(planned: PlannedSweep, machine: Machine) -> PlannedSweep:
    """The same sweep, in which a variant without parameters takes the configuration that won at a problem.

    Raises StoreError.
    """
    winners = [winner for winner in read_winners() if winner.conditions.goal == TIME]
    free = {choice.name for choice in planned.sweep.choices if not choice.params and choice.row is None}

    def choose(item: Plan | Skip) -> Plan | Skip:
        variant, problem = item.variant, item.problem
        if not winners or variant.name not in free or not variant.params:
            return item
        config = find_winner(winners, describe_conditions(machine, variant, problem, TIME))
        if config is None:
            return item
        chosen, primary = [(variant, [config])], machine.choice.primary
        (plan,) = make_plans([problem], chosen, primary, machine.targets, registry.why_refused)
        return plan

    return replace(planned, expansion=list(map(choose, planned.expansion)))


def encode_winners(winners: Sequence[Winner]) -> bytes:
    """The text of the file."""
    return msgspec.json.format(msgspec.json.encode(_File(FORMAT, list(winners))), indent=2) + b"\n"


def name_today() -> str:
    """Now, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _write(winners: Sequence[Winner]) -> Path:
    """Write the file at once: another process reads the old or the new one."""
    path = winners_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=path.parent, prefix=path.stem, delete=False) as draft:
            draft.write(encode_winners(winners))
        Path(draft.name).replace(path)
    except OSError as fault:
        raise StoreError(f"{path}: {fault.strerror}; name another folder in GEMMBENCH_DATA_DIR") from None
    return path
