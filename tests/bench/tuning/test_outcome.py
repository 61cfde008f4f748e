"""What a search found: ties, and what candidates are worth relative to the baseline."""

import math

import pytest

from gemmbench.bench.record import Load, Sustained
from gemmbench.bench.tuning.outcome import SearchOutcome
from gemmbench.bench.tuning.screening import Standing
from gemmbench.bench.tuning.tuning_task import TuningTask
from gemmbench.planning.plans.plan import make_chain
from gemmbench.planning.problems import Problem

PROBLEM = Problem(64, 64, 64)


def under_load(seconds):
    return Sustained(own=[Load(seconds=seconds, launches=1)])


@pytest.fixture
def make_outcome(make_plan, make_record):
    """Three candidates with 1, 2 and 4 times the time of the baseline; the first two were measured in full."""

    def make(goal, loads=(1.0, 1.0)):
        chains = tuple(make_chain(make_plan("naive", PROBLEM, {"T": value})) for value in range(3))
        task = TuningTask("naive", PROBLEM, chains, make_chain(make_plan("cublas", PROBLEM)), lambda chain: ())
        standings = [Standing((("T", value),), (math.log(2**value),)) for value in range(3)]
        fields = {"phase": "final", "batch_key": "finals"}
        finals = [
            make_record("naive", [2.0**value] * 10, config={"T": value}, sustained=under_load(load), **fields)
            for value, load in enumerate(loads)
        ]
        anchor = make_record("cublas", [1.0] * 10, sustained=under_load(1.0), **fields)
        return SearchOutcome(task, goal, standings, {}, {}, finals, anchors=[anchor])

    return make


@pytest.mark.parametrize(
    ("goal", "loads", "expected"),
    [("time", (1.0, 1.0), [1, 2, 4]), ("sustained", (1.5, 3.0), [1.5, 3, 6]), ("sustained", (4.0, 2.0), [4, 2, 8])],
)
def test_candidates_are_worth_what_the_finals_say_and_others_shift_as_the_finalists_do(
    make_outcome, goal, loads, expected
):
    found = make_outcome(goal, loads).relative_values
    assert [math.exp(value) for _, value in sorted(found.items())] == pytest.approx(expected)


def test_under_a_load_values_that_differ_by_half_a_percent_tie(make_outcome):
    outcome = make_outcome("sustained", loads=(1.004, 1.0))
    assert outcome.winner.config == {"T": 1} and [record.config["T"] for record in outcome.ties] == [0]
    assert make_outcome("sustained", loads=(1.01, 1.0)).ties == []
