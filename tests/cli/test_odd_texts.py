"""Odd texts of a results file in every output: shown, but never markup, a formula, a control or a workflow command."""

import csv
import io
import json
import re
from xml.etree import ElementTree

import pytest

from gemmbench.cli.options import FORMATS
from gemmbench.planning.files import escape_controls

TEXTS = [
    "::error::x",
    " ::warning file=a::x",
    "##[error]x",
    "a\n::add-mask::b",
    "a\r::stop-commands::b",
    "a\r=1+1",
    "\x1b]0;title\x07\x1b[31m",
    "\u202egnp.exe",
    "\u2028::debug::x",
    "<img src=x onerror=alert(1)>",
    "</td></table><script>alert(1)</script>",
    "]]><x/>",
    "[x](javascript:alert(1)) ![x](http://evil.example/x.png)",
    "a|b||c",
    "**b** `c` # d",
    r"\input{/etc/passwd} $x$ % &",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)",
    "+1-1",
    "\U0001f600 \u00fc \u4e2d",
]
EXPORTS = ["csv", "json", "markdown"]
TAGS = re.compile(r"<(?:img|script|x/)")


@pytest.fixture(params=TEXTS, ids=range(len(TEXTS)))
def text(request):
    return request.param


@pytest.fixture
def odd(gemmbench, saved, text, monkeypatch):
    """A results file with the text as a name, a reason, a device, a version, a configuration and printed lines."""
    gemmbench("run", "naive", "tiled", "--device", "fake", "--sizes", "16", "--rounds", "2", "--cache", "hot")
    journal = saved()[0]
    head, *rows = map(json.loads, journal.read_text().splitlines())
    head |= {"device": text, "sweep": text, "host": text, "software": {text: text}}
    for row in rows:
        if row.get("variant") == "naive":
            row |= {"variant": text, "status": "failed", "reason": text, "printed": text, "config": {text: 1}}
            row |= {"samples": [], "rounds": [], "blocks": [], "path": text}
        elif row.get("variant") == "tiled":
            row |= {"picked": text, "libraries": {text: text}}
    lines = [json.dumps(row, ensure_ascii=True) for row in [head, *rows]]
    journal.write_text("".join(f"{line}\n" for line in lines))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    return journal


def check_plain(shown):
    """No control character, and nothing that a runner of GitHub Actions obeys."""
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]", shown)
    assert not re.search(r"(?m)^\s*::|##\[", shown)


def test_tables_show_texts_as_they_are(gemmbench, odd):
    for style in ("rich", *FORMATS):
        said = gemmbench("show", odd, "--format", style)
        assert said.code == 0 and (style == "tsv" or not said.err), style
        check_plain(said.out + said.err)
        if "html" in style or style in ("github", "pipe"):
            assert not TAGS.search(said.out), style
        if style.startswith("latex"):
            assert r"\input{" not in said.out and "$x$" not in said.out, style
        if style == "tsv":
            assert not re.search(r"(?m)(?:^|\t)[ ]*[=@+]\w", said.out)


def test_other_lines_show_texts_as_they_are(gemmbench, odd):
    for words in ([odd.parent], [odd, odd], [odd, "--explain", "tiled"]):
        said = gemmbench("show", *words)
        check_plain(said.out + said.err)


@pytest.mark.parametrize("kind", EXPORTS)
def test_exports_keep_texts(gemmbench, odd, text, tmp_path, kind):
    path = tmp_path / f"it.{kind}"
    assert gemmbench("show", odd, f"--export-{kind}", path).code == 0
    written = path.read_bytes().decode()
    if kind == "json":
        assert text in [row["variant"] for row in json.loads(written)["rows"]]
    elif kind == "csv":
        cells = [cell for row in csv.reader(io.StringIO(written, newline="")) for cell in row]
        assert any(cell.removeprefix("'") == escape_controls(text) for cell in cells)
        assert not [cell for cell in cells if re.match(r"[=@+\t\r]\S", cell)]
    else:
        assert not TAGS.search(written)


def test_pages_and_charts_have_no_element_of_a_text(gemmbench, odd, tmp_path):
    assert gemmbench("report", odd, "--output", tmp_path / "it.html").code == 0
    page = (tmp_path / "it.html").read_text()
    assert not re.search(r"<(?:img|x/)", page) and "<script>alert" not in page
    said = gemmbench("plot", odd, "-o", tmp_path / "it.svg")
    check_plain(said.out + said.err)
    if said.code == 0:
        root = ElementTree.parse(tmp_path / "it.svg")
        assert not [each for each in root.iter() if each.tag.rpartition("}")[2] in ("script", "img", "x")]
