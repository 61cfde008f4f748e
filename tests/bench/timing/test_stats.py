"""Statistics: times, intervals, paired ratios, verdicts; by hand where they are simple."""

import math

import numpy as np
import pytest

from gemmbench.bench.timing.stats import (
    WIDENING,
    Interval,
    Round,
    block_values,
    count_outliers,
    find_modes,
    quartiles,
    speed_ratio,
    spread_of_blocks,
    t_quantile,
    time_interval,
    unpaired_ratio,
    verdict,
)


def rounds(values):
    """Rounds in mirrored pairs, each pair a block."""
    return {Round(number // 2, number): value for number, value in enumerate(values)}


def pairs(values):
    """Both rounds of a mirrored pair take the same time."""
    return rounds([value for value in values for _ in range(2)])


def blocks(*values):
    """Blocks of mirrored pairs, each pair of two equal rounds."""
    turns = [(block, value) for block, pairs in enumerate(values) for value in pairs for _ in range(2)]
    return {Round(block, number): value for number, (block, value) in enumerate(turns)}


def ends(found):
    return found.value, found.low, found.high


def test_a_pair_is_the_mean_of_its_rounds_a_block_the_median_of_its_pairs_and_without_pairs_rounds_count():
    assert time_interval(rounds([1.0, 4.0])).value == pytest.approx(2.5)
    assert time_interval(blocks([2.0, 2.0, 100.0])).value == pytest.approx(2.0)
    assert block_values(blocks([1.0, 2.0, 9.0], [4.0])) == [2.0, 4.0]
    assert time_interval({Round(0, 0): 5.0, Round(1, 2): 1.0, Round(2, 4): 3.0}).value == 3.0


def test_an_interval_is_that_of_student_s_t_on_the_logarithms_of_blocks():
    # Logarithms -2 to 2: mean 0, standard deviation sqrt(2.5); t with 4 degrees of freedom is 2.7764.
    found = time_interval(pairs([math.exp(value) for value in (-2, -1, 0, 1, 2)]))
    reach = WIDENING * 2.7764451 * math.sqrt(2.5 / 5)
    assert found.value == pytest.approx(1)
    assert (math.log(found.low), math.log(found.high)) == pytest.approx((-reach, reach))


def test_pairs_of_one_block_are_one_value():
    # What differs between blocks shows in the interval, however often each is measured.
    apart = [1.0, 1.02, 1.0, 1.02, 1.01]
    once, often = time_interval(pairs(apart)), time_interval(blocks(*([value] * 20 for value in apart)))
    assert often.spread == pytest.approx(once.spread)


@pytest.mark.parametrize(
    ("freedom", "level", "quantile"),
    [
        *[(1, 0.95, 12.7062), (2, 0.95, 4.3027), (4, 0.95, 2.7764), (10, 0.95, 2.2281), (11, 0.95, 2.2010)],
        *[(30, 0.95, 2.0423), (120, 0.95, 1.9799), (math.inf, 0.95, 1.9600)],
        *[(1, 0.99, 63.6567), (2, 0.99, 9.9248), (5, 0.99, 4.0321), (30, 0.99, 2.7500), (math.inf, 0.99, 2.5758)],
        *[(1, 0.8, 3.0777), (4, 0.999, 8.6103), (120, 0.999, 3.3735)],
    ],
)
def test_quantiles_of_student_s_t(freedom, level, quantile):
    assert t_quantile(freedom, level) == pytest.approx(quantile, abs=1e-4)


@pytest.mark.parametrize("samples", [*(rounds([1.0] * count) for count in (1, 2, 3)), blocks([1] * 9)])
def test_under_two_blocks_there_is_no_interval(samples):
    found = time_interval(samples)
    assert found.value == pytest.approx(1.0) and not found.known
    assert math.isnan(found.low) and math.isnan(found.high)


def test_two_blocks_give_a_wide_interval_which_decides_a_factor_of_eight():
    found = speed_ratio(pairs([1.0, 1.03]), pairs([8.0, 8.0]))
    reach = WIDENING * 12.7062 * math.log(1.03) / 2  # one degree of freedom
    assert (math.log(found.value / found.low), math.log(found.high / found.value)) == pytest.approx((reach, reach))
    assert verdict(found) == "faster"
    assert verdict(speed_ratio(pairs([1.0, 1.03]), pairs([1.1, 1.1]))) == "inconclusive"


def test_an_interval_of_another_level_has_the_quantile_of_its_freedom():
    found = time_interval(pairs([1.0, 1.01, 1.02]))
    wider = found.at_level(0.99)
    assert wider.value == found.value and wider.freedom == 2
    factor = math.log(wider.high / wider.value) / math.log(found.high / found.value)
    assert factor == pytest.approx(9.9248 / 4.3027, rel=1e-4)
    assert math.log(wider.value / wider.low) == pytest.approx(math.log(wider.high / wider.value))
    assert ends(found.at_level(0.95)) == pytest.approx(ends(found))
    assert found.scale(3).invert().at_level(0.99).spread == pytest.approx(wider.spread)
    assert not Interval(1.0).at_level(0.99).known


def test_the_reciprocal_of_an_interval_has_its_ends_exchanged():
    assert ends(Interval(2.0, 1.0, 5.0).invert()) == (0.5, 0.2, 1.0)


def test_rounds_without_their_mirror_and_those_that_only_one_took_part_in_do_not_count():
    samples = pairs([1.0] * 2)
    del samples[Round(1, 3)]
    assert not time_interval(samples).known
    assert time_interval(pairs([1.0] * 2)).known
    assert speed_ratio(pairs([1.0] * 5), pairs([2.0] * 5 + [100.0] * 20)).value == pytest.approx(2)


def test_equal_samples_have_intervals_of_no_width_and_a_ratio_says_how_many_times_as_fast():
    assert ends(time_interval(pairs([2.0] * 8))) == pytest.approx((2.0, 2.0, 2.0))
    assert ends(speed_ratio(pairs([1.0] * 8), pairs([3.0] * 8))) == pytest.approx((3.0, 3.0, 3.0))


def test_the_ratio_is_that_of_the_pairs_and_not_of_the_samples_so_that_a_common_drift_does_not_change_it():
    assert speed_ratio(blocks([1, 1, 1, 4, 5]), blocks([1, 2, 3, 4, 5])).value == pytest.approx(1)
    drift = np.linspace(1.0, 1.3, 16)
    assert ends(speed_ratio(rounds(drift * 1.0), rounds(drift * 2.0))) == pytest.approx((2, 2, 2))


@pytest.mark.parametrize(
    ("mine", "base", "ratio"),
    [
        (pairs([1.0]), pairs([2.0] * 8), 2),
        ({Round(0, 0): 1.0, Round(0, 1): 1.0}, {Round(1, 2): 3.0, Round(1, 3): 3.0}, 3),  # medians are compared
    ],
    ids=["one block", "no shared pair"],
)
def test_under_two_shared_blocks_a_ratio_has_no_interval(mine, base, ratio):
    found = speed_ratio(mine, base)
    assert found.value == pytest.approx(ratio) and not found.known


def test_the_spread_of_blocks_is_the_slowest_against_the_fastest():
    assert spread_of_blocks(pairs([2.0, 2.1, 2.02])) == pytest.approx(0.05)
    assert math.isnan(spread_of_blocks(pairs([2.0])))


DRAWS = {
    "normal": lambda rng: rng.normal(0, 1, 30),
    "exponential": lambda rng: rng.exponential(1, 30),
    "bimodal": lambda rng: 6 * (rng.random(30) < 0.5) + rng.normal(0, 1, 30),
    "spikes": lambda rng: rng.normal(0, 1, 30) + (rng.random(30) < 0.1) * rng.exponential(8, 30),
}


@pytest.mark.parametrize("kind", DRAWS)
def test_five_blocks_cover_the_truth(kind):
    rng = np.random.default_rng(7)
    turns = [Round(number // 6, number) for number in range(30)]
    factors = [np.exp(0.005 * DRAWS[kind](rng)) for _ in range(800)]
    base = dict.fromkeys(turns, 1.0)
    intervals = [speed_ratio(dict(zip(turns, mine, strict=True)), base) for mine in factors]
    truth = math.exp(float(np.mean([math.log(each.value) for each in intervals])))
    assert 0.92 <= np.mean([each.low <= truth <= each.high for each in intervals]) <= 0.99


def test_two_modes_are_told_from_scatter():
    assert find_modes([1.0, 1.01, 1.0, 1.1, 1.11, 1.1]) == (1.0, 1.1)
    two_of_six = [1.0, 1.0, 1.0, 1.0, 1.1, 1.1]  # are not a mode
    for samples in (two_of_six, [1.0, 1.02, 1.04, 1.06, 1.08, 1.1], [1.0] * 10, []):
        assert find_modes(samples) is None
    rng = np.random.default_rng(8)
    assert np.mean([find_modes(rng.normal(1, 0.01, 30)) is not None for _ in range(400)]) <= 0.01


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.011, 1.2, "faster"),
        (0.8, 0.989, "slower"),
        (0.99, 1.01, "same"),
        (0.995, 1.005, "same"),
        (1.005, 1.2, "inconclusive"),
        (1.01, 1.2, "inconclusive"),
        (0.8, 0.99, "inconclusive"),
        (0.5, 2.0, "inconclusive"),
        (math.nan, math.nan, "inconclusive"),
    ],
)
def test_a_verdict_needs_the_whole_interval_on_one_side_of_one_percent(low, high, expected):
    assert verdict(Interval(1.0, low, high)) == expected


@pytest.mark.parametrize("count", [1, 2, 3, 6, 97])
def test_quartiles_are_those_of_numpy_bit_by_bit_and_come_with_the_minimum(count):
    assert quartiles([5.0, 1.0, 2.0, 4.0, 3.0]) == (1.0, 2.0, 4.0)
    assert quartiles([4.0]) == (4.0, 4.0, 4.0) and quartiles([8.0, 4.0]) == (4.0, 5.0, 7.0)
    samples = np.random.default_rng(count).uniform(1e-6, 1e-3, count).tolist()
    assert quartiles(samples)[1:] == tuple(np.percentile(samples, (25, 75)).tolist())


@pytest.mark.parametrize(
    ("samples", "count"),
    [([1, 2, 3, 4, 5], 0), ([1, 2, 3, 4, 100], 1), ([-90, 2, 3, 4, 100], 2), ([7.0], 0), ([7, 7], 0)],
)
def test_outliers_are_counted_by_tukey_s_fences(samples, count):
    assert count_outliers(samples) == count


# Two runs


SPREAD = 2 ** math.sqrt(2)


@pytest.mark.parametrize(
    ("base", "expected"),
    [(Interval(2.0, 1.0, 4.0), (2, 2 / SPREAD, 2 * SPREAD)), (Interval(2.0, 2.0, 2.0), (2, 1, 4))],
    ids=["an interval", "known exactly"],
)
def test_the_ends_of_two_intervals_add_like_variances(base, expected):
    assert ends(unpaired_ratio(Interval(4.0, 2.0, 8.0), base)) == pytest.approx(expected)


def test_what_differs_between_runs_adds_like_a_variance():
    found = unpaired_ratio(Interval(1.0, 1 / 1.04, 1.04), Interval(1.0, 1.0, 1.0), 0.03 / 1.96 / math.sqrt(2))
    assert math.log(found.high) == pytest.approx(math.hypot(math.log(1.04), 0.03), rel=1e-4)
    assert found.low == pytest.approx(1 / found.high)


@pytest.mark.parametrize(
    "unknown", [(Interval(4.0), Interval(2.0, 1.0, 4.0)), (Interval(4.0, 2.0, 8.0), Interval(2.0))]
)
def test_two_runs_have_an_interval_if_both_have_one(unknown):
    found = unpaired_ratio(*unknown)
    assert found.value == 2 and not found.known


def test_the_interval_of_two_runs_covers_the_truth():
    rng, covered = np.random.default_rng(5), 0
    for _ in range(200):
        slow, fast = (time_interval(pairs(rng.normal(scale, 0.02, 20).tolist())) for scale in (1.0, 0.5))
        ratio = unpaired_ratio(slow, fast)
        covered += ratio.low <= 2 <= ratio.high
    assert covered >= 180


@pytest.mark.parametrize(("margin", "word"), [(0.01, "slower"), (0.06, "same"), (0.04, "inconclusive")])
def test_a_verdict_has_a_margin(margin, word):
    assert verdict(Interval(0.95, 0.945, 0.965), margin) == word
