"""Values of a sweep: taken from the command line, or else from the config file.

Every value is checked here, so that an error in a value of the config file names its line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from gemmbench.errors import SpecError, UsageError
from gemmbench.planning.manifests.variant import ALL, Params
from gemmbench.planning.sweeps.overrides import SweepOverrides
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
        return {name: self.check((*path, name), check_values, (name, values)) for name, values in written.items()}


def check_values(named: tuple[str, Any]) -> tuple[int, ...]:
    """Return the values of a parameter, each once. Raises UsageError for what is not an integer."""
    name, values = named
    values = values if isinstance(values, list) else [values]
    if not values or any(type(value) is not int for value in values):
        raise UsageError(f"{name}: {values} should be integers, such as [64, 128]")
    return tuple(dict.fromkeys(values))
