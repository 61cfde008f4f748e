"""The policy of a sweep says how it measures: data, cache, rounds, and when to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from gemmbench.errors import SpecError, UsageError
from gemmbench.planning.manifests.variant import ALL, Params
from gemmbench.planning.precisions import Precision
from gemmbench.planning.sweeps.run_request import OPTIONS, SHARE, Cache, Fill, Measuring
from gemmbench.planning.yaml_document import Document, Path

Written = TypeVar("Written")
Checked = TypeVar("Checked")


@dataclass(frozen=True)
class ConfigReader:
    """A config file as it is written. Its keys are checked when they are used."""

    document: Document

    def check(self, path: Path, check: Callable[[Written], Checked], written: Written) -> Checked:
        """Return the value at `path` in the config file after checking it. Raises SpecError at its line."""
        try:
            return check(written)
        except SpecError:
            raise
        except UsageError as fault:
            raise self.document.error_at(path, str(fault)) from None

    def check_items(
        self, path: Path, check: Callable[[Written], Sequence[Checked]], written: Iterable[Written]
    ) -> list[Checked]:
        """Check every item of a list. An item may stand for several values."""
        lists = [self.check((*path, index), check, item) for index, item in enumerate(written)]
        return [value for values in lists for value in values]

    def choose(self, given: Checked | None, path: Path, check: Callable[[Any], Checked], written: object) -> Any:
        """Return the given value or else the checked value of the config, which may be None."""
        return given if given is not None or written is None else self.check(path, check, written)

    def choose_names(
        self, given: tuple[str, ...], key: str, parse: Callable[[Any], tuple[str, ...]], written: list[str]
    ) -> tuple[str, ...]:
        """Return the given names or else those that the config lists, each once. An empty list is refused."""
        listed = given or tuple(dict.fromkeys(self.check_items((key,), lambda name: parse([name]), written)))
        return listed or self.check((key,), parse, written)

    def read_params(self, path: Path, written: object) -> Params:
        """Read parameters, each with a value or a list of values, or `all`. Raises SpecError."""
        if written == ALL:
            return {ALL: ()}
        if not isinstance(written, Mapping):
            raise self.document.error_at(path, f"{path[0]}: '{written}' should be `all` or names with values")
        return {name: self.check((*path, name), _check_values, (name, values)) for name, values in written.items()}


def _check_values(named: tuple[str, Any]) -> tuple[int, ...]:
    """Return the values of a parameter without duplicates. Raises UsageError for anything but integers."""
    name, values = named
    values = values if isinstance(values, list) else [values]
    if not values or any(type(value) is not int for value in values):
        raise UsageError(f"{name}: {values} should be integers, such as [64, 128]")
    return tuple(dict.fromkeys(values))


SUSTAINED_SECONDS = float(OPTIONS["sustained"].bare or 0)


_CONFIG_TYPES: Mapping[Any, Any] = {int: int, float: int | float, bool: bool, SHARE: int | float | str}


_CONFIG_KEYS = [each for each in OPTIONS.values() if each.in_config]


def _make_model() -> type[msgspec.Struct]:
    """Make the key `measure` of a config, which has a key for each option that declares one."""
    lines = "".join(f"    {each.name}: {each.in_config}\n" for each in _CONFIG_KEYS)
    described = [
        (each.name, Literal[each.kind] if isinstance(each.kind, tuple) else _CONFIG_TYPES[each.kind], each.usual)
        for each in _CONFIG_KEYS
    ]
    return msgspec.defstruct(
        "MeasureModel",
        [(name, kind | None if usual is None else kind, usual) for name, kind, usual in described],
        forbid_unknown_fields=True,
        namespace={"__doc__": f"The key `measure` of a config.\n\nAttributes:\n{lines}", "__module__": __name__},
    )


if TYPE_CHECKING:
    MeasureModel = Any
else:
    MeasureModel = _make_model()


@dataclass(frozen=True)
class Policy:
    """How to measure.

    A plan is measured in at most `rounds` rounds and `max_time` seconds of timing. It stops once its 95 % interval is
    narrower than +- `until` of its value (0: it never stops early). `window` is the least number of seconds in a timed
    window. `gate` says whether launches queue behind a gate, and `pdl` whether products may overlap if a manifest
    allows it. `sustained` is the seconds of steady load for each row (0: none, None: by precision). `peaks` says
    whether to measure the device's peaks before the first plan. With `audit_once`, a plan is audited only after its
    last block, which needs a fixed number of rounds.
    """

    cache: Cache = "cold"
    data: Fill = OPTIONS["data"].usual
    seed: int = OPTIONS["seed"].usual
    rounds: int = 96
    max_time: float = OPTIONS["max_time"].usual
    window: float = 1e-3
    gate: bool = OPTIONS["gate"].usual
    pdl: bool = OPTIONS["pdl"].usual
    sustained: float | None = None
    until: float = 0.005
    peaks: bool = OPTIONS["peaks"].usual
    audit_once: bool = False

    def choose_sustained(self, precision: Precision) -> float:
        """Return the seconds of steady load for a row of this precision on a GPU. It matters near the power limit."""
        if self.sustained is not None:
            return self.sustained
        return SUSTAINED_SECONDS if precision.peak.of_tensor_cores else 0.0


_CPU_ROUNDS = 10
"""Five blocks of two rounds, the fewest for a usual interval, since these times say nothing about a GPU."""


def make_policy(given: Measuring, reader: ConfigReader, written: MeasureModel, on_cpu: bool) -> Policy:
    """Make the policy from the command line and the config. Raises UsageError or SpecError.

    Without `until`, `rounds` is the number of rounds to measure, not a limit, and on the command line it replaces the
    `until` of the config. The CPU device has cheaper defaults: a hot cache, ten rounds and one audit.
    """

    chosen = {
        key.name: reader.choose(getattr(given, key.name), ("measure", key.name), key.check, getattr(written, key.name))
        for key in _CONFIG_KEYS
    }
    if given.rounds is not None and given.until is None:
        chosen["until"] = None
    usual = Policy(cache="hot" if on_cpu else "cold")
    is_short = on_cpu and chosen["rounds"] is None and chosen["until"] is None
    if is_short:
        chosen["rounds"] = _CPU_ROUNDS
    if chosen["until"] is None:
        chosen["until"] = usual.until if chosen["rounds"] is None else 0.0
    decided = {name: value for name, value in chosen.items() if value is not None}
    return replace(usual, **decided, gate=given.gate, pdl=given.pdl, audit_once=is_short)
