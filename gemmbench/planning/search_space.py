"""The search space of `tune`: configurations, strategies that order them, budgets, and the rows of a `pick`."""

from __future__ import annotations

import importlib
import math
import random
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

from gemmbench.errors import UsageError, nearest, write_pip_line
from gemmbench.planning.manifests.variant import Candidate, Variant
from gemmbench.planning.plans.expansion import list_rows, make_plans
from gemmbench.planning.plans.plan import Config, Plan, Target
from gemmbench.planning.plans.skip_reasons import Refusal
from gemmbench.planning.problems import Problem
from gemmbench.planning.sizes import check_digits

Configuration = Mapping[str, int]
Place = tuple[int, ...]
"""For each axis, the index of a value among the sorted values."""


@dataclass(frozen=True)
class SearchSpace:
    """The allowed configurations without duplicates. Raises UsageError if there are none."""

    configurations: tuple[Configuration, ...]

    def __post_init__(self) -> None:
        if not self.configurations:
            raise UsageError("no configuration to search; choose other values of the parameters")

    @cached_property
    def axes(self) -> dict[str, list[int]]:
        """The sorted values of every parameter that has several values."""
        values = {name: sorted({each[name] for each in self.configurations}) for name in self.configurations[0]}
        return {name: sorted_values for name, sorted_values in values.items() if len(sorted_values) > 1}

    def find_place(self, configuration: Configuration) -> Place:
        """Return the place of a configuration."""
        return tuple(values.index(configuration[name]) for name, values in self.axes.items())

    @cached_property
    def by_place(self) -> dict[Place, Configuration]:
        """The configurations by place."""
        return {self.find_place(each): each for each in self.configurations}


def find_nearest(place: Place, places: Iterable[Place]) -> Place:
    """Return the place that differs on the fewest axes or, among equals, by the fewest steps."""

    def distance(other: Place) -> tuple[int, int]:
        steps = [abs(a - b) for a, b in zip(place, other, strict=True)]
        return sum(map(bool, steps)), sum(steps)

    return min(places, key=distance)


class ExhaustiveSearch:
    """Asks for every configuration in order. The `seed` has no effect."""

    learns = False

    def __init__(self, space: SearchSpace, seed: int) -> None:
        self._space = space
        self._left = dict(space.by_place)

    def ask(self) -> Configuration | None:
        """Return the next configuration that has been neither asked for nor told."""
        return self._left.pop(next(iter(self._left))) if self._left else None

    def tell(self, configuration: Configuration, seconds: float | None) -> None:
        """Remove a configuration from those that are left."""
        self._left.pop(self._space.find_place(configuration), None)


class RandomSearch(ExhaustiveSearch):
    """Asks for every configuration in an order that depends only on the seed."""

    def __init__(self, space: SearchSpace, seed: int) -> None:
        shuffled = random.Random(seed).sample(space.configurations, len(space.configurations))
        super().__init__(SearchSpace(tuple(shuffled)), seed)


_RANDOM_FIRST = 10
"""The number of configurations to choose at random first, which is Optuna's default."""


class ModelSearch:
    """Asks for the untried configuration that is nearest to the model's suggestion.

    The model fits the logarithm of the seconds to the index of each value among the sorted values of its axis. Raises
    UsageError if Optuna is not installed.
    """

    learns = True

    def __init__(self, space: SearchSpace, seed: int) -> None:
        self._optuna = _import_optuna()
        self._optuna.logging.set_verbosity(self._optuna.logging.ERROR)
        sampler = self._optuna.samplers.TPESampler(seed=seed, multivariate=True, n_startup_trials=_RANDOM_FIRST)
        self._study = self._optuna.create_study(sampler=sampler)
        self._space = space
        self._left = dict(space.by_place)
        integers = self._optuna.distributions.IntDistribution
        self._axes = {name: integers(0, len(values) - 1) for name, values in space.axes.items()}

    def ask(self) -> Configuration | None:
        """Return the next configuration that has been neither asked for nor told."""
        if not self._left:
            return None
        trial = self._study.ask(self._axes)
        # The suggestion may be forbidden or known; the trial that counts is added when its result is told.
        self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return self._left.pop(find_nearest(tuple(trial.params[name] for name in self._axes), self._left))

    def tell(self, configuration: Configuration, seconds: float | None) -> None:
        """Add a result to the model. A failed configuration is only removed from those that are left."""
        place = self._space.find_place(configuration)
        self._left.pop(place, None)
        if seconds is not None:
            params = dict(zip(self._axes, place, strict=True))
            trial = self._optuna.trial.create_trial(params=params, distributions=self._axes, value=math.log(seconds))
            self._study.add_trial(trial)


def _import_optuna() -> Any:
    try:
        return importlib.import_module("optuna")  # an extra, which takes a second to import
    except ImportError:
        raise UsageError(f"the strategy 'model' needs Optuna: {write_pip_line('tune')}") from None


_LEAST_CONFIGURATIONS, _LEAST_SECONDS = 2, 1.0
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_WRITTEN = re.compile(r"(\d+(?:\.\d+)?)\s*([smh]?)")


@dataclass(frozen=True)
class Budget:
    """The seconds for a command with all its searches, and the number of configurations that each search may try.

    The time starts when the budget is created, at `started` on the monotonic clock.
    """

    seconds: float = math.inf
    configurations: int | None = None
    started: float = field(default_factory=time.monotonic, compare=False)

    def count(self, space: int) -> int:
        """Return how many configurations of a space a search may try."""
        return space if self.configurations is None else min(space, self.configurations)

    def share(self, searches: int) -> float:
        """Divide the seconds that are left after planning equally among the searches."""
        left = self.seconds - (time.monotonic() - self.started)
        return max(left, 0.0) / max(searches, 1)


def parse_budget(text: str | None) -> Budget:
    """Parse `90s`, `5m`, `1h` or a number of configurations. None means no limit. Raises UsageError."""
    if text is None:
        return Budget()
    check_digits("--budget", text)
    found = _WRITTEN.fullmatch(text.strip())
    if found is None or not (found[2] or found[1].isdecimal()):
        raise UsageError(
            f"cannot parse --budget '{text[:40]}'; write a time such as 90s, 5m or 1h, or a number such as 200"
        )
    if not found[2]:
        count = int(found[1])
        if count < _LEAST_CONFIGURATIONS:
            raise UsageError(
                f"--budget {count}: a search compares at least {_LEAST_CONFIGURATIONS} configurations; give at "
                "least that many"
            )
        return Budget(configurations=count)
    seconds = float(found[1]) * _UNITS[found[2]]
    if seconds < _LEAST_SECONDS:
        raise UsageError(f"--budget {text}: too short for one round of windows; give at least {_LEAST_SECONDS:g}s")
    return Budget(seconds=seconds)


class Strategy(Protocol):
    """Chooses what to try next.

    `ask` returns an untried configuration, or None if all have been asked for or told. `tell` takes a configuration,
    asked for or not, and its seconds, or None if it failed. If a strategy `learns`, what it asks for depends on what it
    was told.
    """

    learns: bool

    def ask(self) -> Configuration | None: ...

    def tell(self, configuration: Configuration, seconds: float | None) -> None: ...


STRATEGIES: dict[str, Callable[[SearchSpace, int], Strategy]] = {
    "exhaustive": ExhaustiveSearch,
    "random": RandomSearch,
    "model": ModelSearch,
}


def choose_strategy(name: str | None, budget: Budget) -> str:
    """Return the name of the strategy. The default is `random` with a budget, which may end a search early."""
    return name or ("exhaustive" if budget == Budget() else "random")


def make_strategy(name: str, space: SearchSpace, seed: int) -> Strategy:
    """Make the strategy with this name. Raises UsageError if the name is unknown or a library is missing."""
    if name not in STRATEGIES:
        raise UsageError(f"unknown strategy '{name}'{nearest(name, STRATEGIES)}; choose {', '.join(STRATEGIES)}")
    return STRATEGIES[name](space, seed)


Scores = Mapping[Problem, Mapping[Candidate, float]]
"""The logarithm of each candidate's time at each problem, relative to the same candidate at each problem."""


def find_row(
    problem: Problem, variant: Variant, device: str, targets: Mapping[str, Target], why_refused: Refusal
) -> int | None:
    """Return the number of the row that computes a problem; None if there is none. See make_plans for the arguments."""
    for number in list_rows(problem, variant, device, targets):
        chosen = [(replace(variant, picks=(variant.picks[number],), costs=()), [Config()])]
        (plan,) = make_plans([problem], chosen, device, targets, why_refused)
        if isinstance(plan, Plan):
            return number
    return None


def choose_candidate(
    problems: Sequence[Problem], scores: Scores, is_allowed: Callable[[str], bool]
) -> Candidate | None:
    """Return the candidate that is fastest over all problems, by the geometric mean of its speed relative to the best.

    Candidates must be of allowed variants and have run at all these problems. Returns None if there is none.
    """
    known = [set(scores.get(problem, {})) for problem in problems]
    complete = [each for each in set.intersection(*known) if is_allowed(each[0])] if known else []
    return min(sorted(complete), key=lambda each: sum(scores[problem][each] for problem in problems), default=None)


def choose_held_out(rows: Mapping[int, Sequence[Problem]], share: float, seed: int) -> set[Problem]:
    """Choose the problems to hold out: this share of each row's problems, but never all of them."""
    rng, held = random.Random(seed), set[Problem]()
    for problems in rows.values():
        count = min(round(share * len(problems)), len(problems) - 1)
        if not count and share and len(problems) > 1:
            count = int(rng.random() < share * len(problems))
        held |= set(rng.sample(list(problems), count))
    return held
