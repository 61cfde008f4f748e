"""The policy of a sweep: how it measures. Data, cache, rounds, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from gemmbench.errors import SpecError, UsageError
from gemmbench.planning.manifests.variant import ALL, Params
from gemmbench.planning.precisions import Precision
from gemmbench.planning.sizes import check_digits
from gemmbench.planning.sweeps.overrides import Cache, Fill, SweepOverrides, parse_share
from gemmbench.planning.yaml_document import Document, Path

Written = TypeVar("Written")
Checked = TypeVar("Checked")


@dataclass(frozen=True)
class ConfigReader:
    """A config file as it is written, and what the command line changes."""

    document: Document
    options: SweepOverrides

    def check(self, path: Path, check: Callable[[Written], Checked], written: Written) -> Checked:
        """Return the checked value of the config file at `path`. Raises SpecError at its line."""
        try:
            return check(written)
        except SpecError:
            raise
        except UsageError as fault:
            raise self.document.error_at(path, str(fault)) from None

    def check_items(
        self, path: Path, check: Callable[[Written], list[Checked]], written: Iterable[Written]
    ) -> list[Checked]:
        """Check every item of a list, each of which may mean several values, and drop duplicates."""
        lists = [self.check((*path, index), check, item) for index, item in enumerate(written)]
        return list(dict.fromkeys(value for values in lists for value in values))

    def choose(self, path: Path, check: Callable[[Any], Checked], written: object) -> Checked:
        """Return the checked option named like the last key of `path`, or else the config's value."""
        given = getattr(self.options, str(path[-1]))
        return check(given) if given is not None else self.check(path, check, written)

    def choose_names(self, key: str, parse: Callable[[Any], list[str]], written: list[str]) -> list[str]:
        """Return the names of an option, or those that the config lists; an empty list is refused."""
        given = getattr(self.options, key)
        if given is not None:
            return parse(given)
        return self.check_items((key,), lambda name: parse([name]), written) or self.check((key,), parse, written)

    def read_params(self, path: Path, written: object) -> Params:
        """Parameters with a value or a list of values each, or `all`. Raises SpecError."""
        if written == ALL:
            return {ALL: ()}
        if not isinstance(written, Mapping):
            raise self.document.error_at(path, f"{path[0]}: '{written}' should be `all` or names with values")
        return {name: self.check((*path, name), _check_values, (name, values)) for name, values in written.items()}


def _check_values(named: tuple[str, Any]) -> tuple[int, ...]:
    """Return the values of a parameter, each once. Raises UsageError for what is not an integer."""
    name, values = named
    values = values if isinstance(values, list) else [values]
    if not values or any(type(value) is not int for value in values):
        raise UsageError(f"{name}: {values} should be integers, such as [64, 128]")
    return tuple(dict.fromkeys(values))


SUSTAINED_SECONDS = 4.0
_LEAST_SUSTAINED, _MOST_SUSTAINED = 1, 60


class MeasureModel(msgspec.Struct, forbid_unknown_fields=True):
    """The key `measure` of a config.

    Attributes:
        cache: `cold`: rotate operand sets so that nothing stays in the L2 cache. `hot`: reuse two sets,
            which have B in common. Empty: cold; hot on the CPU device.
        data: Contents of A and B: `uniform` in [-1, 1], `normal`, `zeros`, `ones` or small `ints`.
        seed: Seed of the data.
        rounds: Number of rounds; with `until`, the maximum. They count over all blocks. Empty: 96; on the
            CPU device 10, unless `until` is given.
        until: Measure until the 95 % interval is within this share of the value, such as `0.5%`.
            Empty: 0.5%, unless `rounds` is given; on the CPU device all rounds are measured.
        max_time: Maximum seconds of timing per kernel and problem.
        sustained: Seconds of steady load for each row, which measure its speed, power and energy on
            a GPU; 0: none. Empty: 4 where tensor cores compute the products, else 0.
        peaks: Whether to measure what a GPU reaches at best too: copies in its memory, and
            multiply-adds in registers. A roofline then has measured limits.
    """

    cache: Cache | None = None
    data: Fill = "uniform"
    seed: int = 0
    rounds: int | None = None
    until: int | float | str | None = None
    max_time: int | float = 5.0
    sustained: int | float | None = None
    peaks: bool = False


@dataclass(frozen=True)
class Policy:
    """How to measure.

    A plan is measured in at most `rounds` rounds and `max_time` seconds of timing, and stops once
    its 95 % interval is narrower than +- `until` of its value (0: it never stops early). `window`
    is the minimum of seconds in a timed window, `gate` whether launches queue behind a gate, and
    `pdl` whether products may overlap where a manifest says so. `sustained` is the seconds of steady
    load for each row (0: none, None: by precision), and `peaks` whether to measure the device's
    peaks before the first plan. With `audit_once` a plan is audited after its last block only, which needs
    a fixed number of rounds.
    """

    cache: Cache = "cold"
    data: Fill = "uniform"
    seed: int = 0
    rounds: int = 96
    max_time: float = 5.0
    window: float = 1e-3
    gate: bool = True
    pdl: bool = False
    sustained: float | None = None
    until: float = 0.005
    peaks: bool = False
    audit_once: bool = False

    def choose_sustained(self, precision: Precision) -> float:
        """Seconds of steady load for a row of this precision on a GPU: of most use near the power limit."""
        if self.sustained is not None:
            return self.sustained
        return SUSTAINED_SECONDS if precision.peak.of_tensor_cores else 0.0


_CPU_ROUNDS = 10
"""Five blocks of two rounds: the least from which an interval is usual, where times say nothing about a GPU."""


def make_policy(reader: ConfigReader, written: MeasureModel, on_cpu: bool) -> Policy:
    """Return the policy of the command line and the config. Raises UsageError or SpecError.

    `rounds` without `until` is the number of rounds to measure, not a limit. What is not given is less on the CPU
    device: a hot cache, ten rounds and one audit.
    """

    def choose(key: str, check: Callable[[Any], Checked]) -> Checked:
        return reader.choose(("measure", key), check, getattr(written, key))

    usual = Policy(cache="hot" if on_cpu else "cold")
    rounds, until = choose("rounds", _check_rounds), choose("until", _parse_share)
    is_short = on_cpu and rounds is None and until is None
    if is_short:
        rounds = _CPU_ROUNDS
    if until is None:
        until = usual.until if rounds is None else 0.0
    return Policy(
        cache=reader.options.cache or written.cache or usual.cache,
        data=reader.options.data or written.data,
        seed=choose("seed", check_seed),
        rounds=usual.rounds if rounds is None else rounds,
        max_time=choose("max_time", _check_time),
        gate=reader.options.gate,
        pdl=reader.options.pdl,
        sustained=choose("sustained", _check_sustained),
        until=until,
        peaks=written.peaks if reader.options.peaks is None else reader.options.peaks,
        audit_once=is_short,
    )


def check_seed(seed: int) -> int:
    """Return a seed. Raises UsageError if it is negative, or too long for a results file."""
    check_digits("seed", seed)
    if seed < 0:
        raise UsageError(f"seed: {seed} is negative; give 0 or more")
    return seed


def _check_rounds(rounds: int | None) -> int | None:
    check_digits("rounds", rounds or 0)
    if rounds is not None and rounds < 1:
        raise UsageError(f"rounds: {rounds} is below 1; give at least 1 (4 for an interval)")
    return rounds


def _parse_share(share: float | str | None) -> float | None:
    """Return a share written as `0.5%` or `0.005`; None stays None."""
    if share is None:
        return None
    value = parse_share(share)
    if math.isnan(value):
        raise UsageError(f"until: '{share}' is not a share; write 0.5% or 0.005, or 0 for all rounds")
    return value


def _check_time(seconds: float) -> float:
    if not 0 < seconds < math.inf:
        raise UsageError(f"max_time: {seconds} s leaves no time; give a positive number of seconds")
    return float(seconds)


def _check_sustained(seconds: float | None) -> float | None:
    if seconds is None:
        return None
    if seconds and not _LEAST_SUSTAINED <= seconds <= _MOST_SUSTAINED:
        limits = f"{_LEAST_SUSTAINED} to {_MOST_SUSTAINED}"
        raise UsageError(f"sustained: {seconds:g} s; give seconds of steady load for each row, {limits} (0: none)")
    return float(seconds)
