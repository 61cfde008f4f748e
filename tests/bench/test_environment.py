"""The header of a run."""

import re
from dataclasses import replace

import pytest

from gemmbench import __version__
from gemmbench.backends import registry
from gemmbench.backends.base import Conditions
from gemmbench.backends.devices import Machine
from gemmbench.bench.environment import describe_run
from gemmbench.bench.experiments.batch import METHOD
from gemmbench.bench.record import SCHEMA, Telemetry
from gemmbench.planning.source_tree import identify_sources
from gemmbench.planning.sweeps.run_request import RunRequest
from gemmbench.planning.sweeps.sweep import read_sweep
from gemmbench.report.store.journal import Journal
from gemmbench.report.store.reading import read_results
from gemmbench.report.store.recorded_run import Run


@pytest.fixture
def machine():
    return registry.describe_machine(registry.choose_device("fake"))


@pytest.fixture
def sweep():
    return read_sweep(RunRequest(config="quick"), on_cpu=False)


def test_a_run_is_described_by_its_device_its_sweep_and_its_command(machine, sweep):
    found = describe_run(machine, sweep, "gemmbench run --rounds 4")
    assert (found.schema, found.gemmbench, found.sweep) == (SCHEMA, __version__, "quick")
    assert (found.command, found.baseline) == ("gemmbench run --rounds 4", "cublas")
    assert (found.device, found.backend, found.sm, found.sms) == ("Fake GPU", "fake", 90, 10)
    assert (found.clock_hz, found.bandwidth, found.flops_per_cycle) == (1e9, 1e12, {"f32": 1000.0})
    assert found.started.endswith("+00:00")
    assert found.conditions is None and found.policy["method"] == METHOD
    assert (found.revision, found.tree) == (identify_sources().revision, identify_sources().tree) and found.tree
    assert found.target == machine.primary.target
    assert (found.uuid, found.vbios) == (machine.primary.uuid, "1.0") and found.uuid.startswith("GPU-")


def test_how_a_gpu_is_set_up_is_in_the_header_and_comes_back_from_the_file(machine, sweep, tmp_path, make_record):
    conditions = Conditions(mig=False, ecc=True, persistence=None, power_limit=700.0)
    found = describe_run(Machine(machine.choice, {"fake": replace(machine.primary, conditions=conditions)}), sweep, "")
    assert found.conditions == conditions
    telemetry = Telemetry(readings=2, temperature=40.0, slowed_by=["power cap"])
    with Journal(Run(found, path=tmp_path / "x.jsonl")) as journal:
        journal.write([make_record("naive", telemetry=telemetry)])
    run = read_results(tmp_path / "x.jsonl")
    assert (run.environment, run.records[0].telemetry) == (found, telemetry)


def test_every_run_has_its_own_name(machine, sweep):
    names = {describe_run(machine, sweep, "").run for _ in range(20)}
    assert len(names) > 15
    assert all(re.fullmatch(r"\d{8}-\d{6}-quick-[0-9a-f]{4}", name) for name in names)
