"""Text from files: control characters become visible, everything else stays."""

import pytest

from gemmbench.planning.files import escape_cell, escape_controls
from gemmbench.report.page.html import tag
from gemmbench.report.table import Report, Table


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("tiled BM=8 +- 0.5 %", "tiled BM=8 +- 0.5 %"),
        ("naïve \u2500 \xa0 \U0001f600", "naïve \u2500 \xa0 \U0001f600"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b]0;owned\x07", r"\x1b]0;owned\x07"),
        ("a\rb\x00\x7f\x9b31m", r"a\rb\x00\x7f\x9b31m"),
        ("left \u202e right \u2066", r"left \u202e right \u2066"),
    ],
)
def test_only_control_characters_change(text, shown):
    assert escape_controls(text) == shown
    assert escape_controls(shown) == shown


def test_a_cell_stays_on_one_line():
    assert escape_cell("a\n\tb\x1b") == r"a\n\tb\x1b"


@pytest.mark.parametrize("style", ["simple", "github", "html", "tsv", "latex", "rst"])
def test_no_format_of_a_table_has_a_control_character(style):
    odd = "\x1b[31m\r\x9b"
    table = Table(odd, [odd, "status"], [[odd, "ok"]], notes=[odd], left=[odd])
    text = Report([table], footer=[odd], details=[odd], closing=[odd]).format(style)
    assert not set(text) & set(odd) - set("[31m")
    assert text.count(r"\x1b") + text.count(r"\textbackslash{}x1b") >= 5


def test_a_page_has_no_control_character():
    assert tag("p", "<\x1b>", title="\x07") == r'<p title="\x07">&lt;\x1b&gt;</p>'
