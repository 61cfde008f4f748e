"""How candidates compare after short rounds, and which are clearly slower."""

import random

import pytest

from gemmbench.bench.tuning.screening import Standing, collect_standings, make_slowness_test
from gemmbench.bench.tuning.tuning_task import TuningTask
from gemmbench.planning.plans.plan import make_chain
from gemmbench.planning.problems import Problem

PROBLEM = Problem(64, 64, 64)


@pytest.fixture
def task(make_plan):
    chains = tuple(make_chain(make_plan("naive", PROBLEM, {"T": value})) for value in range(4))
    return TuningTask("naive", PROBLEM, chains, make_chain(make_plan("cublas", PROBLEM)), lambda chain: ())


@pytest.fixture
def short_load(make_record):
    def make(variant, samples, batch=1, **config):
        fields = {"phase": "ranking", "batch": batch, "batch_key": f"key{batch}", "config": config}
        return make_record(variant, samples, blocks=[number // 2 for number in range(len(samples))], **fields)

    return make


def test_candidates_of_two_batches_compare_by_the_baseline_of_their_own(task, short_load):
    records = [
        short_load("naive", [2.0] * 4, T=0),
        short_load("cublas", [1.0] * 4),
        short_load("naive", [3.0] * 4, batch=2, T=1),  # at half the clock: it is faster than the other
        short_load("cublas", [2.0] * 4, batch=2),
    ]
    standings = collect_standings(task, records)
    assert [dict(each.key)["T"] for each in standings] == [1, 0]
    assert standings[1].slowdown(standings[0]) == pytest.approx(4 / 3)
    assert [len(each.values) for each in standings] == [4, 4]


def test_rounds_of_all_turns_count(task, short_load):
    records = [
        each
        for batch in (1, 2)
        for each in (short_load("naive", [2.0] * 4, batch, T=0), short_load("cublas", [1.0] * 4, batch))
    ]
    (standing,) = collect_standings(task, records)
    assert len(standing.values) == 8


def test_rounds_without_the_baseline_and_rows_that_are_not_right_do_not_count(task, short_load, make_record):
    assert collect_standings(task, [short_load("naive", [2.0] * 4, T=0)]) == []
    failed = make_record("naive", phase="ranking", status="failed", config={"T": 1})
    other = make_record("naive", [1.0] * 2, phase="sweep", config={"T": 2})
    assert collect_standings(task, [failed, other, short_load("cublas", [1.0] * 4)]) == []


def test_a_candidate_goes_by_its_interval_and_not_by_its_rank():
    best = Standing((("T", 0),), (0.0, 0.001))
    near, far = Standing((("T", 1),), (0.004, 0.006)), Standing((("T", 2),), (0.1, 0.101))
    is_clearly_slower = make_slowness_test([best, near, far])
    assert not is_clearly_slower(best) and not is_clearly_slower(near) and is_clearly_slower(far)


def test_a_disturbed_round_drops_no_candidate():
    best, disturbed = Standing((("T", 0),), (0.0, 0.001)), Standing((("T", 1),), (0.0, 0.5))
    others = [Standing((("T", number),), (0.2, 0.201)) for number in range(2, 40)]
    is_clearly_slower = make_slowness_test([best, *others, disturbed])
    assert not is_clearly_slower(disturbed) and all(map(is_clearly_slower, others))


def test_where_nothing_is_known_of_the_scatter_nothing_is_clearly_slower():
    one, other = Standing((("T", 0),), (0.0,)), Standing((("T", 1),), (5.0,))
    assert not make_slowness_test([one, other])(other)


def test_what_is_as_fast_as_the_best_is_hardly_ever_dropped():
    rng = random.Random(1)
    dropped = 0
    for _ in range(200):
        standings = [Standing((("T", number),), (rng.gauss(0, 0.02), rng.gauss(0, 0.02))) for number in range(30)]
        standings.sort(key=lambda each: each.mean)
        dropped += sum(map(make_slowness_test(standings), standings))
    assert dropped / (200 * 30) < 0.1
