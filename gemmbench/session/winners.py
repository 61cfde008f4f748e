"""The file of the best known configurations, by device, driver, compiler, code and problem.

The file is in the user's data folder or in $GEMMBENCH_DATA_DIR. `tune` writes it, and `run --tuned` reads it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from platformdirs import user_data_path

from gemmbench.backends.base import Device
from gemmbench.backends.code_cache import content_key
from gemmbench.backends.devices import Machine
from gemmbench.backends.locks import hold_lock
from gemmbench.backends.sources import inline_text
from gemmbench.bench.record import Environment
from gemmbench.bench.timing import stats
from gemmbench.bench.tuning.outcome import GOALS, SearchOutcome, compare_values
from gemmbench.errors import PlanError, StoreError
from gemmbench.planning.files import exists, is_file
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Config
from gemmbench.planning.plans.skip_reasons import choose_backend
from gemmbench.planning.problems import Problem
from gemmbench.report.export import encode_json, replace_file, write_text
from gemmbench.report.tables.search_tables import SCHEMA, Winner, WinnersFile

_FILE = "tuned.json"
_MOST_NAMED = 5


@dataclass(frozen=True)
class KeptWinners:
    """The path of the file, the winners that were `added`, and the earlier ones that `stayed` instead of new ones."""

    path: Path
    added: Sequence[Winner]
    stayed: Sequence[Winner]


def winners_path() -> Path:
    """Return the path of the file, whether or not it exists."""
    chosen = os.environ.get("GEMMBENCH_DATA_DIR")
    return (Path(chosen) if chosen else user_data_path("gemmbench")) / _FILE


def read_winners(path: Path | None = None) -> list[Winner]:
    """Read the winners from the file; an empty list if there is no file. Raises StoreError."""
    path = path or winners_path()
    if exists(path) and not is_file(path):  # reading a FIFO would wait for ever
        raise StoreError(f"{path}: cannot be read: it is not a file; remove it")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as fault:
        raise StoreError(f"{path}: cannot be read: {fault.strerror}") from None
    try:
        file = msgspec.json.decode(content, type=WinnersFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise StoreError(f"{path}: broken: {fault}; repair it, or delete it and tune again") from None
    if file.schema > SCHEMA:
        raise StoreError(f"{path}: written by a newer gemmbench (schema {file.schema}); upgrade gemmbench")
    return file.winners


def keep_winners(new: Sequence[Winner], was_tried: Callable[[Winner], bool] = lambda winner: True) -> KeptWinners:
    """Add winners to the file, replacing those with the same key. Raises StoreError.

    If the new search did not try the configuration of an earlier winner (`was_tried`), it is replaced only by something
    better.
    """
    added, stayed = list[Winner](), list[Winner]()

    def add(winners: list[Winner]) -> list[Winner]:
        earlier = {each.key: each for each in winners}
        for each in new:
            old = earlier.get(each.key)
            stays = old is not None and not was_tried(old) and old.is_better(each)
            stayed.extend([old] if old and stays else [])
            added.extend([] if stays else [each])
        keys = {each.key for each in added}
        return [*(each for each in winners if each.key not in keys), *added]

    return KeptWinners(change_winners(add), added, stayed)


def change_winners(change: Callable[[list[Winner]], list[Winner]]) -> Path:
    """Apply `change` to the winners and replace the file atomically. Raises StoreError."""
    path = winners_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with hold_lock(path.with_suffix(".lock")):
            replace_file(path, _encode(change(read_winners(path))))
    except OSError as fault:
        raise StoreError(
            f"{path}: cannot be written: {fault.strerror}; set GEMMBENCH_DATA_DIR to another folder"
        ) from None
    return path


def export_winners(winners: Sequence[Winner], path: Path) -> None:
    """Write winners to another file in the same format. Raises StoreError."""
    write_text(path, _encode(winners))


def _encode(winners: Sequence[Winner]) -> str:
    return encode_json(msgspec.to_builtins(WinnersFile(winners=list(winners))))


def make_winner(outcome: SearchOutcome, device: Device, environment: Environment) -> Winner | None:
    """Return the winner of a search; None if there is none, as when the search was interrupted before its finals."""
    if (best := outcome.winner) is None:
        return None
    interval = stats.time_interval(best.by_round)
    known = outcome.goal == "time" and interval.known
    anchor = outcome.find_anchor(best)
    return Winner(
        **identify_code(outcome.task.candidates[0].variant, device),
        problem=best.problem,
        goal=outcome.goal,
        config=dict(best.config),
        value=GOALS[outcome.goal](best),
        low=interval.low if known else None,
        high=interval.high if known else None,
        percent_of_baseline=100 * compare_values(outcome.goal, best, anchor).value if anchor else None,
        baseline=anchor.variant if anchor else "",
        ties=[dict(each.config) for each in outcome.ties],
        tried=outcome.tried,
        space=len(outcome.task.candidates),
        run=environment.run,
        caveat=environment.caveat,
    )


def identify_code(variant: Variant, device: Device) -> dict[str, Any]:
    """Return the fields of a Winner that identify its device, versions and code."""
    software = device.software
    return {
        "device": device.name,
        "sms": device.target.sms,
        "driver": software.get("driver", ""),
        "compiler": software.get("nvcc", software.get("compiler", "")),
        "variant": variant.name,
        "code": content_key([_read_code(variant, software)]),
    }


def _read_code(variant: Variant, software: Mapping[str, str]) -> str:
    if variant.is_library:
        return repr(sorted(software.items()))
    try:
        return inline_text(variant)
    except PlanError:  # a header is missing, which its compiler will say
        return variant.text


@dataclass
class TunedConfigs:
    """Provides the best known configurations to run instead of the defaults. `missing` lists what has no winner."""

    winners: Sequence[Winner]
    machine: Machine
    missing: list[str] = field(default_factory=list)

    def find(self, variant: Variant, problem: Problem) -> Config | None:
        """Return the best known configuration, or None. If there are winners for several goals, the newest counts."""
        device = self.machine.devices.get(choose_backend(variant, self.machine.choice.primary, self.machine.targets))
        if device is None or not variant.params:
            return None
        wanted = identify_code(variant, device)
        names = [name for name, _ in variant.params]
        for winner in reversed(self.winners):
            same = all(getattr(winner, name) == value for name, value in wanted.items())
            if same and winner.problem == problem and sorted(names) == sorted(winner.config):
                return Config(tuple((name, winner.config[name]) for name in names))
        self.missing.append(f"{variant.name} at {problem}")
        return None

    def describe_missing(self) -> str:
        """Describe what has no winner, such as `tiled at 64 nn f32 and 8 more`."""
        names = list(dict.fromkeys(self.missing))
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        return f"{', '.join(names[:_MOST_NAMED])}{more}"
