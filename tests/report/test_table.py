"""Tables and reports as text: what fits a screen, and formats that are always complete."""

import pytest

from gemmbench.report.table import Report, Table

TABLE = Table(
    "M = 64",
    ["kernel", "configuration", "time (ms)", "error (u)", "status"],
    [["tiled", "TILE=16 WPT=4 UNROLL=8", "1.234 +- 0.005", "3.25", "ok"]],
    ["a <note> about tiled"],
    left=["kernel", "status"],
    statuses=["ok"],
    fold=["configuration"],
    hide=["error (u)"],
)
REPORT = Report([TABLE], ["The footer."], "--wide")


def test_a_screen_names_what_it_hides_and_the_option_that_shows_it():
    assert REPORT.format("simple", 52).splitlines() == [
        "M = 64",
        "",
        "kernel  configuration       time (ms)  status",
        "------  -------------  --------------  ------",
        "tiled   TILE=16 WPT=4  1.234 +- 0.005  ok",
        "        UNROLL=8",
        "",
        "a <note> about tiled",
        "",
        "Hidden at 52 columns: error (u). --wide shows them.",
        "The footer.",
    ]


def test_a_wide_table_is_blocks_below_200_columns_and_a_table_from_there_on():
    wide = Report([Table(**{**vars(TABLE), "wide": True})])
    assert wide.format("simple", 199).splitlines()[2:4] == [
        "tiled  TILE=16 WPT=4 UNROLL=8",
        "  time (ms): 1.234 +- 0.005   error (u): 3.25             status: ok",
    ]
    assert wide.format("simple", 200) == wide.format("simple")
    assert "Hidden" not in wide.format("simple", 30)


@pytest.mark.parametrize("style", ["github", "tsv", "html", "latex", "grid"])
def test_other_formats_are_complete_at_any_width(style):
    assert REPORT.format(style, 20) == REPORT.format(style)
    assert "3.25" in REPORT.format(style, 20) and "Hidden" not in REPORT.format(style, 20)


def test_html_is_one_element_per_line_and_what_a_notebook_shows():
    html = REPORT.format("html")
    assert "<p>a &lt;note&gt; about tiled</p>" in html and "<p>The footer.</p>" in html
    assert REPORT._repr_html_() == html
    assert "1.234\xa0+-\xa00.005" in html and "TILE=16 WPT=4 UNROLL=8" in html  # a browser breaks no number
    assert "<pre>    ..X.</pre>" in Report([], ["    ..X."]).format("html")  # drawings keep their shape
    assert Report([]).format("simple", 80) == Report([]).format("github") == ""
