"""A run that is open: what is measured is in its file at once, and nothing is measured twice."""

import re

import msgspec
import pytest

from gemmbench.backends.base import Conditions
from gemmbench.backends.registry import measure_peaks
from gemmbench.bench.measured_sweep import ChainSweep, measure_sweep
from gemmbench.bench.runner import Runner
from gemmbench.errors import DeviceError, UsageError
from gemmbench.planning.sweeps.run_request import Destination, TimeLimits, make_request
from gemmbench.report.store.journal import Journal
from gemmbench.report.store.reading import read_results
from gemmbench.report.store.recorded_run import Run
from gemmbench.session.open_run import choose_results, open_run
from gemmbench.session.open_session import Session
from gemmbench.session.reporter import SILENT
from gemmbench.session.sweep_runs import plan_request


def measure(machine, notes, destination, **more):
    """Measure naive, and a variant that is skipped since it computes a network."""
    options = make_request(variants=("naive", "mlp_fused"), sizes="16", rounds=2, cache="hot", **more)
    planned = plan_request(options, machine)
    sweep = planned.sweep
    with open_run(machine, sweep, planned.devices, TimeLimits(), destination, notes) as opened:
        chains = ChainSweep(planned.chains, sweep.policy, sweep.baseline, earlier=opened.earlier)
        measure_sweep(opened.runner, opened.session.compilers, chains)
        return opened.finish()


def test_every_record_and_the_versions_of_the_open_device_are_in_the_file(machine, notes, monkeypatch):
    monkeypatch.setattr(Session, "software", {"driver": "2.0"})
    result = measure(machine, notes, Destination())
    saved = read_results(result.run.path)
    for records in (saved.records, result.run.records):
        assert [record.variant for record in records] == ["mlp_fused", "naive", "cublas"]
    assert saved.environment.software == {"driver": "2.0"}


def test_a_device_that_is_lost_says_where_the_rows_are(machine, notes, monkeypatch):
    whole = Runner.run

    def lose(*arguments):
        if whole(*arguments):
            raise DeviceError("the device was lost")
        return []

    monkeypatch.setattr(Runner, "run", lose)
    with pytest.raises(DeviceError, match=r"the device was lost; results/.*\.jsonl has 2 rows"):
        measure(machine, notes, Destination())


def test_the_peaks_of_the_device_are_measured_if_asked_for(machine, notes):
    assert measure(machine, notes, Destination()).run.environment.peaks is None
    asked = measure(machine, notes, Destination(), peaks=True)
    peaks = read_results(asked.run.path).environment.peaks
    assert peaks == measure_peaks(machine) and peaks.copy > 0


def test_a_new_run_has_a_file_of_its_own_name(tmp_path, environment):
    run = choose_results(environment, Destination(tmp_path), SILENT)
    assert run.path == tmp_path / f"{environment.run}.jsonl" and run.records == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"sweep": "tiles"}, "another experiment: its sweep is quick, but that of this run is tiles"),
        ({"baseline": ""}, "another experiment: its baseline is cublas, but that of this run is none"),
        ({"policy": {"seed": 2}}, "another experiment: its seed is 1, but that of this run is 2"),
        ({"planned": ["a", "c", "d"]}, "another experiment: this run lacks 1 of its 2 rows"),
        ({"tree": "2"}, "measured by other sources of gemmbench than those here (revisions abc and abc)"),
        (
            {"tree": "2", "revision": ""},
            "measured by other sources of gemmbench than those here (revisions abc and unknown)",
        ),
    ],
)
def test_another_experiment_is_not_mixed_in(tmp_path, environment, make_record, changed, words):
    earlier = msgspec.structs.replace(environment, policy={"seed": 1}, planned=["a", "b"], tree="1", revision="abc")
    path = tmp_path / "earlier.jsonl"
    with Journal(Run(earlier, path=path)) as journal:
        journal.write([make_record()])
    with pytest.raises(UsageError) as fault:
        choose_results(msgspec.structs.replace(earlier, **changed), Destination(resume=path), SILENT)
    assert str(fault.value) == f"{path}: {words}; start a new run without --resume"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"device": "Other GPU"}, "measured on Fake GPU, this is Other GPU"),
        ({"uuid": "GPU-1111"}, "measured on another card, a card without a name; this is GPU-1111"),
        ({"vbios": "2.0"}, "in another state (VBIOS 1.0 -> 2.0)"),
        ({"software": {"driver": "2.0"}}, "in another state (driver 1.0 -> 2.0)"),
        ({"conditions": Conditions(power_limit=600.0)}, "in another state (power limit 700 W -> 600 W)"),
    ],
)
def test_a_run_of_another_card_or_state_is_not_resumed(tmp_path, environment, make_record, changed, message):
    known = msgspec.structs.replace(environment, vbios="1.0", conditions=Conditions(power_limit=700.0))
    with Journal(Run(known, path=tmp_path / "old.jsonl")) as journal:
        journal.write([make_record(status="skipped", reason="no")])
    destination = Destination(resume=tmp_path / "old.jsonl")
    choose_results(known, destination, SILENT)
    with pytest.raises(UsageError, match=re.escape(message)):
        choose_results(msgspec.structs.replace(known, **changed), destination, SILENT)
