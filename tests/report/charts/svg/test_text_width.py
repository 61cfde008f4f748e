"""Widths of text, and text cut into lines."""

import pytest

from gemmbench.report.charts.svg.text_width import text_width, wrap_text


def test_text_is_wrapped_at_words():
    lines = wrap_text("one two three four five six seven", 80)
    assert " ".join(lines) == "one two three four five six seven" and len(lines) > 1
    assert all(text_width(line) <= 80 for line in lines)


@pytest.mark.parametrize(("wide", "narrow"), [("WWW", "iii"), ("sgemm_tma", "sgemm_t"), ("aa", "a")])
def test_wide_text_is_estimated_as_wider(wide, narrow):
    assert text_width(wide) > text_width(narrow)
