"""Labels moved apart."""

import itertools

from gemmbench.report.charts.spread import spread


def test_labels_with_room_stay_where_they_are():
    assert spread([10, 90, 50], 16, 0, 100) == [10, 90, 50]


def test_labels_that_overlap_move_apart_around_their_mean():
    assert spread([50, 50], 16, 0, 100) == [42, 58]
    assert spread([52, 50, 51], 10, 0, 100) == [61, 41, 51]


def test_labels_stay_within_their_range():
    assert spread([99, 99, 98], 10, 0, 100) == [90, 100, 80]
    assert spread([1, 0], 10, 0, 100) == [10, 0]


def test_labels_keep_their_order():
    places = spread([30, 31, 33, 70, 72, 29], 12, 0, 120)
    assert sorted(range(6), key=places.__getitem__) == [5, 0, 1, 2, 3, 4]
    ordered = sorted(places)
    assert all(after - before >= 12 - 1e-9 for before, after in itertools.pairwise(ordered))
