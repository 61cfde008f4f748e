"""The cases that a network row is verified and timed on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gemmbench.bench.operands.network_parameters import Digits, Parameters, make_random_parameters
from gemmbench.bench.verify import network_reference as reference
from gemmbench.bench.verify.network_reference import Case
from gemmbench.planning.networks import Network
from gemmbench.planning.sweeps.overrides import Fill


def take_batch(digits: Digits, start: int, batch: int) -> np.ndarray:
    """`batch` inputs from number `start` on; after the last digit it continues with the first."""
    return digits.inputs[np.arange(start, start + batch) % len(digits.inputs)]


def verification_cases(network: Network, given: Parameters, seed: int) -> list[Case]:
    """Exact cases on integers, then real ones with random parameters and with those of the run."""
    rng = np.random.default_rng(seed + 2)
    inputs = rng.uniform(-1, 1, (network.batch, network.sizes[0])).astype(np.float32)
    cases = [
        *reference.exact_cases(network, seed + 1),
        Case(network, make_random_parameters(network, seed + 2), inputs),
    ]
    return [*cases, timed_case(network, given, "uniform", seed)]


def timed_case(network: Network, given: Parameters, fill: Fill, seed: int) -> Case:
    """The case that is timed: the run's parameters, on its digits if any, else on `fill`."""
    if given.digits is not None:
        return Case(network, given, take_batch(given.digits, 0, network.batch))
    rng, shape = np.random.default_rng(seed), (network.batch, network.sizes[0])
    values: dict[str, Callable[[], np.ndarray]] = {
        "uniform": lambda: rng.uniform(-1, 1, shape),
        "normal": lambda: rng.standard_normal(shape),
        "zeros": lambda: np.zeros(shape),
        "ones": lambda: np.ones(shape),
        "ints": lambda: rng.choice([-2, -1, 1, 2], shape),
    }
    return Case(network, given, values[fill]().astype(np.float32))
