"""The file of winners: what it holds, and for what a winner holds."""

import errno
import json
import os
from pathlib import Path

import pytest

from gemmbench.backends.locks import hold_lock
from gemmbench.errors import StoreError
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.plans.plan import Config
from gemmbench.planning.problems import Problem
from gemmbench.report.tables.search_tables import Winner, report_winners
from gemmbench.session.winners import (
    TunedConfigs,
    export_winners,
    identify_code,
    keep_winners,
    read_winners,
)

pytestmark = pytest.mark.usefixtures("few_shapes")

EIGHT = Problem(8, 8, 8)


@pytest.fixture
def variant(write_kernel):
    return read_variant(write_kernel("mine.cu", params={"T": "[1, 2]"}))


@pytest.fixture
def make_winner(machine, variant):
    def make(choice=2, problem=EIGHT, **changed):
        known = identify_code(variant, machine.primary) | changed
        return Winner(**{"value": 1e-3} | known, problem=problem, goal="time", config={"T": choice})

    return make


def test_a_winner_replaces_one_for_the_same_code_and_problem_only(make_winner):
    keep_winners([make_winner(1), make_winner(1, Problem(9, 9, 9))])
    keep_winners([make_winner(2)])
    assert [(winner.problem.M, winner.config["T"]) for winner in read_winners()] == [(9, 1), (8, 2)]


def test_winners_of_the_cpu_device_have_its_caveat_and_no_percentage(make_winner, tmp_path):
    caveat = "on the CPU device, which says nothing about a GPU"
    winner = make_winner(1, percent_of_baseline=90.0, baseline="openblas", device="A CPU", driver="", caveat=caveat)
    (table,) = report_winners([winner, make_winner(2)]).tables
    assert list(table.notes) == [f"A CPU: {caveat}."]
    assert table.cells[0][table.headings.index("% of baseline")] == "-"
    export_winners([winner], tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text())["winners"][0]["caveat"] == caveat


def test_a_better_winner_that_a_narrower_search_did_not_try_stays(make_winner):
    keep_winners([make_winner(1, percent_of_baseline=90.0, baseline="cublas")])
    slow, fast = (make_winner(2, percent_of_baseline=share, baseline="cublas") for share in (80.0, 95.0))
    kept = keep_winners([slow], lambda winner: False)
    assert (kept.added, [winner.config["T"] for winner in kept.stayed]) == ([], [1])
    assert keep_winners([slow], lambda winner: winner.config != {"T": 1}).added == []
    assert keep_winners([fast], lambda winner: False).added == [fast] and read_winners() == [fast]
    assert keep_winners([slow], lambda winner: True).added == [slow] and read_winners() == [slow]


def test_without_a_common_baseline_the_values_decide(make_winner):
    keep_winners([make_winner(1, percent_of_baseline=90.0, baseline="cublas")])
    assert keep_winners([make_winner(2, value=2e-3)], lambda winner: False).added == []
    assert keep_winners([make_winner(2, value=0.5e-3)], lambda winner: False).stayed == []


def test_a_few_of_what_is_missing_are_named(machine, variant):
    known = TunedConfigs([], machine)
    for side in (*range(1, 9), 1):
        known.find(variant, Problem(side, side, side))
    assert known.describe_missing() == f"{', '.join(f'mine at {side} nn f32' for side in range(1, 6))} and 3 more"


def test_a_winner_holds_for_its_device_versions_code_and_problem(make_winner, machine, variant, write_kernel):
    known = TunedConfigs([make_winner(2)], machine)
    assert known.find(variant, EIGHT) == Config((("T", 2),)) and known.missing == []
    assert known.find(variant, Problem(9, 9, 9)) is None and known.missing == ["mine at 9 nn f32"]
    changed = read_variant(write_kernel("mine.cu", params={"T": "[1, 2]"}, summary="another text"))
    assert known.find(changed, EIGHT) is None
    for changed in ({"device": "another"}, {"driver": "another"}, {"compiler": "another"}, {"sms": 1}):
        assert TunedConfigs([make_winner(2, **changed)], machine).find(variant, EIGHT) is None


def test_the_newest_winner_counts(make_winner, machine, variant):
    winners = [make_winner(1), make_winner(2)]
    assert TunedConfigs(winners, machine).find(variant, EIGHT) == Config((("T", 2),))


def test_the_file_is_json_that_says_its_version(make_winner, tmp_path):
    path = keep_winners([make_winner()]).path
    content = json.loads(path.read_text())
    assert content["schema"] == 1 and content["winners"][0]["config"] == {"T": 2}
    export_winners(read_winners(), tmp_path / "export.json")
    assert json.loads((tmp_path / "export.json").read_text()) == content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "broken: .*; repair it, or delete it"),
        (b'{"schema": 1, "winners": ["\xff"]}', "broken: .*; repair it, or delete it"),
        (b"[" * 200_000, "broken: .*; repair it, or delete it"),
        (b'{"x":' * 200_000, "broken: .*; repair it, or delete it"),
        (b'{"schema": 9}', "a newer gemmbench"),
    ],
    ids=range(5),
)
def test_a_file_that_cannot_be_read_is_an_error_and_stays(data_home, make_winner, content, message):
    path = data_home / "tuned.json"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=message):
        keep_winners([make_winner()])
    assert path.read_bytes() == content


def test_a_fifo_in_its_place_is_an_error_and_keeps_nobody_waiting(data_home):
    os.mkfifo(data_home / "tuned.json")
    with pytest.raises(StoreError, match="it is not a file; remove it"):
        read_winners()


def test_a_lock_that_another_process_keeps_is_an_error_that_names_the_next_step(make_winner, data_home, monkeypatch):
    monkeypatch.setattr(hold_lock.__wrapped__, "__defaults__", (0.1,))
    message = r"tuned\.json: cannot be written: .* held the lock .*tuned\.lock .* GEMMBENCH_DATA_DIR"
    with hold_lock(data_home / "tuned.lock"), pytest.raises(StoreError, match=message):
        keep_winners([make_winner()])
    keep_winners([make_winner()])


def test_a_full_disk_leaves_the_file_and_no_draft(make_winner, monkeypatch, data_home):
    keep_winners([make_winner(1)])
    before = (data_home / "tuned.json").read_bytes()
    monkeypatch.setattr(Path, "write_text", fill_disk)
    with pytest.raises(StoreError, match="No space left on device; set GEMMBENCH_DATA_DIR to another folder"):
        keep_winners([make_winner(2)])
    with pytest.raises(StoreError, match=r"cannot write .*export\.json: No space left on device"):
        export_winners(read_winners(), data_home / "export.json")
    assert (data_home / "tuned.json").read_bytes() == before
    assert sorted(path.name for path in data_home.iterdir()) == ["tuned.json", "tuned.lock"]


def fill_disk(path, text, encoding):
    path.write_bytes(text[:9].encode())
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
