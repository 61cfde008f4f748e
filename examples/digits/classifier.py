"""The rows of a network, kept open on their devices, which classify one image after another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gemmbench.backends import registry
from gemmbench.backends.base import Executable
from gemmbench.backends.devices import Machine
from gemmbench.bench.experiments.network_workload import OpenNetwork
from gemmbench.bench.operands.network_parameters import Parameters, upscale_images
from gemmbench.bench.verify.network_reference import ExpectedOutputs, propagate
from gemmbench.errors import PlanError
from gemmbench.planning.plans.plan import Chain
from gemmbench.planning.sweeps.run_request import TimeLimits

_WINDOW = 5e-4
"""Seconds that the launches of one measurement take together, unless a single launch takes longer."""
_MOST_LAUNCHES = 64


@dataclass(frozen=True)
class RowReading:
    """The result that one row computed from an image, and how long a launch took.

    `outputs` are the probabilities of the digits, and `seconds` is the time of one batch. `fault` gives the reason why
    there are none, or what is wrong with them.
    """

    name: str
    outputs: np.ndarray
    seconds: float = math.nan
    fault: str = ""


@dataclass
class OpenRow:
    """A row that is bound, or the reason why it is not."""

    chain: Chain
    operands: OpenNetwork
    executable: Executable | None = None
    fault: str = ""
    launches: int = 1


class Classifier:
    """Rows of one network on their devices. Use it from the thread that opened it.

    Rows that fail keep their reason and do not affect the others. Raises DeviceError and OutOfMemory.
    """

    def __init__(self, rows: Sequence[Chain], parameters: Parameters, machine: Machine, limits: TimeLimits, gate: bool):
        (self.network,) = {row.network for row in rows if row.network}
        self._parameters = parameters
        devices = sorted({row.device for row in rows})
        self._backends = registry.open_backends(machine, devices, gate, limits.launch)
        compilers = registry.make_compilers(machine, devices, limits.compile)
        self._operands = {
            name: OpenNetwork(self.network, backend, compilers[name], parameters)
            for name, backend in self._backends.items()
        }
        self._rows = [self._open(row) for row in rows]

    def _open(self, chain: Chain) -> OpenRow:
        row = OpenRow(chain, self._operands[chain.device])
        try:
            row.executable = row.operands.bind(chain)
            row.operands.write(np.zeros(self.network.sizes[0], np.float32))
            row.executable.time(1)
            seconds = row.executable.time(1).seconds
            most = min(_MOST_LAUNCHES, self._backends[chain.device].max_launches)
            row.launches = max(1, min(most, round(_WINDOW / max(seconds, 1e-9))))
        except PlanError as fault:
            row.executable, row.fault = None, str(fault)
        return row

    def classify(self, image: np.ndarray) -> list[RowReading]:
        """Classify an image (8 x 8, 0 to 16) with every row, in order, and check each result."""
        inputs = upscale_images(image[None])
        expected = self._expect(inputs)
        return [self._classify(row, inputs[0], expected) for row in self._rows]

    def _expect(self, inputs: np.ndarray) -> ExpectedOutputs:
        """The expected outputs of the whole batch, which are the same for each of its rows."""
        one = propagate(self.network, self._parameters, inputs)
        shape = (self.network.batch, self.network.sizes[-1])
        return ExpectedOutputs(np.broadcast_to(one.outputs, shape), np.broadcast_to(one.bound, shape))

    def _classify(self, row: OpenRow, one: np.ndarray, expected: ExpectedOutputs) -> RowReading:
        nothing = np.full(self.network.sizes[-1], np.nan)
        if row.executable is None:
            return RowReading(row.chain.name, nothing, fault=row.fault)
        try:
            row.operands.clear(row.operands.write(one))
            seconds = row.executable.time(row.launches).seconds / row.launches
            outputs = row.operands.read()
        except PlanError as fault:
            row.executable, row.fault = None, str(fault)
            return RowReading(row.chain.name, nothing, fault=row.fault)
        check = expected.check(outputs, "drawing")
        return RowReading(row.chain.name, outputs[0], seconds, "" if check.ok else f"wrong: {check.message}")

    def close(self) -> None:
        """End the rows and free the devices."""
        for row in self._rows:
            row.executable = None
        for operands in self._operands.values():
            operands.free()
        for backend in self._backends.values():
            backend.close()
