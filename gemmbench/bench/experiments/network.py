"""A network as the workload of an experiment, and its outputs for one digit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from gemmbench.backends.base import Backend, Compiler, Executable
from gemmbench.bench.experiments.auditing.audit_case import choose_audit_fill
from gemmbench.bench.experiments.auditing.network_case import NetworkCase
from gemmbench.bench.experiments.workload import VerificationCase, Workload
from gemmbench.bench.operands.arena import Arena, Inputs
from gemmbench.bench.operands.layouts import NetworkLayout
from gemmbench.bench.operands.network_parameters import Digits, Parameters
from gemmbench.bench.operands.scratch import Scratch, size_workspaces
from gemmbench.bench.verify import network_cases
from gemmbench.bench.verify.network_reference import Case
from gemmbench.planning.networks import Network
from gemmbench.planning.plans.plan import Chain
from gemmbench.planning.sweeps.overrides import Fill
from gemmbench.planning.sweeps.policy import Policy


def network_workload(network: Network, parameters: Parameters) -> Workload:
    """Verified on integers, then on real numbers; its accuracy is measured after timing."""

    def make_cases(seed: int) -> Iterator[VerificationCase]:
        for case in network_cases.verification_cases(network, parameters, seed):
            yield _make_case(network, case)

    @cache
    def find_audit_case(fill: Fill, seed: int) -> NetworkCase:
        case = network_cases.timed_case(network, parameters, fill, seed)
        return NetworkCase(make_inputs(network, case.parameters, case.inputs), case)

    def make_timed_inputs(policy: Policy) -> Inputs:
        return find_audit_case(policy.data, policy.seed).inputs

    def make_audit_case(policy: Policy) -> NetworkCase:
        return find_audit_case(choose_audit_fill(policy.data), policy.seed)

    def measure_accuracy(arena: Arena, executable: Executable) -> float:
        assert parameters.digits is not None
        return _measure_accuracy(network, parameters, parameters.digits, arena, executable)

    counted = None if parameters.digits is None else measure_accuracy
    return Workload(NetworkLayout(network), network.bytes, make_cases, make_timed_inputs, make_audit_case, counted)


def _make_case(network: Network, case: Case) -> VerificationCase:
    inputs = make_inputs(network, case.parameters, case.inputs)
    return VerificationCase(inputs, case.exact, lambda result, _: case.judge(result))


def make_inputs(network: Network, parameters: Parameters, inputs: np.ndarray) -> Inputs:
    """A batch of inputs and the parameters, as they lie on the device."""
    return Inputs((np.ascontiguousarray(inputs), parameters.pack(network)))


def _measure_accuracy(
    network: Network, parameters: Parameters, digits: Digits, arena: Arena, executable: Executable
) -> float:
    """The share of the test digits that a row recognizes."""
    right = 0
    for start in range(0, len(digits.labels), network.batch):
        labels = digits.labels[start : start + network.batch]
        batch = network_cases.take_batch(digits, start, network.batch)
        arena.write(make_inputs(network, parameters, batch), 1)
        executable.time(1)
        right += int((arena.read()[: len(labels)].argmax(axis=1) == labels).sum())
    return right / len(digits.labels)


class OpenNetwork:
    """One set of a network's operands on a device, to which its chains are bound. Raises OutOfMemory."""

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
        steps = self._arena.make_steps(plans, loaded, 1, self._scratch[-1])
        return self._backend.bind(chain.name, steps, self._arena.memory, chain.graph, self._backend.modes[0])

    def write(self, one: np.ndarray) -> Inputs:
        """Write one input, repeated to fill the batch; returns all inputs."""
        inputs = make_inputs(self.network, self._parameters, np.tile(one, (self.network.batch, 1)))
        self._arena.write(inputs, 1)
        return inputs

    def clear(self, inputs: Inputs) -> None:
        """Fill the outputs with NaN, so that what a chain does not write cannot look right."""
        self._arena.reset(inputs, 1)

    def read(self) -> np.ndarray:
        """The outputs of the batch."""
        return self._arena.read()

    def free(self) -> None:
        """Free the operands and the workspaces."""
        for scratch in self._scratch:
            scratch.free()
        self._arena.free()


def compute_outputs(
    chain: Chain, backend: Backend, compiler: Compiler, parameters: Parameters, one: np.ndarray
) -> np.ndarray:
    """The outputs of a chain for one input, repeated to fill its batch. Raises PlanError."""
    assert chain.network is not None
    opened = OpenNetwork(chain.network, backend, compiler, parameters)
    try:
        opened.write(one)
        opened.bind(chain).time(1)
        return np.asarray(opened.read()[0])
    finally:
        opened.free()
