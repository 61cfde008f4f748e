"""Tables and reports as text: what fits a screen, and formats that are always complete."""

import html
import re

import pytest
from markdown_it import MarkdownIt

from gemmbench.planning.files import escape_controls
from gemmbench.report.export import format_csv
from gemmbench.report.table import Report, Table, escape_markdown

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
        "The footer.",
        "Hidden: error (u) (--wide).",
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


MARKUP = [
    "a|b",
    "a\\\\|b\\\\",
    "<img src=x onerror=alert(1)>",
    "[x](http://evil.example) ![i](x) [ref]",
    "**b** *i* _x_ __y__ a_b_c ~~s~~",
    "`a<b>` ``x`` `[a](b)` `",
    "&lt;b&gt; &amp; &#60;",
    *("# h", "- x", "+ x", "* x", "1. x", "12) x", "> q", "===", "---", "```", "~~~", "_", "-", "+", "1)", "2."),
]


@pytest.mark.parametrize("text", MARKUP)
def test_markdown_shows_text_as_it_is(text):
    """As a title, a heading, a cell, a note of two lines, a line of the footer and a closing line."""
    table = Table(text, ["kernel", text], [[text, text]], [f"{text}\n{text}"], left=["kernel"])
    written = Report([table], [text], closing=[text]).format("github") + f"\n**{escape_markdown(text)}**\n"
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(written)
    allowed = {"h3", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "p", "strong"}
    assert set(re.findall(r"<(\w+)", page)) <= allowed
    shown = [html.unescape(re.sub(r"<[^>]*>", "", each)) for each in re.split("<(?:h3|t[hd]|li|strong)[ >]", page)[1:]]
    assert sum(text in each for each in shown) == 8


def test_an_indented_line_below_a_table_is_no_code():
    assert Report([], ["     x\n\ty"]).format("github") == "- x\n  y\n"


def test_a_command_in_a_footer_stays_code():
    assert escape_markdown("reads_c; see `gemmbench run naive --sizes 16`.").endswith(
        "`gemmbench run naive --sizes 16`."
    )


@pytest.mark.parametrize("style", ["latex", "latex_raw", "latex_booktabs", "latex_longtable"])
def test_latex_sets_text_as_it_is_also_outside_the_table(style):
    text = r"\input{x} 5 % $a_1^2$ #&~<>"
    escaped = r"\textbackslash{}input\{x\} 5 \% \$a\_1\^{}2\$ \#\&\textasciitilde{}\ensuremath{<}\ensuremath{>}"
    table = Table(text, [text], [[text]], [text], left=[text])
    written = Report([table], [text], closing=[text]).format(style)
    assert written.count(escaped) == written.count("input") == 6


@pytest.mark.parametrize("style", ["html", "unsafehtml"])
def test_html_has_no_tag_of_a_name(style):
    text = "<img src=x>&amp;"
    written = Report([Table(text, [text], [[text]], [text], left=[text])], [text], closing=[text]).format(style)
    assert "<img" not in written and written.replace("\xa0", " ").count("&lt;img src=x&gt;&amp;amp;") == 6


FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", "\n=1", "\uff1d1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_spreadsheet_computes_no_text(text):
    rows = format_csv([{"variant": text, "seconds": -1.5, "count": -2, "none": None}]).split("\n", 1)[1]
    assert rows.lstrip('"').startswith("'" + escape_controls(text)[:2]) and rows.endswith(",-1.5,-2,\n")


@pytest.mark.parametrize("text", ["x;=1+1", 'x;"=1+1"', "1;-2;@SUM(1)"])
def test_a_spreadsheet_that_ends_cells_at_semicolons_computes_no_text(text):
    written = format_csv([{"variant": "naive", "reason": text}]).split("\n", 1)[1]
    assert not any(re.match('"*[=+@-]', cell) for cell in written.split(";")[1:])


def test_tsv_has_no_padding_and_half_widths_in_columns_of_their_own():
    table = Table("", ["kernel", "%", "ms"], [["=1+1", "-5.1", "2.0 +- 0.1"], ["-", "-", "-"]], left=["kernel"])
    lines = [line.split("\t") for line in Report([table], ["=1"]).format("tsv").splitlines()]
    assert lines == [["kernel", "%", "ms", "+-"], ["'=1+1", "-5.1", "2.0", "0.1"], ["-", "-", "-", ""], [""], ["'=1"]]
