"""Which results file a run writes, and which records it adds."""

import re

import msgspec
import pytest

from gemmbench.backends.base import Conditions
from gemmbench.errors import UsageError
from gemmbench.report.store.journal import Journal
from gemmbench.report.store.reading import read_results
from gemmbench.report.store.recorded_run import Destination, Run
from gemmbench.session.open_run import choose_results
from gemmbench.session.reporter import SILENT


@pytest.fixture
def saved(tmp_path, environment, make_record):
    """A results file with one skip."""
    path = tmp_path / "old.jsonl"
    with Journal(Run(environment, path=path)) as journal:
        journal.write([make_record(status="skipped", reason="no")])
    return path


def test_a_new_run_has_a_file_of_its_own_name(tmp_path, environment):
    run = choose_results(environment, Destination(tmp_path), SILENT)
    assert run.path == tmp_path / f"{environment.run}.jsonl" and run.records == []


def test_an_unfinished_run_is_resumed(saved, environment, notes):
    assert len(choose_results(environment, Destination(resume=saved), notes).records) == 1
    assert notes.messages == [f"resuming {saved}, which has 1 row: gemmbench run"]


def test_a_finished_run_is_not_resumed(saved, environment):
    with Journal(read_results(saved)) as journal:
        journal.finish()
    with pytest.raises(UsageError, match=r"this run was finished 20.*; start a new run without --resume"):
        choose_results(environment, Destination(resume=saved), SILENT)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"sweep": "tiles"}, "another experiment: its sweep is quick, that of this run is tiles"),
        ({"baseline": ""}, "another experiment: its baseline is cublas, that of this run is none"),
        ({"policy": {"seed": 2}}, "another experiment: its seed is 1, that of this run is 2"),
        ({"planned": ["a", "c", "d"]}, "another experiment: this run lacks 1 of its 2 rows"),
    ],
)
def test_another_experiment_is_not_mixed_in(tmp_path, environment, make_record, changed, words):
    earlier = msgspec.structs.replace(environment, policy={"seed": 1}, planned=["a", "b"])
    path = tmp_path / "earlier.jsonl"
    with Journal(Run(earlier, path=path)) as journal:
        journal.write([make_record()])
    with pytest.raises(UsageError) as fault:
        choose_results(msgspec.structs.replace(earlier, **changed), Destination(resume=path), SILENT)
    assert str(fault.value) == f"{path}: {words}; start a new run without --resume"


def test_a_run_of_another_device_is_not_resumed(saved, environment):
    other = msgspec.structs.replace(environment, device="Other GPU")
    with pytest.raises(UsageError, match="measured on Fake GPU, this is Other GPU"):
        choose_results(other, Destination(resume=saved), SILENT)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"uuid": "GPU-1111"}, "measured on another card, a card that it does not name; this is GPU-1111"),
        ({"vbios": "2.0"}, "in another state (VBIOS 1.0 -> 2.0)"),
        ({"software": {"driver": "2.0"}}, "in another state (driver 1.0 -> 2.0)"),
        ({"conditions": Conditions(power_limit=600.0)}, "in another state (power limit 700 W -> 600 W)"),
    ],
)
def test_a_run_of_another_card_or_of_another_state_of_it_is_not_resumed(
    tmp_path, environment, make_record, changed, message
):
    known = msgspec.structs.replace(environment, vbios="1.0", conditions=Conditions(power_limit=700.0))
    with Journal(Run(known, path=tmp_path / "old.jsonl")) as journal:
        journal.write([make_record(status="skipped", reason="no")])
    destination = Destination(resume=tmp_path / "old.jsonl")
    choose_results(known, destination, SILENT)
    with pytest.raises(UsageError, match=re.escape(message)):
        choose_results(msgspec.structs.replace(known, **changed), destination, SILENT)
