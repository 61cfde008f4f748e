"""Which results file a run writes, and which records it adds."""

import re
from dataclasses import replace

import msgspec
import pytest

from gemmbench.backends.monitor import Conditions
from gemmbench.errors import StoreError, UsageError
from gemmbench.report.store import Journal, Run
from gemmbench.session.reporter import SILENT
from gemmbench.session.results_file import NEWEST, Destination, choose_results


@pytest.fixture
def saved(tmp_path, environment, make_record):
    """A results file with one skip."""
    path = tmp_path / "old.jsonl"
    with Journal(Run(environment, path=path)) as journal:
        journal.write(make_record(status="skipped", reason="no"))
    return path


def test_a_new_run_has_a_file_of_its_own_name(tmp_path, environment):
    run = choose_results(environment, Destination(tmp_path), SILENT)
    assert run.path == tmp_path / f"{environment.run}.jsonl" and run.records == []


@pytest.mark.parametrize("by_name", [True, False])
def test_the_newest_run_or_a_named_one_is_resumed(saved, environment, notes, by_name):
    destination = Destination(saved.parent, str(saved) if by_name else NEWEST)
    assert len(choose_results(environment, destination, notes).records) == 1
    assert notes.messages == [f"resuming {saved}, which has 1 rows"]


def test_without_an_earlier_run_there_is_nothing_to_resume(tmp_path, environment):
    with pytest.raises(StoreError, match="nothing to resume"):
        choose_results(environment, Destination(tmp_path, NEWEST), SILENT)


def test_a_run_of_another_device_is_not_resumed(saved, environment):
    other = msgspec.structs.replace(environment, device="Other GPU")
    with pytest.raises(UsageError, match="measured on Fake GPU, this is Other GPU"):
        choose_results(other, replace(Destination(saved.parent), resume=str(saved)), SILENT)


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
        journal.write(make_record(status="skipped", reason="no"))
    destination = Destination(tmp_path, str(tmp_path / "old.jsonl"))
    choose_results(known, destination, SILENT)
    with pytest.raises(UsageError, match=re.escape(message)):
        choose_results(msgspec.structs.replace(known, **changed), destination, SILENT)
