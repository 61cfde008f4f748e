"""Tables: their cells, rows and notes, and complete reports as golden files."""

import io

import pytest
from rich.console import Console

from gemmbench.report.columns.all_columns import table_columns
from gemmbench.report.columns.column import format_headings
from gemmbench.report.table import format_reports
from gemmbench.report.tables.kernel_tables import choose_rows, list_notes, report_results
from gemmbench.report.tables.view import View
from gemmbench.report.terminal import draw_report

MS = 1e-3


@pytest.fixture
def whole(compare, paired, steady, make_record):
    """A run with a row of every kind."""
    blocktile = {"order": 40.0}
    uneven = {"status": "skipped", "reason": "require K % TILE == 0 (cuda/tiled.cu:12)", "order": 30.0}
    missing = {"status": "skipped", "reason": "the library is not installed"}
    faulty = {"status": "failed", "reason": "cuda/x.cu:7: error: no [such] thing"}
    return compare(
        paired("naive", 2.0 * MS, 2.1 * MS, 2.2 * MS, 2.3 * MS, 2.4 * MS, order=10.0),
        paired("naive_rows", order=20.0, status="wrong", error=None, reason="exact check: 4 of 4096 elements wrong"),
        steady("tiled", 0.5, order=30.0, config={"TILE": 16}),
        make_record("tiled", **uneven, config={"TILE": 48}),
        make_record("tiled", **uneven, config={"TILE": 96}),
        make_record("blocktile", **faulty, config={"BM": 8}, **blocktile),
        paired("impossible", *[4e-7] * 5, config={"BM": 16}, order=50.0),
        paired("blocktile", 0.2 * MS, config={"BM": 32}, stopped="interrupted", **blocktile),
        steady("cpu_naive", 9, order=0.0, backend="cpu", clocks_hz=[]),
        make_record("cublaslt", **missing, order=110.0),
        steady("cublas", 0.25, order=100.0),
        steady("naive", 16, order=10.0, size=128),
        steady("cublas", 1, order=100.0, size=128),
        host="Some CPU",
        cores=2,
    )


def text(comparison, style, width=None):
    return format_reports(report_results(comparison), style, width)


def draw_colors(comparison, width=100):
    out, terminal = io.StringIO(), {"force_terminal": True, "color_system": "standard", "legacy_windows": False}
    console = Console(file=out, width=width, highlight=False, **terminal)
    console.print(draw_report(report_results(comparison)[0], width), soft_wrap=True)
    return out.getvalue()


@pytest.mark.parametrize("style", ["simple", "github", "html", "latex", "tsv", "rst"])
def test_a_report_in_one_of_tabulate_s_formats(whole, golden, style):
    golden(f"report.{style}.txt", text(whole, style))


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_report_on_a_screen_holds_the_same_text_in_color(whole, golden, width):
    golden(f"report.{width}.txt", text(whole, "simple", width))
    (report,) = report_results(whole)
    colored = draw_report(report, width).plain
    assert colored.replace("\u2500", "-") == report.format("simple", width).rstrip("\n")


def test_colors_follow_the_status_of_a_row_and_respect_no_color(whole, golden, monkeypatch):
    golden("report.rich.txt", draw_colors(whole))
    lines = draw_colors(whole).splitlines()
    assert any("no [such] thing" in line for line in lines)
    assert [line for line in lines if line.startswith("\x1b[31m") and "naive_rows" in line]
    (naive,) = (line for line in lines if line.startswith("naive") and "2.2" in line)
    assert "\x1b[32mok" in naive
    assert [line for line in lines if line.startswith("\x1b[33m") and "impossible" in line]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in draw_colors(whole)


def cells(comparison):
    """The usual columns of the rows that a table shows."""
    (problem,), columns = comparison.problems, table_columns(())
    headings = format_headings(columns, comparison.environment.baseline)
    return [
        dict(zip(headings, (column.cell(row) for column in columns), strict=True)) for row in choose_rows(problem.rows)
    ]


def test_the_cells_of_a_row_by_hand(compare, steady):
    naive, cublas = cells(compare(steady("naive", 2), steady("cublas", 0.5, order=9.0)))
    assert naive == {
        "kernel": "naive",
        "configuration": "-",
        "alone (us)": "-",
        "time (ms)": "2.000 +- 0",
        "GFLOPS": "0.2621",
        "% of cublas": "25.00 +- 0",
        "% of best library": "-",
        "% of peak": "0.02621",
        "error (max. 16)": "3.25",
        "status": "ok",
    }
    assert cublas["% of cublas"] == "100"


def test_the_speed_of_a_wrong_kernel_is_not_shown(compare, steady):
    (row,) = cells(compare(steady("naive", 2, status="wrong", error=None)))
    assert {row[name] for name in ("time (ms)", "GFLOPS", "% of cublas", "% of peak", "error (max. 16)")} == {"-"}


def test_a_row_of_the_cpu_in_a_run_on_a_gpu_is_marked(compare, paired, make_record):
    skip = make_record("other", backend="cpu", status="skipped", order=2.0)
    assert [row["status"] for row in cells(compare(paired("host", MS, backend="cpu"), skip))] == ["ok, cpu", "skipped"]


def test_a_run_on_the_cpu_has_times_but_no_speeds_and_says_so(compare, paired):
    cpu = {"backend": "cpu", "device": "Some CPU", "gpu": False, "baseline": "openblas"}
    comparison = compare(paired("naive", MS, backend="cpu", clocks_hz=[]), **cpu)
    shown, wide = (format_reports(report_results(comparison, View(each)), "simple") for each in (False, True))
    assert "Device: Some CPU (cpu), 10 cores." in shown and "SMs" not in shown and "cublas" not in shown
    assert all("on the CPU device, which says nothing about a GPU" in each for each in (shown, wide))
    (elsewhere,) = report_results(comparison, View(caveat=False))
    assert "Time: mean per launch, +- 95 % interval." in elsewhere.footer
    assert not any(speed in shown for speed in ("% of openblas", "GFLOPS"))
    assert all(speed in wide for speed in ("% of openblas", "GFLOPS"))


def test_the_best_of_a_sweep_is_marked_as_measured_again(compare, paired):
    tiled, cublas = paired("tiled", MS, config={"T": 8}, phase="final"), paired("cublas", MS, phase="final", order=9.0)
    swept = paired("tiled", MS, config={"T": 8})
    shown = cells(compare(tiled, swept, cublas))
    assert [row["configuration"] for row in shown] == ["T=8 (measured again)", "T=8", "-"]
    only_finals = text(compare(tiled, cublas), "simple")
    assert "T=8" in only_finals and "again" not in only_finals


def test_a_long_sweep_shows_its_fastest_ten_and_every_failure(compare, paired, make_record):
    records = [paired("tiled", (20 - number) * MS, config={"T": number}) for number in range(14)]
    records += [make_record("tiled", status="failed", reason="x", config={"T": 99})]
    records += [make_record("tiled", status="skipped", reason="y", config={"T": 98})]
    (problem,) = compare(*records).problems
    assert [row.record.config["T"] for row in choose_rows(problem.rows)] == [13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 99]
    assert list_notes(problem) == [
        "tiled T=99: failed: x",
        "4 slower configurations are in the results file and the exports",
    ]


@pytest.mark.parametrize(("count", "counted"), [(1, ""), (3, " (3 rows)")])
def test_a_variant_that_is_skipped_entirely_keeps_its_row_and_equal_reasons_are_counted(
    compare, make_record, count, counted
):
    skipped = {"status": "skipped", "reason": "no"}
    comparison = compare(*(make_record("tiled", **skipped, config={"T": number}) for number in range(count)))
    assert {row["status"] for row in cells(comparison)} == {"skipped"}
    assert f"\ntiled: skipped{counted}: no\n" in text(comparison, "simple")
