"""Networks: multi-layer perceptrons whose layers are GEMMs and whose parameters are in one array.

Layer l computes activation(h W + b), where h is batch x inputs, W is inputs x outputs (row-major,
layout nn), and b has one element per output. The parameters of all layers are in one array. Each
matrix and each bias begins at a multiple of 256 bytes:

    | W1 | b1 | W2 | b2 | ... |
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.precisions import StorageType
from gemmbench.planning.problems import Operand, Problem

_ACTIVATIONS = ("linear", "relu", "softmax")
"""The index of an activation is its number in the macro ACTIVATIONS of a kernel."""

PRECISIONS = ("f32", "f16", "bf16")
"""The precisions in which networks are computed. All layers store their outputs as they read their inputs."""
MACROS = ("SIZES", "ACTIVATIONS", "WEIGHTS_AT", "BIASES_AT")
LARGEST = 2**31 - 1
_GRAIN = 256  # bytes


@dataclass(frozen=True)
class Network:
    """A network: layer sizes from inputs to outputs, one activation per layer, and the number of rows in a batch."""

    sizes: tuple[int, ...]
    activations: tuple[str, ...]
    batch: int
    precision_name: str = "f32"

    @property
    def layers(self) -> int:
        """The number of layers with weights, one less than the number of sizes."""
        return len(self.activations)

    @property
    def problem(self) -> Problem:
        """The problem that identifies a row, from inputs to outputs: M = batch, N = outputs, K = inputs."""
        return Problem(self.batch, self.sizes[-1], self.sizes[0], precision_name=self.precision_name)

    def layer(self, index: int) -> Problem:
        """Return the GEMM of one layer, with its bias and its activation."""
        activation = self.activations[index]
        steps = ("bias",) if activation == "linear" else ("bias", activation)
        M, N, K = self.batch, self.sizes[index + 1], self.sizes[index]
        return Problem(M, N, K, precision_name=self.precision_name, epilogue=steps)

    @property
    def storage(self) -> StorageType:
        """How inputs, parameters and outputs are stored."""
        return self.problem.storage("A")

    @cached_property
    def operands(self) -> tuple[Operand, ...]:
        """The inputs X, the parameters, and the output of every layer: h1, h2, ..., Y."""
        inputs, *outputs = self.sizes
        names = [*(f"h{number}" for number in range(1, self.layers)), "Y"]
        return (
            Operand("X", "factor", self.storage, (self.batch, inputs)),
            Operand("parameters", "factor", self.storage, (self.parameters,)),
            *(
                Operand(name, "result", self.storage, (self.batch, width))
                for name, width in zip(names, outputs, strict=True)
            ),
        )

    @property
    def flops(self) -> int:
        """2 x batch x the sum of inputs x outputs. Biases and activations are not counted."""
        return sum(self.layer(index).flops for index in range(self.layers))

    @property
    def bytes(self) -> int:
        """The bytes of inputs, parameters and outputs, which are the least that a launch must move."""
        elements = self.batch * (self.sizes[0] + self.sizes[-1]) + self.parameters
        return self.storage.nbytes(elements)

    @cached_property
    def _offsets(self) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        weights, biases, end = [], [], 0
        grain = _GRAIN // self.storage.nbytes(1)
        for inputs, outputs in pairwise(self.sizes):
            weights.append(end)
            end += _round_up(inputs * outputs, grain)
            biases.append(end)
            end += _round_up(outputs, grain)
        return tuple(weights), tuple(biases), end

    @property
    def weights_at(self) -> tuple[int, ...]:
        """The positions, in elements, at which the weights of each layer begin among the parameters."""
        return self._offsets[0]

    @property
    def biases_at(self) -> tuple[int, ...]:
        """The positions, in elements, at which the biases of each layer begin among the parameters."""
        return self._offsets[1]

    @property
    def parameters(self) -> int:
        """The number of elements in all parameters, including padding."""
        return self._offsets[2]

    @property
    def names(self) -> dict[str, int]:
        """The names that a manifest may read. REST is the elements after W1, WIDEST the most outputs of a layer."""
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
        """The macros for a kernel: the names except M, which is an argument, and lists with a number for each layer."""
        numbers = [_ACTIVATIONS.index(name) for name in self.activations]
        lists = zip(MACROS, (self.sizes, numbers, self.weights_at, self.biases_at), strict=True)
        plain = [(name, str(value)) for name, value in self.names.items() if name != "M"]
        return (*plain, *((name, ", ".join(map(str, values))) for name, values in lists))

    def __str__(self) -> str:
        return f"{'-'.join(map(str, self.sizes))}, {' '.join(self.activations)}, batch {self.batch}"


def _round_up(count: int, grain: int) -> int:
    return -(-count // grain) * grain


def make_network(
    layers: Sequence[str], activations: Sequence[str], batch: int, precision: str = PRECISIONS[0]
) -> Network:
    """Make a network from layers written as `784x100` (inputs x outputs). Raises UsageError."""
    pairs = [_parse_layer(text) for text in layers]
    if not pairs:
        raise UsageError("layers: no layers given; write them as inputs x outputs, such as [784x100, 100x10]")
    for number, ((_, gives), (takes, _)) in enumerate(pairwise(pairs), 1):
        if gives != takes:
            raise UsageError(
                f"layers: {layers[number]} does not fit {layers[number - 1]}: layer {number} gives {gives} "
                f"values, but layer {number + 1} takes {takes}; make the two equal"
            )
    if len(activations) != len(pairs):
        raise UsageError(f"activations: {len(activations)} for {len(pairs)} layers; give one for each layer")
    for number, name in enumerate(activations, 1):
        if name not in _ACTIVATIONS:
            raise UsageError(
                f"activations: unknown '{name}'{nearest(name, _ACTIVATIONS)}; known: {', '.join(_ACTIVATIONS)}"
            )
        if name == "softmax" and number < len(pairs):
            raise UsageError(
                f"activations: softmax after layer {number} of {len(pairs)}; only the last layer may have it"
            )
    if precision not in PRECISIONS:
        hint, known = nearest(precision, PRECISIONS), ", ".join(PRECISIONS)
        raise UsageError(f"precision: a network cannot be computed in '{precision}'{hint}; choose {known}")
    sizes = (pairs[0][0], *(outputs for _, outputs in pairs))
    return change_batch(Network(sizes, tuple(activations), 1, precision), batch)


def change_batch(network: Network, batch: int) -> Network:
    """Return the network with another batch size. Raises UsageError."""
    if batch < 1:
        raise UsageError(f"batch: {batch} is not positive; a batch needs at least one row, such as 256")
    changed = Network(network.sizes, network.activations, batch, network.precision_name)
    if max(batch * max(network.sizes), changed.parameters) > LARGEST:
        raise UsageError(f"{changed}: more than {LARGEST} elements, the most that a kernel's int can count")
    return changed


def _parse_layer(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)x(\d+)", str(text).strip())
    if not match or not (int(match[1]) and int(match[2])):
        raise UsageError(f"layers: '{text}' is not a layer; write inputs x outputs, both positive, such as 784x100")
    return int(match[1]), int(match[2])
