"""Which math cuBLAS computes f32 with: the faster one, found by a short measurement.

Pedantic math restricts cuBLAS to fewer kernels than default math. Neither uses tensor cores. Kernels
are compared with the faster of the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median

from gemmbench.backends.cuda.launching.window import Calls
from gemmbench.backends.cuda.libraries.variants import DEFAULT
from gemmbench.planning.problems import Problem

_ROUNDS = 16
_SECONDS = 0.5

ColdTimer = Callable[[], float]
"""Seconds of one launch on operands that are not in the cache."""


class MathChoice:
    """Keeps the faster math of each shape, whatever its alpha and beta, so that all its rows use the same."""

    def __init__(self, make_timer: Callable[[Calls], ColdTimer]):
        self._make_timer, self._chosen = make_timer, dict[tuple[object, ...], str]()

    def choose(self, problem: Problem, candidates: Mapping[str, Calls]) -> str:
        """The name of the fastest candidate. Raises what a launch raises."""
        shape = _find_shape(problem)
        if shape not in self._chosen:
            self._chosen[shape] = self._measure(candidates)
        return self._chosen[shape]

    def recall(self, problem: Problem) -> str:
        """What was chosen for a shape; default math if nothing was."""
        return self._chosen.get(_find_shape(problem), DEFAULT)

    def _measure(self, candidates: Mapping[str, Calls]) -> str:
        """Times each in mirrored rounds, the first of which is not counted."""
        timers = {name: self._make_timer(calls) for name, calls in candidates.items()}
        samples: dict[str, list[float]] = {name: [] for name in candidates}
        spent = 0.0
        for number in range(_ROUNDS):
            for name in sorted(candidates, reverse=number % 2 == 1):
                seconds = timers[name]()
                samples[name].append(seconds)
                spent += seconds
            if number >= 2 and spent > _SECONDS:
                break
        return min(samples, key=lambda name: median(samples[name][1:]))


def _find_shape(problem: Problem) -> tuple[object, ...]:
    return problem.M, problem.N, problem.K, problem.layout
