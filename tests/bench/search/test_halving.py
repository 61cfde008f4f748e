"""Which configurations go on to the next heat."""

from gemmbench.bench.search.halving import FINALISTS, choose_survivors, rank
from gemmbench.bench.timing.stats import Interval


def exactly(*seconds):
    return {number: Interval(each, each, each) for number, each in enumerate(seconds)}


def test_the_faster_half_goes_on():
    assert choose_survivors(exactly(*range(1, 41))) == list(range(20))


def test_the_last_eight_stay_whatever_they_take():
    assert choose_survivors(exactly(*range(1, 10))) == list(range(FINALISTS))
    assert choose_survivors(exactly(5, 1, 9)) == [1, 0, 2]


def test_a_slower_one_stays_while_its_interval_reaches_the_best():
    times = exactly(*range(10, 50)) | {"wide": Interval(60.0, 9.0, 90.0), "clear": Interval(60.0, 50.0, 70.0)}
    assert "wide" in choose_survivors(times) and "clear" not in choose_survivors(times)


def test_a_time_without_an_interval_may_be_off_by_a_few_percent():
    times = {number: Interval(1 + number / 100) for number in range(20)}
    assert set(choose_survivors(times)) == set(range(11))  # half are ten; 1.10 s may be as fast as 1.00 s
    assert rank(times)[0] == 0
