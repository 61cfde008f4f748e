"""A network as the workload of an experiment, and the outputs of a network for one digit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from gemmbench.backends.base import Backend, Compiler, Executable
from gemmbench.bench.experiments.workload import CHANGES, VerificationCase, Workload
from gemmbench.bench.operands.alterations import Altered
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.operands.layouts import NetworkLayout
from gemmbench.bench.operands.network_parameters import Digits, Parameters
from gemmbench.bench.operands.operand_values import Operands
from gemmbench.bench.operands.scratch import Scratch, size_workspaces
from gemmbench.bench.verify import network_reference
from gemmbench.bench.verify.network_reference import Case
from gemmbench.bench.verify.reference import Check
from gemmbench.planning.manifests.variant import Exactness
from gemmbench.planning.networks import Network
from gemmbench.planning.plans.plan import Chain
from gemmbench.planning.sweeps.run_request import Fill


@dataclass(frozen=True)
class NetworkCase:
    """An AuditCase. `case` is the case of set 0 before the change. It is not linear, because of biases and relu."""

    inputs: Operands
    case: Case
    is_linear = False
    _cases: dict[float, Case] = field(default_factory=dict)

    @property
    def rows(self) -> np.ndarray:
        """See AuditCase. All rows are compared."""
        return np.arange(self.case.network.batch)

    @property
    def changes(self) -> tuple[float, ...]:
        """See AuditCase."""
        return CHANGES

    def declare(self, exactness: Exactness) -> NetworkCase:
        """See AuditCase. The bounds of networks do not depend on a class."""
        return self

    def judge(self, result: np.ndarray, factor: float, rows: np.ndarray) -> Check:
        """See AuditCase. Always judges all rows."""
        if factor not in self._cases:
            self._cases[factor] = self._change(factor)
        return self._cases[factor].judge(result)

    def judge_altered(self, result: np.ndarray, factor: float, places: np.ndarray, altered: Altered) -> Check:
        """See AuditCase. The rows of a batch are independent of each other."""
        case, inputs, first = self.case, self.case.inputs.copy(), self.case.parameters.weights[0].copy()
        inputs[altered.rows, altered.inner] *= -1
        first[altered.lines] *= -1
        parameters = replace(case.parameters, weights=(first, *case.parameters.weights[1:]))
        network = replace(case.network, batch=len(places))
        return Case(network, parameters, np.float32(factor) * inputs[places]).judge(result)

    def _change(self, factor: float) -> Case:
        """Return the case of a set with this factor, with changed inputs and parameters."""
        of_inputs, of_parameters = (np.float32(change) for change in CHANGES)
        parameters = replace(
            self.case.parameters,
            weights=tuple(of_parameters * w for w in self.case.parameters.weights),
            biases=tuple(of_parameters * b for b in self.case.parameters.biases),
        )
        return replace(self.case, parameters=parameters, inputs=of_inputs * np.float32(factor) * self.case.inputs)

    def find_multiple(self, result: np.ndarray, share: float = 1.0) -> float | None:
        """See AuditCase. No multiple is known."""
        return None


def network_workload(network: Network, parameters: Parameters) -> Workload:
    """Return the workload of a network.

    It is verified on integers, then on real numbers. Accuracy is measured after timing.
    """

    def make_cases(seed: int) -> Iterator[VerificationCase]:
        for case in network_reference.verification_cases(network, parameters, seed):
            yield _make_case(network, case)

    @cache
    def find_case(fill: Fill, seed: int) -> NetworkCase:
        case = network_reference.timed_case(network, parameters, fill, seed)
        return NetworkCase(make_inputs(network, case.parameters, case.inputs), case)

    def measure_accuracy(arena: Arena, executable: Executable) -> float:
        assert parameters.digits is not None
        return _measure_accuracy(network, parameters, parameters.digits, arena, executable)

    counted = None if parameters.digits is None else measure_accuracy
    return Workload(NetworkLayout(network), network.bytes, make_cases, find_case, counted)


def _make_case(network: Network, case: Case) -> VerificationCase:
    inputs = make_inputs(network, case.parameters, case.inputs)
    return VerificationCase(inputs, case.exact, lambda result, _: case.judge(result))


def make_inputs(network: Network, parameters: Parameters, inputs: np.ndarray) -> Operands:
    """Return a batch of inputs and the parameters, laid out as on the device."""
    stored = np.ascontiguousarray(inputs, network.storage.numpy_type())
    return {"X": stored, "parameters": parameters.pack(network)}


def _measure_accuracy(
    network: Network, parameters: Parameters, digits: Digits, arena: Arena, executable: Executable
) -> float:
    """Return the fraction of test digits that a row recognizes."""
    right = 0
    for start in range(0, len(digits.labels), network.batch):
        labels = digits.labels[start : start + network.batch]
        batch = network_reference.take_batch(digits, start, network.batch)
        arena.write(make_inputs(network, parameters, batch), 1)
        executable.time(1)
        right += int((arena.read()[: len(labels)].astype(np.float32).argmax(axis=1) == labels).sum())
    return right / len(digits.labels)


class OpenNetwork:
    """One operand set of a network on a device, to which chains can be bound. Raises OutOfMemory."""

    def __init__(self, network: Network, backend: Backend, compiler: Compiler, parameters: Parameters):
        self.network, self._parameters = network, parameters
        self._backend, self._compiler = backend, compiler
        self._arena = Arena(backend, NetworkLayout(network), 1)
        self._scratch: list[Scratch] = []

    def bind(self, chain: Chain) -> Executable:
        """Compile, load and bind a chain of this network. Raises PlanError."""
        loaded = [self._backend.load(self._compiler.compile(step), step) for step in chain.steps]
        plans = size_workspaces(self._backend, chain.steps, loaded)
        self._scratch.append(Scratch(self._backend, plans))
        steps = self._arena.make_steps(plans, loaded, self._scratch[-1], rotates=False)
        return self._backend.bind(chain.name, steps, self._arena.memory, chain.graph, self._backend.modes[0])

    def write(self, one: np.ndarray) -> Operands:
        """Write one input, repeated to fill the batch. Returns all inputs."""
        inputs = make_inputs(self.network, self._parameters, np.tile(one, (self.network.batch, 1)))
        self._arena.write(inputs, 1)
        return inputs

    def clear(self, inputs: Operands) -> None:
        """Fill the outputs with NaN, so that anything a chain does not write cannot look right."""
        self._arena.reset(inputs, 1)

    def read(self) -> np.ndarray:
        """Return the outputs of the batch."""
        return self._arena.read()

    def free(self) -> None:
        """Free the operands and the workspaces."""
        for scratch in self._scratch:
            scratch.free()
        self._arena.free()


def compute_outputs(
    chain: Chain, backend: Backend, compiler: Compiler, parameters: Parameters, one: np.ndarray
) -> np.ndarray:
    """Return the outputs of a chain for one input, which is repeated to fill the batch. Raises PlanError."""
    assert chain.network is not None
    opened = OpenNetwork(chain.network, backend, compiler, parameters)
    try:
        opened.write(one)
        opened.bind(chain).time(1)
        return np.asarray(opened.read()[0])
    finally:
        opened.free()
