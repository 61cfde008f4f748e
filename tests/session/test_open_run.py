"""A run that is open: what is measured is in its file at once, and nothing is measured twice."""

import pytest

from gemmbench.backends.registry import measure_peaks
from gemmbench.bench.measured_sweep import ChainSweep, measure_sweep
from gemmbench.bench.runner import Runner
from gemmbench.errors import DeviceError
from gemmbench.planning.sweeps.overrides import SweepOverrides, TimeLimits
from gemmbench.report.store.reading import read_results
from gemmbench.report.store.recorded_run import Destination
from gemmbench.session.open_run import open_run
from gemmbench.session.open_session import Session
from gemmbench.session.sweep_runs import SweepRequest, plan_request


def measure(machine, notes, destination, **more):
    """Measure naive, and a variant that is skipped since it computes a network."""
    options = SweepOverrides(variants=("naive", "mlp_fused"), sizes="16", rounds=2, cache="hot", **more)
    planned = plan_request(SweepRequest(options), machine)
    sweep = planned.sweep
    with open_run(machine, sweep, planned.devices, TimeLimits(), destination, notes) as opened:
        chains = ChainSweep(planned.chains, sweep.policy, sweep.baseline, earlier=opened.earlier)
        measure_sweep(opened.runner, opened.session.compilers, chains)
        return opened.result


def test_every_record_is_in_the_file(machine, notes):
    result = measure(machine, notes, Destination())
    saved = read_results(result.run.path)
    assert [record.variant for record in saved.records] == ["mlp_fused", "naive", "cublas"]
    assert [record.variant for record in result.run.records] == ["mlp_fused", "naive", "cublas"]


def test_the_versions_of_the_open_device_are_in_the_header(machine, notes, monkeypatch):
    monkeypatch.setattr(Session, "software", {"driver": "2.0"})
    assert read_results(measure(machine, notes, Destination()).run.path).environment.software == {"driver": "2.0"}


def test_a_device_that_is_lost_says_where_the_rows_are(machine, notes, monkeypatch):
    whole = Runner.run

    def lose(*arguments):
        if whole(*arguments):
            raise DeviceError("the device was lost")
        return []

    monkeypatch.setattr(Runner, "run", lose)
    with pytest.raises(DeviceError, match=r"the device was lost; results/.*\.jsonl has 2 rows"):
        measure(machine, notes, Destination())


def test_a_resumed_run_adds_neither_rows_nor_skips_that_it_has(machine, notes):
    first = measure(machine, notes, Destination())
    path, lines = first.run.path, first.run.path.read_bytes().splitlines()
    path.write_bytes(b"\n".join(lines[:-1]) + b"\n")  # all but the line that says it is finished
    again = measure(machine, notes, Destination(resume=path))
    assert path.read_bytes().splitlines()[:-1] == lines[:-1] and len(again.run.records) == 3
    assert read_results(path).finished


def test_the_peaks_of_the_device_are_measured_if_asked_for(machine, notes):
    assert measure(machine, notes, Destination()).run.environment.peaks is None
    asked = measure(machine, notes, Destination(), peaks=True)
    peaks = read_results(asked.run.path).environment.peaks
    assert peaks == measure_peaks(machine) and peaks.copy > 0
