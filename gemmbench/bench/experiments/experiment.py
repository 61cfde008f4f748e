"""The experiment on a batch of chains: verifies and times every row on its device."""

from __future__ import annotations

from collections.abc import Container, Mapping

import msgspec

from gemmbench.backends.base import Artifact
from gemmbench.bench.experiments.batch import ChainBatch
from gemmbench.bench.experiments.context import ExperimentContext
from gemmbench.bench.experiments.device_experiment import DeviceExperiment
from gemmbench.bench.experiments.gemm import gemm_workload
from gemmbench.bench.experiments.network import network_workload
from gemmbench.bench.experiments.trial import SetCount, Trial, fail_together
from gemmbench.bench.experiments.trial_record import make_record
from gemmbench.bench.experiments.workload import Workload
from gemmbench.bench.record import Record

NO_SETS = SetCount(0, False)


def measure_chains(context: ExperimentContext, batch: ChainBatch) -> list[Record]:
    """Verify and measure a batch; one record per chain, in order.

    The chains of the CPU run before those of a GPU, so that they do not disturb its rounds. After
    an interruption, chains that were not measured have no record. Raises DeviceLost.
    """
    trials = [_make_trial(batch, number) for number in range(len(batch.chains))]
    counts: dict[str, SetCount] = {}
    with fail_together(trials):
        workload = _make_workload(batch, thorough=batch.is_check or not context.measured)
        for device in _order_devices(context, batch):
            there = [trial for trial in trials if trial.chain.device == device]
            counts[device] = DeviceExperiment(context, workload, context.backends[device], batch, there).run()
    graphs = {trial.chain.device for trial in trials if trial.is_graph}
    finished = [trial for trial in trials if _is_finished(context, batch, trial)]
    return [_make_record(trial, batch, counts, graphs) for trial in finished]


def _make_record(trial: Trial, batch: ChainBatch, counts: Mapping[str, SetCount], graphs: Container[str]) -> Record:
    device = trial.chain.device
    record = make_record(trial, batch, counts.get(device, NO_SETS))
    return msgspec.structs.replace(record, beside_graphs=bool(record.no_graph) and device in graphs)


def _order_devices(context: ExperimentContext, batch: ChainBatch) -> list[str]:
    """The devices of a batch, the CPU first."""
    names = {chain.device for chain in batch.chains}
    return sorted(names, key=lambda name: (context.backends[name].device.target.is_gpu, name))


def _make_workload(batch: ChainBatch, thorough: bool) -> Workload:
    chain = batch.chains[0]
    if chain.network is None:
        unscaled = any(not each.takes_scalars(2.0, 0.0) for each in batch.chains)
        return gemm_workload(chain.problem, thorough, unscaled)
    assert batch.parameters is not None
    return network_workload(chain.network, batch.parameters)


def _make_trial(batch: ChainBatch, number: int) -> Trial:
    chain = batch.chains[number]
    trial = Trial(chain if batch.policy.pdl else chain.without_pdl(), number)
    for built in batch.built[number]:
        if isinstance(built, Artifact):
            trial.artifacts.append(built)
        elif trial.alive:
            trial.fail(built)
    if fault := batch.find_fault(number):
        trial.fail(fault)
    return trial


def _is_finished(context: ExperimentContext, batch: ChainBatch, trial: Trial) -> bool:
    """An interrupted trial has no row unless it has samples: it is neither right nor wrong.

    Without timing, a part of the verification counts, except in a check, on which a search relies later.
    """
    if not trial.alive or not context.is_interrupted():
        return True
    if batch.is_check:
        return False
    return bool(trial.measurement.samples) if context.measured else trial.check is not None
