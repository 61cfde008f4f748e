"""Damaged results files: every command that reads one prints it or tells in one line what is wrong with it.

The files are those that are committed, cut to a few rows, and a new one; their bytes, their values and the order
of their lines are changed at random. Some are compressed then, and of some of these the bytes are changed too.
"""

import functools
import gzip
import io
import json
import re
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from hypothesis import event, given
from hypothesis import strategies as st

from gemmbench.cli import main
from gemmbench.report.charts.draw import CHARTS

ROOT = Path(__file__).resolve().parents[2]
MOST_ROWS = 5
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
COMMITTED = ["tiles", "003-neural-network", "004-gemm", "quick", "transfers-small", "mlp"]
ODD_TEXTS = [
    "", "t", "nn", "ok", "wrong", "skipped", "final", "hot", "cold", "interrupted", "max-time", "until", "f32",
    "pinned", "overlapped", "cublas", "fake", "naive", "x" * 300, "a\nb", "\x1b]0;owned\x07", "\x1b[31mred", "\u202e",
    "\x9b31m", "\x00", "\r", "<script>", "|", "[red]", "%s{}", "$x^",
    "na\xefve", "'", "--", "\u2028", "@", "picked", " ", "tf32", "M", "\U0001f600",
]  # fmt: skip
ODD_INTEGERS = [0, -1, 1, 2, 3, 7, 10**9, 10**17, 10**18, 10**19, 10**400, -(10**18), 2**31, 2**63, 2**64]
ODD_FLOATS = [0.0, -0.0, -1.5, 1e-320, 1e-15, 1e-9, 0.5, 1.0, 1e17, 1e18, 1e300, -1e300, 1e308]
ODD_VALUES = [None, True, False, [], [1], [0.5, 0.25], [1e-3] * 3, ["x"], {}, {"a": 1}, {"x": "y"}, [[]]]
COMMANDS = [
    ["show", "FILE"],
    ["show", "FILE", "--wide"],
    ["show", "FILE", "--explain", "1"],
    ["show", "FILE", "--explain", "2"],
    ["show", "FILE", "--export-csv", "x.csv", "--export-json", "x.json", "--export-markdown", "x.md", "--wide"],
    *(["show", "FILE", "--format", style] for style in ("github", "html", "rich", "latex", "tsv", "pipe", "grid")),
    ["show", "."],
    ["compare", "GOOD", "FILE"],
    ["compare", "FILE", "GOOD", "--export-csv", "x.csv", "--export-json", "x.json", "--export-markdown", "x.md"],
    ["report", "FILE", "-o", "x.html"],
    ["report", "GOOD", "--against", "FILE", "-o", "x.html"],
    ["plot", "FILE", "-o", "x.svg"],
    *(["plot", "FILE", "-o", "x.svg", "--kind", kind] for kind in CHARTS),
    ["posts", "--results", "FILE"],
]  # fmt: skip


@functools.cache
def read_originals():
    """Lines of results files: those that are committed, cut, and one of this version."""
    call = ["run", "naive", "tiled", "mlp_fused", "--param", "TILE=8,16", "--sizes", "16", "--rounds", "10"]
    with tempfile.TemporaryDirectory() as folder:
        run_command([*call, "--device", "fake", "--cache", "hot", "--out", folder])
        contents = [path.read_bytes() for path in Path(folder).glob("*.jsonl")]
        committed = [max((ROOT / "results").glob(f"*/*-{name}.jsonl.gz")) for name in COMMITTED]
        contents += [gzip.decompress(path.read_bytes()) for path in committed]
        return [content.splitlines(keepends=True)[: 1 + MOST_ROWS] for content in contents]


def run_command(words):
    """Run a command in this process; returns its exit code, its output and its messages."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["gemmbench", *words]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as end:
        return end.code or 0, out.getvalue(), err.getvalue()
    finally:
        sys.argv = before
    raise AssertionError("no exit code")


def list_places(value, path=()):
    """The way to every value inside a JSON value."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from list_places(value[key], (*path, key))


def draw_value(draw, before):
    """An odd value, usually of the same type, which is more often a row."""
    texts = st.sampled_from(ODD_TEXTS) | st.text(max_size=20)
    integers = st.sampled_from(ODD_INTEGERS) | st.integers()
    floats = st.sampled_from(ODD_FLOATS) | st.floats()
    if draw(st.integers(0, 9)) == 0 or before is None:
        return draw(st.sampled_from(ODD_VALUES) | texts | integers | floats)
    if isinstance(before, bool):
        return not before
    if isinstance(before, list) and before:
        return draw(st.sampled_from([[], before[:1], before * 2, before[::-1], [before[0]] * len(before)]))
    return draw({str: texts, int: integers, float: floats | integers}.get(type(before), st.sampled_from(ODD_VALUES)))


def change_value(draw, line):
    """Replace, remove or repeat one value of a row."""
    row = json.loads(line)
    *way, last = draw(st.sampled_from(sorted(filter(None, list_places(row)), key=lambda path: (len(path), str(path)))))
    holder = row
    for key in way:
        holder = holder[key]
    action = draw(st.sampled_from(["replace"] * 8 + ["remove", "append", "rename"]))
    if action == "remove":
        del holder[last]
    elif action == "append" and isinstance(holder, list):
        holder.append(holder[last])
    elif action == "rename" and isinstance(holder, dict):
        holder[draw(st.text(max_size=5)) or "k"] = holder.pop(last)
    else:
        holder[last] = draw_value(draw, holder[last])
    return json.dumps(row, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass") + b"\n"


def change_bytes(draw, line):
    """Replace, insert or remove a few bytes."""
    start = draw(st.integers(0, len(line)))
    return line[:start] + draw(st.binary(max_size=4)) + line[start + draw(st.integers(0, 8)) :]


@dataclass(frozen=True, repr=False)
class Case:
    """The lines of a damaged file, those of the file it was made from, and a command that reads them.

    `compressed` are the bytes of the damaged file if it is compressed, which may be damaged too.
    """

    damaged: bytes
    good: bytes
    command: list
    compressed: bytes | None = None

    @property
    def name(self):
        return "damaged.jsonl" if self.compressed is None else "damaged.jsonl.gz"

    @property
    def content(self):
        return self.damaged if self.compressed is None else self.compressed

    def __repr__(self):
        """The lines that were changed."""
        good = self.good.splitlines()
        changed = [line for line in self.damaged.splitlines() if line not in good]
        return f"{self.command}: {self.name}: {changed} {self.compressed or ''}"


@st.composite
def cases(draw):
    originals = read_originals()
    original = originals[draw(st.integers(0, len(originals) - 1))]
    lines = list(original)
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
        at = draw(st.integers(0, len(lines) - 1))
        action = draw(st.sampled_from(["value"] * 9 + ["bytes", "repeat", "remove", "swap", "cut"]))
        if action == "value" and is_row(lines[at]):
            lines[at] = change_value(draw, lines[at])
        elif action == "repeat":
            lines.insert(draw(st.integers(0, len(lines))), lines[at])
        elif action == "remove" and len(lines) > 1:
            del lines[at]
        elif action == "swap":
            lines[at], lines[0] = lines[0], lines[at]
        elif action == "cut":
            lines[-1] = lines[-1][: draw(st.integers(0, len(lines[-1])))]
        else:
            lines[at] = change_bytes(draw, lines[at])
    damaged, compressed = b"".join(lines), None
    if draw(st.integers(0, 2)) == 0:
        compressed = gzip.compress(damaged, mtime=0)
        for _ in range(draw(st.sampled_from([0, 1, 1, 2]))):
            compressed = change_bytes(draw, compressed)
    return Case(damaged, b"".join(original), draw(st.sampled_from(COMMANDS)), compressed)


def is_row(line):
    try:
        row = json.loads(line)
    except ValueError:
        return False
    return isinstance(row, dict) and bool(row)


@given(case=cases())
def test_a_damaged_file_is_shown_or_refused_in_one_line(tmp_path_factory, monkeypatch, case):
    folder = tmp_path_factory.mktemp("case")
    monkeypatch.chdir(folder)
    (folder / case.name).write_bytes(case.content)
    (folder / "good.jsonl").write_bytes(case.good)
    names = {"FILE": case.name, "GOOD": "good.jsonl"}
    words = [names.get(word, word) for word in case.command]
    code, out, err = run_command(words)
    event(f"{words[0]}: exit code {code}")
    event(re.sub(r"[0-9]+", "0", err[:90]) if code else "ok")
    assert code in (0, 1, 2, 4), err
    if code == 2:
        assert out == "" or words[1] == "."
        assert err.splitlines()[-1].startswith(("gemmbench: ", "Error: "))
    assert not CONTROL.search(err)
    if words[:1] != ["show"] or "rich" not in words:
        assert not CONTROL.search(out)
