"""A search space: the configurations that a manifest allows, and where each lies on its axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from gemmbench.errors import UsageError

Configuration = Mapping[str, int]
Place = tuple[int, ...]
"""For each axis, the number of the value among the sorted values."""


@dataclass(frozen=True)
class SearchSpace:
    """The allowed configurations, without duplicates. Raises UsageError if there is none."""

    configurations: tuple[Configuration, ...]

    def __post_init__(self) -> None:
        if not self.configurations:
            raise UsageError("no configuration to search; choose other values of the parameters")

    @cached_property
    def axes(self) -> dict[str, list[int]]:
        """The sorted values of every parameter that has several."""
        values = {name: sorted({each[name] for each in self.configurations}) for name in self.configurations[0]}
        return {name: sorted_values for name, sorted_values in values.items() if len(sorted_values) > 1}

    def find_place(self, configuration: Configuration) -> Place:
        """Where a configuration lies."""
        return tuple(values.index(configuration[name]) for name, values in self.axes.items())

    @cached_property
    def by_place(self) -> dict[Place, Configuration]:
        """The configurations by their places."""
        return {self.find_place(each): each for each in self.configurations}


def find_nearest(place: Place, places: Iterable[Place]) -> Place:
    """The place that differs on the fewest axes, and of these by the fewest values."""

    def distance(other: Place) -> tuple[int, int]:
        steps = [abs(a - b) for a, b in zip(place, other, strict=True)]
        return sum(map(bool, steps)), sum(steps)

    return min(places, key=distance)
