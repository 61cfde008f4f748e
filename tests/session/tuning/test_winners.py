"""The file of winners: what it holds, and for what a winner holds."""

import json

import pytest

from gemmbench.errors import StoreError
from gemmbench.planning.manifests.readers import read_variant
from gemmbench.planning.plans.plan import Config
from gemmbench.planning.problems.problem import Problem
from gemmbench.report.tuning.winners import Winner
from gemmbench.session.tuning.winners import (
    TunedConfigs,
    change_winners,
    export_winners,
    identify_code,
    keep_winners,
    read_winners,
    winners_path,
)

EIGHT = Problem(8, 8, 8)
BODY = """
extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
}
"""


@pytest.fixture
def variant(write_kernel):
    return read_variant(write_kernel("mine.cu", params={"T": "[1, 2]"}))


@pytest.fixture
def make_winner(machine, variant):
    def make(value=2, problem=EIGHT, **changed):
        known = identify_code(variant, machine.primary) | changed
        return Winner(**known, problem=problem, goal="time", config={"T": value}, value=1e-3)

    return make


def test_a_winner_replaces_one_for_the_same_code_and_problem_only(make_winner):
    keep_winners([make_winner(1), make_winner(1, Problem(9, 9, 9))])
    keep_winners([make_winner(2)])
    assert [(winner.problem.M, winner.config["T"]) for winner in read_winners()] == [(9, 1), (8, 2)]


def test_a_winner_that_was_not_measured_in_full_replaces_none_that_was(make_winner):
    keep_winners([make_winner(1, final=False)])
    keep_winners([make_winner(2, final=False)])
    assert [winner.config["T"] for winner in read_winners()] == [2]
    keep_winners([make_winner(1)])
    keep_winners([make_winner(2, final=False)])
    assert [winner.config["T"] for winner in read_winners()] == [1]


def test_a_few_of_what_is_missing_are_named(machine, variant):
    known = TunedConfigs([], machine)
    for side in (*range(1, 9), 1):
        known.find(variant, Problem(side, side, side))
    assert known.describe_missing() == f"{', '.join(f'mine at {side} nn f32' for side in range(1, 6))} and 3 more"


def test_a_winner_holds_for_its_device_versions_code_and_problem(make_winner, machine, variant, write_kernel):
    known = TunedConfigs([make_winner(2)], machine)
    assert known.find(variant, EIGHT) == Config((("T", 2),)) and known.missing == []
    assert known.find(variant, Problem(9, 9, 9)) is None and known.missing == ["mine at 9 nn f32"]
    changed = read_variant(write_kernel("mine.cu", params={"T": "[1, 2]"}, body=BODY + "// another\n"))
    assert known.find(changed, EIGHT) is None
    for name in ("device", "driver", "compiler"):
        assert TunedConfigs([make_winner(2, **{name: "another"})], machine).find(variant, EIGHT) is None


def test_the_newest_winner_counts(make_winner, machine, variant):
    winners = [make_winner(1), make_winner(2)]
    assert TunedConfigs(winners, machine).find(variant, EIGHT) == Config((("T", 2),))


def test_there_are_none_without_a_file(data_home):
    assert read_winners() == [] and winners_path() == data_home / "tuned.json"


def test_the_file_is_json_that_says_its_version(make_winner, tmp_path):
    path = keep_winners([make_winner()])
    content = json.loads(path.read_text())
    assert content["schema"] == 1 and content["winners"][0]["config"] == {"T": 2}
    export_winners(read_winners(), tmp_path / "export.json")
    assert json.loads((tmp_path / "export.json").read_text()) == content


@pytest.mark.parametrize(
    ("content", "message"), [("{", "broken: .*; repair it, or delete it"), ('{"schema": 9}', "a newer gemmbench")]
)
def test_a_file_that_cannot_be_read_is_an_error_and_stays(data_home, make_winner, content, message):
    path = data_home / "tuned.json"
    path.write_text(content)
    with pytest.raises(StoreError, match=message):
        keep_winners([make_winner()])
    assert path.read_text() == content


def test_winners_can_be_forgotten(make_winner):
    keep_winners([make_winner()])
    change_winners(lambda winners: [])
    assert read_winners() == []
