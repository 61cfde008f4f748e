"""What commands print at 80 and 120 columns, in plain text and in color, and without a screen."""

import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from gemmbench.bench.operands import scratch
from gemmbench.cli import run
from gemmbench.report.comparison import compare_rows
from gemmbench.report.store.reading import read_results
from gemmbench.report.table import format_reports
from gemmbench.report.tables.kernel_tables import report_results
from gemmbench.report.tables.view import View
from gemmbench.session import sweep_runs

RESULTS = sorted((Path(__file__).parents[2] / "results").glob("*/*.jsonl.gz"))
WIDTHS = (80, 100, 120)
SAVED = "results/nvidia-h100/2026-11-28-sizes.jsonl.gz"
FAST = ["--sizes", "32,64", "--rounds", "10"]
SHAPES = ",".join(f"{side}x{side + 32}x64" for side in range(32, 416, 32))
COMMANDS = {
    "run": ["run", "naive", "tiled", *FAST],
    "compare": ["compare", "naive", "tiled", "naive_rows", *FAST],
    "failed": ["run", "naive", "tiled", *FAST, "--launch-limit", "0.001"],
    "wide": ["run", "naive", "tiled", *FAST, "--wide"],
    "dry-run": ["run", "tiled", "mlp_fused", "--param", "all", "--sizes", "64", "--dry-run"],
    "tune": ["tune", "tiled", *FAST, "--sizes", "64"],
    "wrong": ["verify", "naive", "tiled", "--sizes", "64,65", "--layout", "nn", "--precision", "f32", "--no-watch"],
    "verify": ["verify", "naive", "tiled", "--sizes", "8", "--layout", "nn", "--precision", "f32"],
    "mlp-dry-run": ["mlp", "tiled", "mlp_fused", "--batch", "16", "--dry-run"],
    "transfers": ["run", "tiled", *FAST, "--with-transfers"],
    "doctor": ["doctor", "--quick"],
    "sizes": ["run", "naive_rows", "naive", "tiled", "sgemm_1d", *FAST, "--sizes", "32,64,96,128"],
    "shapes": ["run", "naive", "tiled", "--sizes", SHAPES, "--rounds", "10"],
    "parameters": ["run", "naive", "--param", "all", "--sizes", "64", "--rounds", "10"],
    "skips": ["run", "naive", "tiled", "blocktile_2d", "--param", "TILE=16,48,64", *FAST],
    "list": ["list"],
    "help": ["run", "--help"],
    "check-help": ["check", "--help"],
}
TIMES = {"naive": 2e-3, "tiled": [1e-3, 1.1e-3, 1.05e-3], "cublas": 2.5e-4, "mlp_fused": 1e-4}


@pytest.fixture
def few_sets():
    """The screens show how many sets there are: as many as usual."""


@pytest.fixture(scope="module")
def measured():
    """What each command has measured, so that it is printed at several widths and measured once."""
    return {}


@pytest.fixture
def screen(gemmbench, script, monkeypatch, measured):
    """Run a command on the fake device at a width; returns the text on stdout."""

    def show(name, width, *style):
        def run_sweep(*arguments, **options):
            if name not in measured:
                measured[name] = sweep_runs.run_sweep(*arguments, **options)
            return measured[name]

        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("GEMMBENCH_CACHE_DIR", "cache")
        monkeypatch.setattr(run, "run_sweep", run_sweep)
        faults = {"tiled": "last_column"} if name in ("failed", "wrong") else {}
        times = {**TIMES, "tiled": 1e-3} if name == "tune" else TIMES
        return gemmbench(*COMMANDS[name], "--device", script(times=times, faults=faults), *style).out

    return show


def read_marks(table, cells):
    """The flags of a row: in their column, or behind figures."""
    if "flags" in table.headings:
        return [cells[list(table.headings).index("flags")].replace("-", "")]
    return [marks for cell in cells[1:] for marks in re.findall(r" ([A-Z]+) *$", cell)]


def mask(text):
    """The rounding error is NumPy's own, and what the warm-up and the whole run take the machine's."""
    text = re.sub(r"1\.0[45] \+- 0\.0[34]", "1.05 +- 0.03", text)  # which time comes first depends on the warm-up
    text = re.sub(r"( {2,}|: )\d\.\d\d(?=  +(ok|fake|status))", r"\1(er)", text)
    text = re.sub(r"(?<= show )[0-9a-f]{4} --explain", "1f3a --explain", text)
    return re.sub(r"About (\d+ (h|min|s) )+", "About 9 s ", text)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_fits_the_screen(screen, golden, name):
    for width in (80, 120):
        text = screen(name, width)
        assert max(map(len, text.splitlines())) <= width
        golden(f"screens/{name}.{width}.txt", mask(text))


@pytest.mark.parametrize("width", [80, 120])
def test_a_saved_run_of_several_sizes_fits_the_screen(gemmbench, golden, monkeypatch, width):
    monkeypatch.chdir(Path(__file__).parents[2])
    monkeypatch.setenv("COLUMNS", str(width))
    golden(f"screens/show.{width}.txt", gemmbench("show", SAVED).out)


@pytest.mark.parametrize("name", ["compare", "failed", "wide", "dry-run", "verify", "doctor"])
def test_color_changes_no_character(screen, monkeypatch, name):
    monkeypatch.setattr(scratch, "MOST_SETS", 8)
    plain, colored = screen(name, 100), screen(name, 100, "--format", "rich")
    assert mask(colored).replace("─", "-") == mask(plain)


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_saved_results_fit_the_screen_and_no_number_is_broken(path):
    comparison = compare_rows(read_results(path))
    for width in WIDTHS:
        for view in (View(), View(details=True), View(wide=True)):
            lines = format_reports(report_results(comparison, view), "simple", width).splitlines()
            assert max(len(line) for line in lines if not line.startswith("  gemmbench show ")) <= width
            for before, line in pairwise(lines):  # a folded row goes on with text only, below its configuration
                number = re.match(r" +\d+(\.\d+)?$", line)
                assert not number or before.endswith("should be"), line


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_the_footer_of_saved_results_has_four_sentences_and_every_flag_a_legend(path):
    comparison = compare_rows(read_results(path))
    for view in (View(), View(details=True)):
        report = report_results(comparison, view)[0]
        footer = [line.text for line in report.draw(None) if line.kind == "footer"]
        assert len(footer) <= 4
        named = [line for line in footer if line.startswith("Flags: ")]
        cells = [cell for table in report.tables for row in table.cells for cell in read_marks(table, row)]
        assert set("".join(cells)) == set(re.findall(r"(?:: |, )([A-Z]) ", "".join(named)))


@pytest.mark.parametrize("width", WIDTHS)
def test_the_list_of_variants_fits_the_screen(gemmbench, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    for option in ([], ["--long"]):
        assert max(map(len, gemmbench("list", "--device", "fake", *option).out.splitlines())) <= width


def test_without_a_screen_nothing_is_hidden_or_wrapped(gemmbench, script, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    text = gemmbench(*COMMANDS["wide"], "--device", script(times=TIMES)).out
    assert "Hidden" not in text
    headings = ("time (ms)", "error (max. 16)", "clock (GHz)", "% of bound")
    assert all(heading in text.splitlines()[2] for heading in headings)


def test_a_terminal_sets_the_width_unless_columns_does(monkeypatch):
    from gemmbench.cli import output

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    assert isinstance(output.screen_width(), int)
    monkeypatch.setenv("COLUMNS", "93")
    assert output.screen_width() == 93
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    assert output.screen_width() == 93
    monkeypatch.delenv("COLUMNS")
    assert output.screen_width() is None


@pytest.mark.parametrize("style", ["github", "tsv", "html", "latex"])
def test_other_formats_are_complete_on_any_screen(screen, style):
    text = screen("run", 40, "--format", style)
    assert "error (max. 16)" in text and "Hidden" not in text
