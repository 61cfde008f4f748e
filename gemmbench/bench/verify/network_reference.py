"""The reference of a network: the correct outputs, and the cases on which its rows are verified and timed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import ml_dtypes
import numpy as np

from gemmbench.bench.operands.network_parameters import Digits, Parameters, make_random_parameters
from gemmbench.bench.verify.reference import Check
from gemmbench.bench.verify.wrong_result import ROUNDING_FACTOR
from gemmbench.planning.networks import Network
from gemmbench.planning.sweeps.run_request import Fill

_KEPT = (64, 32, 16, 8, 4, 2)
"""How many weights of an output are not 0 in the exact check of a precision of few bits; the first that stays exact."""
_SPREAD = 16.0  # range of the exact check's last sums, so that no probability underflows
_TINY = 1e-37
_SUM = 1e-5


@dataclass(frozen=True)
class ExpectedOutputs:
    """The outputs (batch x outputs, float64), and the largest difference allowed in a float32 result."""

    outputs: np.ndarray
    bound: np.ndarray

    def check(self, got: np.ndarray, rule: str) -> Check:
        """Check a result. Its error is in sixteenths of the bound."""
        got = got.astype(np.float64)
        with np.errstate(invalid="ignore"):
            difference = np.abs(got - self.outputs)
            right = difference <= self.bound  # false for NaN
        share = np.divide(difference, self.bound, out=np.where(difference > 0, math.inf, 0.0), where=self.bound > 0)
        error = float(np.max(share)) * ROUNDING_FACTOR if np.isfinite(got).all() else math.inf
        if right.all():
            return Check(True, rule, error)
        return Check(False, rule, error, _describe(got, self.outputs, ~right))


def _describe(got: np.ndarray, want: np.ndarray, wrong: np.ndarray) -> str:
    i, j = (int(index) for index in np.argwhere(wrong)[0])
    first = f"first Y[{i}][{j}] = {got[i, j]:.9g}, should be {want[i, j]:.9g}"
    share = f"{int(wrong.sum())} of {wrong.size} outputs wrong, {first}"
    if np.isnan(got).all():
        return f"{share}: never written"
    rows = np.flatnonzero(wrong.any(axis=1))
    return f"{share}: only rows from {rows[0]} on; look at the guard on the batch" if rows[0] > len(got) // 2 else share


def propagate(network: Network, parameters: Parameters, inputs: np.ndarray, exact: bool = False) -> ExpectedOutputs:
    """Compute the outputs for `inputs` (batch x inputs). If `exact`, only softmax rounds.

    Inputs and parameters are rounded to the precision of the network, in which every layer stores its outputs, once or
    before a pass too.
    """
    precision, kind = network.problem.precision, network.storage.numpy_type()
    stored = 2 * precision.result_unit * precision.rounds_result
    limits: Any = ml_dtypes.finfo(kind)  # type: ignore[no-untyped-call]
    step = float(limits.smallest_subnormal) * precision.rounds_result
    h, error = inputs.astype(kind).astype(np.float64), np.zeros(inputs.shape)
    for w, b, activation in zip(parameters.weights, parameters.biases, network.activations, strict=True):
        wide, bias = (each.astype(kind).astype(np.float64) for each in (w, b))
        unit = precision.accumulator.unit(len(wide))
        error = np.sqrt(error**2 @ wide**2)
        sums, total = h @ wide, h @ wide + bias
        if not exact:
            error = error + ROUNDING_FACTOR * unit * (np.abs(h) @ np.abs(wide) + np.abs(bias))
            error = error + stored * (np.abs(sums) + np.abs(total)) + 2 * step
        h = total
        if activation == "relu":
            error = np.where(h + error < 0, 0, error)
            h = np.maximum(h, 0)
    if network.activations[-1] == "softmax":
        return _softmax(h, error, 2 * stored, max(_TINY, 2 * step))
    return ExpectedOutputs(h, error + 2 * 2.0**-24 * np.abs(h) * (not exact))


def _softmax(z: np.ndarray, error: np.ndarray, stored: float, step: float) -> ExpectedOutputs:
    powers = np.exp(z - z.max(axis=1, keepdims=True))
    outputs = powers / powers.sum(axis=1, keepdims=True)
    moved = np.expm1(2 * error.max(axis=1, keepdims=True))  # the error changes every exponent, and their sum
    rounded = (2 * ROUNDING_FACTOR + z.shape[1]) * 2.0**-24  # rounding of the exponentials, their sum and the quotient
    rounded += stored
    return ExpectedOutputs(outputs, outputs * (moved + rounded) + step)


def _check_sums(network: Network, got: np.ndarray) -> Check:
    """Check that the probabilities of each row add up to 1."""
    if network.activations[-1] != "softmax":
        return Check(True, "sum")
    off = got.astype(np.float64).sum(axis=1) - 1
    most = _SUM + 4 * network.problem.precision.result_unit * network.problem.precision.rounds_result
    if (np.abs(off) <= most).all():
        return Check(True, "sum")
    row = int(np.argmax(~(np.abs(off) <= most)))
    return Check(False, "sum", math.inf, f"the probabilities of row {row} add up to {1 + off[row]:.9g}, not 1")


@dataclass(frozen=True)
class Case:
    """Parameters and inputs (batch x inputs, float32) of a network, and the expected outputs."""

    network: Network
    parameters: Parameters
    inputs: np.ndarray
    exact: bool = False

    @cached_property
    def expected(self) -> ExpectedOutputs:
        """The expected outputs, which are computed once."""
        return propagate(self.network, self.parameters, self.inputs, self.exact)

    def judge(self, got: np.ndarray) -> Check:
        """Check the values of a result, then its sums."""
        check = self.expected.check(got, "exact" if self.exact else "rounding")
        sums = _check_sums(self.network, got) if check.ok else check
        return check if sums.ok else sums


def exact_cases(network: Network, seed: int) -> list[Case]:
    """Make two cases whose sums are exact in float32 in every layer. Returns no cases if the network is too large.

    Inputs and weights are -2, -1, 1 and 2, or only -1 and 1 if sums would be too large; in 16 bits, most weights are 0.
    Softmax cannot be exact, so the
    last layer is scaled by a power of two until its sums span at most 16. A lost product then changes a probability far
    more than rounding does. The second case negates the inputs, because relu hides negative sums.
    """
    narrow = network.problem.precision.rounds_result
    choices = [((-1, 1), kept) for kept in _KEPT] if narrow else [((-2, -1, 1, 2), 0), ((-1, 1), 0)]
    for values, kept in choices:
        rng = np.random.default_rng(seed)
        inputs = rng.choice(np.array(values, np.float32), (network.batch, network.sizes[0]))
        sizes = zip(network.sizes, network.sizes[1:], strict=False)
        weights = [rng.choice(np.array(values, np.float32), pair) for pair in sizes]
        if kept:
            weights = [each * (rng.random(each.shape) < kept / len(each)) for each in weights]
        biases = [rng.choice(np.array(values, np.float32), outputs) for outputs in network.sizes[1:]]
        signed = [inputs, -inputs]
        if all(_stays_exact(network, weights, biases, each) for each in signed):
            return [
                Case(network, _scale_last_layer(network, weights, biases, signed), each, exact=True) for each in signed
            ]
    return []


def _stays_exact(network: Network, weights: list[np.ndarray], biases: list[np.ndarray], inputs: np.ndarray) -> bool:
    precision, h = network.problem.precision, inputs.astype(np.float64)
    for w, b, activation in zip(weights, biases, network.activations, strict=True):
        if (np.abs(h) @ np.abs(w) + np.abs(b)).max() >= 2.0**precision.accumulator.exact_bits:
            return False
        if max(np.abs(h @ w).max(), np.abs(h @ w + b).max()) > 2.0**precision.exact_bits:
            return False
        h = h @ w + b
        h = np.maximum(h, 0) if activation == "relu" else h
    return True


def _scale_last_layer(
    network: Network, weights: list[np.ndarray], biases: list[np.ndarray], signed: list[np.ndarray]
) -> Parameters:
    whole = Parameters(tuple(weights), tuple(biases))
    if network.activations[-1] != "softmax":
        return whole
    bare = replace(network, activations=(*network.activations[:-1], "linear"))
    spread = max(float(np.ptp(propagate(bare, whole, each, exact=True).outputs, axis=1).max()) for each in signed)
    scale = np.float32(2.0 ** -max(0, math.ceil(math.log2(max(spread, 1) / _SPREAD))))
    return Parameters((*weights[:-1], weights[-1] * scale), (*biases[:-1], biases[-1] * scale))


def take_batch(digits: Digits, start: int, batch: int) -> np.ndarray:
    """Return `batch` inputs, starting at number `start` and wrapping around after the last digit."""
    return digits.inputs[np.arange(start, start + batch) % len(digits.inputs)]


def verification_cases(network: Network, given: Parameters, seed: int) -> list[Case]:
    """Return exact cases on integers, then real cases with random parameters and with the run's parameters."""
    rng = np.random.default_rng(seed + 2)
    inputs = rng.uniform(-1, 1, (network.batch, network.sizes[0])).astype(np.float32)
    cases = [
        *exact_cases(network, seed + 1),
        Case(network, make_random_parameters(network, seed + 2), inputs),
    ]
    return [*cases, timed_case(network, given, "uniform", seed)]


def timed_case(network: Network, given: Parameters, fill: Fill, seed: int) -> Case:
    """Return the case for timing: the run's parameters, with its digits if there are any, or else with `fill`."""
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
