"""Where a network's numbers lie on the device: inputs, parameters, every layer's output.

One allocation holds every operand set, each array between guard zones, see bench.guards:

    | NaN | X | NaN | parameters | NaN | pattern | h1 | pattern | h2 | pattern | Y | pattern |   next set ...

On a back end without guards each of these arrays is an allocation of its own, of its exact size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gemmbench.backends.base import Backend, OperandSet, Step
from gemmbench.bench.operands import guards
from gemmbench.bench.verify.network_reference import Case
from gemmbench.planning.networks.forward_plans import Forward
from gemmbench.planning.networks.network import Network

_GUARD = 16 << 10
_LEAST_SETS, _MOST_SETS, _CACHE_FACTOR = 2, 1024, 4


def cold_sets(network: Network, last_level_cache: int, room: int) -> tuple[int, bool]:
    """How many operand sets keep every launch cold, and whether they do; see bench.operands.arena.cold_sets."""
    wanted = max(_LEAST_SETS, -(-_CACHE_FACTOR * last_level_cache // network.bytes))
    count = min(wanted, max(1, room // _Layout(network).total), _MOST_SETS)
    return count, count >= wanted


@dataclass(frozen=True)
class _Region:
    """Bytes of one array, and where it begins in a set."""

    offset: int
    nbytes: int


class _Layout(guards.Layout):
    """Offsets inside one set."""

    def __init__(self, network: Network):
        super().__init__()
        self.inputs = self._region(4 * network.batch * network.sizes[0], guards.NAN)
        self.parameters = self._region(4 * network.parameters, guards.NAN)
        self.outputs = [self._region(4 * network.batch * outputs, guards.PATTERN) for outputs in network.sizes[1:]]
        self.guard(_GUARD, guards.PATTERN)

    def _region(self, nbytes: int, byte: int) -> _Region:
        self.guard(_GUARD, byte)
        return _Region(self.array(nbytes, byte), nbytes)


class Layers:
    """Operand sets of one network on a device. Raises OutOfMemory."""

    def __init__(self, backend: Backend, network: Network, count: int):
        self.network, self.count, self._layout = network, count, _Layout(network)
        regions = self._regions = [self._layout.inputs, self._layout.parameters, *self._layout.outputs]
        self._guarded = backend.guards
        if backend.guards:
            self.memory = backend.allocate(count * self._layout.total)
            bases = [index * self._layout.total for index in range(count)]
            self._starts = [[base + region.offset for region in regions] for base in bases]
            for base in bases:
                self._layout.fill(self.memory, base)
        else:
            self.memory = backend.allocate(*(region.nbytes for region in regions * count))
            found, each = list(self.memory.starts), len(regions)
            self._starts = [found[first : first + each] for first in range(0, len(found), each)]

    def write(self, case: Case, sets: int) -> None:
        """Write inputs and parameters into the first `sets` sets."""
        inputs, packed = np.ascontiguousarray(case.inputs), case.parameters.packed(self.network)
        first = self._starts[0]
        self.memory.write(first[0], inputs)
        self.memory.write(first[1], packed)
        for starts in self._starts[1:sets]:
            for source, target, region in zip(first[:2], starts[:2], self._regions[:2], strict=True):
                self.memory.copy(source, target, region.nbytes)

    def poison(self, sets: int) -> None:
        """Fill every layer's output with NaN, so that what is not written is seen."""
        for starts in self._starts[:sets]:
            for start, region in zip(starts[2:], self._layout.outputs, strict=True):
                self.memory.fill(start, region.nbytes, guards.NAN)

    def read(self, index: int = 0) -> np.ndarray:
        """The network's outputs of one set, batch x outputs."""
        out = np.empty((self.network.batch, self.network.sizes[-1]), np.float32)
        self.memory.read(self._starts[index][-1], out)
        return out

    def same(self, index: int) -> bool:
        """The network's outputs of a set are those of the first, bit by bit."""
        return self.memory.equal(self._starts[0][-1], self._starts[index][-1], self._regions[-1].nbytes)

    def breach(self, index: int = 0) -> str:
        """Say what was written outside the outputs of a set, or ""; all of it is restored."""
        found = self._layout.breach(self.memory, index * self._layout.total) if self._guarded else None
        if not found:
            return ""
        where = found.zone.offset + found.first
        return f"wrote outside its outputs: {found.count} bytes changed, the first at {where} of its set"

    def steps(self, row: Forward, loaded: list[object], sets: int) -> list[Step]:
        """The steps of a row with their operands in the first `sets` sets."""
        found, layer = [], -1
        for plan, code in zip(row.steps, loaded, strict=True):
            layer += plan.problem.beta == 0  # a pass over an output belongs to the GEMM before it
            place = self._whole if plan.network else self._of_layer
            found.append(Step(code, plan, tuple(place(starts, layer) for starts in self._starts[:sets])))
        return found

    def _whole(self, starts: list[int], _: int) -> OperandSet:
        return OperandSet(starts[0], starts[1], starts[-1])

    def _of_layer(self, starts: list[int], layer: int) -> OperandSet:
        network, (inputs, parameters, *outputs) = self.network, starts
        return OperandSet(
            outputs[layer - 1] if layer else inputs,
            parameters + 4 * network.weights_at[layer],
            outputs[layer],
            parameters + 4 * network.biases_at[layer],
        )

    def free(self) -> None:
        """Give the memory back."""
        self.memory.free()
