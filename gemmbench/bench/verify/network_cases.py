"""Which cases a row is verified on, and which it is timed on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gemmbench.bench.operands import network_parameters as parameters
from gemmbench.bench.operands.network_parameters import Digits, Parameters
from gemmbench.bench.verify import network_reference as reference
from gemmbench.bench.verify.network_reference import Case
from gemmbench.planning.networks.network import Network
from gemmbench.planning.sweeps.options import Fill


def batch_of(digits: Digits, start: int, batch: int) -> np.ndarray:
    """`batch` inputs from number `start` on; where the digits end they begin again."""
    return digits.inputs[np.arange(start, start + batch) % len(digits.inputs)]


def verification(network: Network, given: Parameters, seed: int) -> list[Case]:
    """Exact cases on integers, then real ones: random parameters, and those of the run."""
    rng = np.random.default_rng(seed + 2)
    inputs = rng.uniform(-1, 1, (network.batch, network.sizes[0])).astype(np.float32)
    cases = [*reference.integers(network, seed + 1), Case(network, parameters.random(network, seed + 2), inputs)]
    return [*cases, timed(network, given, "uniform", seed)]


def timed(network: Network, given: Parameters, fill: Fill, seed: int) -> Case:
    """What is timed: the run's parameters, on its digits if it has some, else on `fill`."""
    if given.digits is not None:
        return Case(network, given, batch_of(given.digits, 0, network.batch))
    rng, shape = np.random.default_rng(seed), (network.batch, network.sizes[0])
    values: dict[str, Callable[[], np.ndarray]] = {
        "uniform": lambda: rng.uniform(-1, 1, shape),
        "normal": lambda: rng.standard_normal(shape),
        "zeros": lambda: np.zeros(shape),
        "ones": lambda: np.ones(shape),
        "ints": lambda: rng.choice([-2, -1, 1, 2], shape),
    }
    return Case(network, given, values[fill]().astype(np.float32))
