"""Rows of `pick` are changed in the text; everything else stays as it is written."""

import pytest

from gemmbench.errors import SpecError
from gemmbench.session.dispatch import PickRow, replace_pick_rows

TEXT = """/*---
summary: a test
pick:                       # written by hand
  - when: M <= 4            # few rows
    variant: narrow         # the old one
    params: {A: 1, B: 2}    # and its parameters
  # the middle
  - variant: middle
    when: M <= 8
  - when: M <= 16
    variant: tiled
    params:
      TILE: 8
  - variant: last
source: a page
---*/
// - variant: narrow
"""


def test_a_row_gets_another_variant_and_parameters_and_keeps_condition_and_comments():
    changed = replace_pick_rows(TEXT, {0: PickRow("wide", {"X": 3})}, "a.cu")
    wanted = TEXT.replace("variant: narrow         # the old", "variant: wide         # the old")
    assert changed == wanted.replace("{A: 1, B: 2}", "{X: 3}")


def test_a_row_without_parameters_gets_them():
    changed = replace_pick_rows(TEXT, {1: PickRow("wide", {"X": 3})}, "a.cu")
    wanted = "  - variant: wide\n    params: {X: 3}\n    when: M <= 8\n"
    assert changed == TEXT.replace("  - variant: middle\n    when: M <= 8\n", wanted)


def test_several_rows_change_at_once_and_nothing_without_rows():
    rows = {0: PickRow("one", {"A": 1}), 3: PickRow("two", {"B": 1})}
    changed = replace_pick_rows(TEXT, rows, "a.cu")
    assert "    variant: one " in changed and "  - variant: two\n    params: {B: 1}\nsource: a page" in changed
    assert replace_pick_rows(TEXT, {}, "a.cu") == TEXT


@pytest.mark.parametrize(("number", "message"), [(2, "a.cu:12: pick: write `params: "), (9, "a.cu: pick: its rows")])
def test_a_row_in_another_style_is_refused_with_its_line(number, message):
    with pytest.raises(SpecError) as fault:
        replace_pick_rows(TEXT, {number: PickRow("x", {"A": 1})}, "a.cu")
    assert str(fault.value).startswith(message)
