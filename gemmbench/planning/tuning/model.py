"""First the configurations that a model of earlier results expects to be fast, with Optuna's TPE.

The method is Bergstra et al., "Algorithms for Hyper-Parameter Optimization" (NIPS 2011).
"""

from __future__ import annotations

import importlib
import math
from typing import Any

from gemmbench.errors import UsageError
from gemmbench.planning.tuning.space import Configuration, SearchSpace, find_nearest

_RANDOM_FIRST = 10
"""So many are chosen at random, as Optuna does by default."""


class ModelSearch:
    """Asks for the untried configuration that is nearest to what the model suggests.

    The model sees the logarithm of the seconds over the number of each value among its axis' sorted values.
    Raises UsageError if Optuna is not installed.
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
        """The next one that was neither asked for nor told."""
        if not self._left:
            return None
        trial = self._study.ask(self._axes)
        # The suggestion may be forbidden or known; the trial that counts is added when its result is told.
        self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return self._left.pop(find_nearest(tuple(trial.params[name] for name in self._axes), self._left))

    def tell(self, configuration: Configuration, seconds: float | None) -> None:
        """Add a result to the model; one that failed only leaves the list."""
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
        raise UsageError("the strategy 'model' needs Optuna: pip install 'gemmbench[tune]'") from None
