"""A network: a multi-layer perceptron, its layers as GEMMs, its parameters as one array.

Layer l computes activation(h W + b) with h batch x inputs, W inputs x outputs (row-major,
layout nn), b outputs. The parameters of all layers lie in one array, each matrix and each
bias at a multiple of 256 bytes:

    | W1 | b1 | W2 | b2 | ... |
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.problems.problem import Problem

ACTIVATIONS = ("linear", "relu", "softmax")
"""Their place is their number in the macro ACTIVATIONS of a kernel."""

MACROS = ("SIZES", "ACTIVATIONS", "WEIGHTS_AT", "BIASES_AT")
LARGEST = 2**31 - 1
_GRAIN = 64  # elements, 256 bytes


@dataclass(frozen=True)
class Network:
    """Layer sizes from the inputs to the outputs, one activation a layer, rows of a batch."""

    sizes: tuple[int, ...]
    activations: tuple[str, ...]
    batch: int
    precision_name: str = "f32"

    @property
    def layers(self) -> int:
        """Layers with weights: one less than sizes."""
        return len(self.activations)

    @property
    def problem(self) -> Problem:
        """The batch from inputs to outputs, as a row is identified: M = batch, N = outputs, K = inputs."""
        return Problem(self.batch, self.sizes[-1], self.sizes[0], precision_name=self.precision_name)

    def layer(self, index: int) -> Problem:
        """The GEMM of one layer."""
        return Problem(self.batch, self.sizes[index + 1], self.sizes[index], precision_name=self.precision_name)

    @property
    def flops(self) -> int:
        """2 x batch x the sum of inputs x outputs; biases and activations are not counted."""
        return sum(self.layer(index).flops for index in range(self.layers))

    @property
    def bytes(self) -> int:
        """Bytes of inputs, parameters and outputs: the least a launch must move."""
        elements = self.batch * (self.sizes[0] + self.sizes[-1]) + self.parameters
        return self.problem.storage("A").nbytes(elements)

    @cached_property
    def _places(self) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        weights, biases, at = [], [], 0
        for inputs, outputs in pairwise(self.sizes):
            weights.append(at)
            at += _up(inputs * outputs)
            biases.append(at)
            at += _up(outputs)
        return tuple(weights), tuple(biases), at

    @property
    def weights_at(self) -> tuple[int, ...]:
        """Where each layer's weights begin among the parameters, in elements."""
        return self._places[0]

    @property
    def biases_at(self) -> tuple[int, ...]:
        """Where each layer's biases begin among the parameters, in elements."""
        return self._places[1]

    @property
    def parameters(self) -> int:
        """Elements of all parameters, with what aligns them."""
        return self._places[2]

    @property
    def names(self) -> dict[str, int]:
        """What the manifest of a kernel may use: REST is the elements after W1, WIDEST the widest layer's outputs."""
        return {
            "M": self.batch,
            "IN": self.sizes[0],
            "OUT": self.sizes[-1],
            "FIRST": self.sizes[1],
            "WIDEST": max(self.sizes[1:]),
            "REST": self.parameters - self.biases_at[0],
            "LAYERS": self.layers,
        }

    @property
    def macros(self) -> tuple[tuple[str, str], ...]:
        """The names but M, which is an argument, and lists with a number a layer."""
        numbers = [ACTIVATIONS.index(name) for name in self.activations]
        lists = zip(MACROS, (self.sizes, numbers, self.weights_at, self.biases_at), strict=True)
        plain = [(name, str(value)) for name, value in self.names.items() if name != "M"]
        return (*plain, *((name, ", ".join(map(str, values))) for name, values in lists))

    def __str__(self) -> str:
        return f"{'-'.join(map(str, self.sizes))}, {' '.join(self.activations)}, batch {self.batch}"


def _up(count: int) -> int:
    return -(-count // _GRAIN) * _GRAIN


def make_network(layers: Sequence[str], activations: Sequence[str], batch: int) -> Network:
    """A network from layers as they are written, `784x100` for inputs x outputs. Raises UsageError."""
    pairs = [_pair(text) for text in layers]
    if not pairs:
        raise UsageError("layers: none; write them as inputs x outputs, such as [784x100, 100x10]")
    for number, ((_, gives), (takes, _)) in enumerate(pairwise(pairs), 1):
        if gives != takes:
            raise UsageError(
                f"layers: {layers[number]} does not fit {layers[number - 1]}: layer {number} gives {gives} values, "
                f"layer {number + 1} takes {takes}; make the two equal"
            )
    if len(activations) != len(pairs):
        raise UsageError(f"activations: {len(activations)} for {len(pairs)} layers; give one for each layer")
    for number, name in enumerate(activations, 1):
        if name not in ACTIVATIONS:
            raise UsageError(
                f"activations: unknown '{name}'{nearest(name, ACTIVATIONS)}; known: {', '.join(ACTIVATIONS)}"
            )
        if name == "softmax" and number < len(pairs):
            raise UsageError(f"activations: softmax after layer {number} of {len(pairs)}; it may follow the last alone")
    return change_batch(Network((pairs[0][0], *(outputs for _, outputs in pairs)), tuple(activations), 1), batch)


def change_batch(of: Network, batch: int) -> Network:
    """The same network for another batch. Raises UsageError."""
    if batch < 1:
        raise UsageError(f"batch: {batch} is not positive; a batch needs at least one row, such as 256")
    changed = Network(of.sizes, of.activations, batch, of.precision_name)
    if max(batch * max(of.sizes), changed.parameters) > LARGEST:
        raise UsageError(f"{changed}: more than {LARGEST} elements, the most a kernel's int can count")
    return changed


def _pair(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)x(\d+)", str(text).strip())
    if not found or "0" in (found[1].lstrip("0") or "0", found[2].lstrip("0") or "0"):
        raise UsageError(f"layers: '{text}' is not a layer; write inputs x outputs, both positive, such as 784x100")
    return int(found[1]), int(found[2])
