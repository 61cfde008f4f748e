"""Rows and sentences as lines."""

from gemmbench.report.layout import draw_row, wrap_text


def test_numbers_are_aligned_right_and_text_left_and_text_folds_between_words():
    assert draw_row(["tiled", "TILE=16 WPT=4", "1.5"], [6, 7, 4], [True, True, False]) == [
        "tiled   TILE=16   1.5",
        "        WPT=4",
    ]


def test_sentences_wrap_with_an_indent_and_drawings_stay():
    assert wrap_text("one two three four five six", 20) == ["one two three four", "  five six"]
    assert wrap_text("  drawing  that is longer than twenty", 20) == ["  drawing  that is longer than twenty"]
    assert wrap_text("one two three four five six", None) == ["one two three four five six"]
