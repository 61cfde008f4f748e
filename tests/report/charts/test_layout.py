"""Widths of text, text in lines, labels moved apart."""

import itertools

import pytest

from gemmbench.report.charts.chart_style import spread, text_width, wrap_text


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


def test_text_is_wrapped_at_words():
    lines = wrap_text("one two three four five six seven", 80)
    assert " ".join(lines) == "one two three four five six seven" and len(lines) > 1
    assert all(text_width(line) <= 80 for line in lines)


@pytest.mark.parametrize(("wide", "narrow"), [("WWW", "iii"), ("sgemm_tma", "sgemm_t"), ("aa", "a")])
def test_wide_text_is_estimated_as_wider(wide, narrow):
    assert text_width(wide) > text_width(narrow)
