"""Constants fitted to times: what made the times is found again, and a few or wild times lead nobody astray."""

import random

import numpy as np
import pytest

from gemmbench.bench.tuning.cost_fit import (
    UNIT,
    find_pick,
    fit_costs,
    fit_nonnegative,
    is_held_out,
    judge_picks,
    list_terms,
)
from gemmbench.bench.tuning.survey import SurveyedShape
from gemmbench.errors import UsageError
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.expansion import collect_names, estimate_time, evaluate_costs
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.problems import Problem

BARE = {"symbol": None, "grid": None, "block": None, "body": ""}
ESTIMATES = "\n  small:\n    tiles: cdiv(M, BM) * cdiv(N, BM)\n    time: 1000 * start + each * K * cdiv(tiles, SMS)"
COSTS = "\n  small:\n    start: 2000\n    each: BM * BM * 2"
ROWS = [
    "when: K <= 8\n    variant: small",
    "when: K <= 100\n    region: short\n    candidates:\n      - small: {BM: [32, 64, 128]}",
    "candidates:\n      - small: {BM: [32, 64, 128]}",
]
GPU = Target("cuda", 90, 132, 227 << 10, 50 << 20, 1 << 36, name="NVIDIA H100")
TRUTH = {32: {"start": 3000, "each": 5000}, 64: {"start": 2500, "each": 9000}, 128: {"start": 4000, "each": 30000}}
LIBRARY = ("cublas", ())


@pytest.fixture
def best(write_kernel):
    """A pick of three tiles of `small`, with a region for a K of at most 100 and a plain row for at most 8."""

    def read(estimates=ESTIMATES, costs=COSTS, rows=ROWS, **keys):
        path = write_kernel("small.cu", params={"BM": "[32, 64, 128]"})
        write_kernel("best.cu", **BARE, estimates=estimates, costs=costs, pick=rows, **keys)
        return Catalog([path.parent]).get("best")

    return read


def survey(variant, count, seed=1, noise=0.0, truth=TRUTH, least=9, only=()):
    """Times of drawn shapes that these constants give, in seconds."""
    source, shapes = random.Random(seed), []
    for _ in range(count):
        problem = Problem(*(source.randrange(32, 4000) for _ in "MN"), source.randrange(least, 3000))
        names, times = collect_names(variant, problem, GPU), {}
        for pick in variant.picks:
            if pick.estimate is not None and (not only or pick.values["BM"] in only):
                costs = truth[pick.values["BM"]]
                time = estimate_time(variant, pick, names, {(pick.region, pick.candidate): costs})
                times[pick.candidate] = time * UNIT * source.uniform(1 - noise, 1 + noise)
        shapes.append(SurveyedShape(problem, "any", {**times, LIBRARY: min(times.values()) * 0.8}))
    return shapes


def collect(parts, region=""):
    (found,) = (part.costs for part in parts if part.region == region)
    return {dict(values)["BM"]: costs for (_, values), costs in found.items()}


def test_terms_are_what_each_constant_adds(best):
    variant = best()
    pick = variant.picks[-1]
    names = collect_names(variant, Problem(200, 100, 50), GPU)
    assert list_terms(variant, pick, names) == (0.0, [1000.0, 50.0])
    assert evaluate_costs(variant, pick, names) == {"start": 2000, "each": 32768}


def test_the_constants_that_made_the_times_are_found_again_in_each_region(best):
    variant = best()
    found = fit_costs(variant, GPU, survey(variant, 400, noise=0.02))
    assert [(part.precision, part.region) for part in found] == [("f32", "short"), ("f32", "")]
    for edge, costs in collect(found).items():
        for name, value in costs.items():
            assert value == pytest.approx(TRUTH[edge][name], rel=0.1), (edge, name)


def test_a_few_times_move_constants_a_little_and_none_at_all_scale_the_defaults(best):
    variant = best()
    twice = {edge: {"start": 4000, "each": 4 * edge * edge} for edge in TRUTH}  # twice the defaults
    found = collect(fit_costs(variant, GPU, survey(variant, 200, truth=twice, least=101, only=(32, 64))))
    assert found[128]["each"] == pytest.approx(twice[128]["each"], rel=0.05)
    one = collect(fit_costs(variant, GPU, survey(variant, 1, truth=twice, least=101)))
    assert all(evaluate < costs["each"] < twice[edge]["each"] * 1.2 for edge, costs in one.items()
               for evaluate in [2 * edge * edge])  # fmt: skip


SHARED = {
    "estimates": "\n  small:\n    tiles: cdiv(M, BM) * cdiv(N, BM)\n"
    "    time: 1000 * start + max(1000 * wait, cell * BM * BM * K // 64 * cdiv(tiles, SMS))",
    "costs": "\n  small: {start: 2000, wait: 1000, cell: 50}",
    "shared_costs": "[small]",
}


def survey_shared(variant, count, truth, seed=1, noise=0.05):
    source, shapes = random.Random(seed), []
    key = variant.picks[-1].costs_key
    for _ in range(count):
        problem = Problem(*(source.randrange(32, 4000) for _ in "MN"), source.randrange(9, 400))
        names = collect_names(variant, problem, GPU)
        times = {
            pick.candidate: estimate_time(variant, pick, names, {key: truth})
            * UNIT
            * source.uniform(1 - noise, 1 + noise)
            for pick in variant.picks
            if pick.estimate is not None
        }
        shapes.append(SurveyedShape(problem, "any", times))
    return shapes


def test_shared_constants_are_found_even_if_the_estimate_is_not_linear_in_them(best):
    variant, truth = best(**SHARED), {"start": 3500, "wait": 6000, "cell": 120}
    (part,) = fit_costs(variant, GPU, survey_shared(variant, 150, truth))
    assert (part.precision, part.region, list(part.costs)) == ("f32", "", [("small", ())])
    assert part.costs["small", ()] == pytest.approx(truth, rel=0.1)


def test_a_wild_time_does_not_move_shared_constants_and_a_wrong_candidate_is_none(best):
    variant, truth = best(**SHARED), {"start": 3500, "wait": 6000, "cell": 120}
    shapes = survey_shared(variant, 150, truth)
    wild = [SurveyedShape(each.problem, "any", {name: 9 * t for name, t in each.times.items()}) for each in shapes[:8]]
    wrong = variant.picks[-1].candidate
    (part,) = fit_costs(variant, GPU, [*shapes[8:], *wild], {wrong})
    assert part.costs["small", ()] == pytest.approx(truth, rel=0.15)
    assert {name for name, costs in part.costs.items() if costs is None} == {wrong}


def test_a_region_without_times_is_left_out(best):
    variant = best()
    assert [part.region for part in fit_costs(variant, GPU, survey(variant, 20, least=101))] == [""]
    assert fit_costs(variant, GPU, []) == []


def test_shapes_of_a_row_without_candidates_do_not_count(best):
    variant = best()
    shape = SurveyedShape(Problem(500, 500, 5), "flat", {pick.candidate: 1e-6 for pick in variant.picks})
    assert fit_costs(variant, GPU, [shape]) == []


def test_what_is_picked_with_fitted_constants_is_the_fastest_at_other_shapes(best):
    variant = best()
    parts = fit_costs(variant, GPU, survey(variant, 300, noise=0.03))
    fitted = {"f32": {(part.region, each): part.costs[each] for part in parts for each in part.costs}}
    judged = judge_picks(variant, GPU, survey(variant, 200, seed=2), fitted, {})
    losses, before = ([getattr(each, name) for each in judged] for name in ("loss", "loss_in_use"))
    assert np.mean(losses) < 0.01 < np.mean(before)
    assert all(each.library == "cublas" and each.best_share == pytest.approx(0.8) for each in judged)
    assert judged[0].share == pytest.approx(0.8 / (1 + judged[0].loss))


def test_what_failed_is_not_picked_and_a_shape_without_times_is_not_judged(best):
    variant = best()
    (shape,) = survey(variant, 1, only=(128,))
    assert find_pick(variant, GPU, shape, {}) == next(iter(shape.times))
    nothing = SurveyedShape(shape.problem, "any", {LIBRARY: 1e-6})
    assert find_pick(variant, GPU, nothing, {}) is None and judge_picks(variant, GPU, [nothing], {}, {}) == []


@pytest.mark.parametrize(
    ("problem", "aligned"),
    [(Problem(7, 8, 8), True), (Problem(8, 8, 7), False), (Problem(7, 8, 8, "tn"), False), (Problem(8, 9, 8), False)],
)
def test_rows_are_aligned_if_all_are_multiples_of_16_bytes(best, problem, aligned):
    variant = best()
    shape = SurveyedShape(problem, "any", {pick.candidate: 1e-6 for pick in variant.picks})
    (judged,) = judge_picks(variant, GPU, [shape], {}, {})
    assert judged.is_aligned == aligned


def test_an_estimate_must_be_a_sum_of_its_constants(best):
    variant = best(estimates="\n  small:\n    time: start * each * K")
    with pytest.raises(UsageError, match=r"best\.cu:\d+: the estimate of small is not a sum of its constants"):
        fit_costs(variant, GPU, [SurveyedShape(Problem(9, 9, 200), "any", {variant.picks[-1].candidate: 1e-6})])


def test_an_estimate_may_have_a_part_without_constants(best):
    variant = best(estimates="\n  small:\n    time: 1000 * K + start * 1000", costs="\n  small:\n    start: 100")
    truth = {edge: {"start": 5000} for edge in TRUTH}
    found = collect(fit_costs(variant, GPU, survey(variant, 50, truth=truth, least=101)))
    assert all(costs["start"] == pytest.approx(5000, rel=0.05) for costs in found.values())


def test_no_constant_is_below_0_and_far_times_count_less():
    shares = np.array([[1.0, x] for x in range(1, 11)])
    zero = np.zeros(2)

    def fit(times, prior=zero, pull=1e-9):
        return fit_nonnegative(shares / times[:, None], np.ones(len(times)), prior, pull)

    assert np.allclose(fit(3 + 2 * shares[:, 1]), [3, 2], rtol=1e-3)
    assert fit(2.5 * shares[:, 1] - 1)[0] == 0
    spoilt = 3 + 2 * shares[:, 1]
    spoilt[4] *= 3
    assert np.allclose(fit(spoilt), [3, 2], rtol=0.05)
    assert np.allclose(fit(3 + 2 * shares[:, 1], np.array([3.0, 2.0]), 1e6), [3, 2])
    assert np.array_equal(fit_nonnegative(np.zeros((0, 2)), np.zeros(0), np.array([3.0, 2.0])), [3, 2])


def test_shapes_are_held_out_by_their_shape_alone():
    problems = [Problem(m, 10, 10) for m in range(1, 1001)]
    held = [each for each in problems if is_held_out(each, 0.2, 0)]
    assert 150 < len(held) < 250
    assert all(is_held_out(Problem(each.M, 10, 10, "tn", "bf16"), 0.2, 0) for each in held)
    assert held != [each for each in problems if is_held_out(each, 0.2, 1)]
    assert not any(is_held_out(each, 0.0, 0) for each in problems)
