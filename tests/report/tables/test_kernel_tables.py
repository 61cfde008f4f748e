"""Tables: their cells, rows and notes, and complete reports as golden files."""

import io

import pytest

from gemmbench.report.columns.all_columns import table_columns
from gemmbench.report.columns.column import format_headings
from gemmbench.report.comparison import compare_rows
from gemmbench.report.table import format_reports
from gemmbench.report.tables.kernel_tables import choose_rows, list_notes, report_results
from gemmbench.report.terminal import draw_report

MS = 1e-3


@pytest.fixture
def whole(make_run, paired, make_record):
    """A run with a row of every kind."""
    blocktile = {"order": 40.0}
    tiled = {"order": 30.0, "config": {"TILE": 16}}
    return make_run(
        paired("naive", 2.0 * MS, 2.1 * MS, 2.2 * MS, 2.3 * MS, 2.4 * MS, order=10.0),
        paired("coalesced", order=20.0, status="wrong", error=None, reason="exact check: 4 of 4096 elements wrong"),
        paired("tiled", *[0.5 * MS] * 5, **tiled),
        make_record(
            "tiled",
            status="skipped",
            reason="require K % TILE == 0 (cuda/tiled.cu:12)",
            order=30.0,
            config={"TILE": 48},
        ),
        make_record(
            "tiled",
            status="skipped",
            reason="require K % TILE == 0 (cuda/tiled.cu:12)",
            order=30.0,
            config={"TILE": 96},
        ),
        make_record(
            "blocktile", status="failed", reason="cuda/x.cu:7: error: no [such] thing", config={"BM": 8}, **blocktile
        ),
        paired("impossible", *[4e-7] * 5, config={"BM": 16}, order=50.0),
        paired("blocktile", *[0.2 * MS] * 2, config={"BM": 32}, stopped="interrupted", **blocktile),
        paired("cpu_naive", *[9.0 * MS] * 5, order=0.0, backend="cpu", clocks_hz=[]),
        make_record("cublaslt", status="skipped", reason="the library is not installed", order=110.0),
        paired("cublas", *[0.25 * MS] * 5, order=100.0),
        paired("naive", *[16.0 * MS] * 5, order=10.0, size=128),
        paired("cublas", *[1.0 * MS] * 5, order=100.0, size=128),
        host="Some CPU",
        cores=2,
    )


@pytest.mark.parametrize("style", ["simple", "github", "html", "latex", "tsv", "rst"])
def test_a_report_in_one_of_tabulate_s_formats(whole, golden, style):
    golden(f"report.{style}.txt", text(whole, style))


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_report_on_a_screen(whole, golden, width):
    golden(f"report.{width}.txt", text(whole, "simple", width))


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_report_in_color_holds_the_same_text(whole, width):
    (report,) = report_results(compare_rows(whole))
    colored = draw_report(report, width).plain
    assert colored.replace("\u2500", "-") == report.format("simple", width).rstrip("\n")


def test_a_report_in_color(whole, golden):
    golden("report.rich.txt", draw_colors(whole))


def test_colors_follow_the_status_of_a_row(whole):
    lines = draw_colors(whole).splitlines()
    assert any("no [such] thing" in line for line in lines)
    assert [line for line in lines if line.startswith("\x1b[31m") and "coalesced" in line]
    (naive,) = (line for line in lines if line.startswith("naive") and "2.2" in line)
    assert "\x1b[32mok" in naive
    assert [line for line in lines if line.startswith("\x1b[33m") and "impossible" in line]


def test_a_report_without_color_respects_no_color(whole, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in draw_colors(whole)


def draw_colors(run, width=100):
    from rich.console import Console

    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=True, color_system="standard", legacy_windows=False, highlight=False
    )
    console.print(draw_report(report_results(compare_rows(run))[0], width), soft_wrap=True)
    return out.getvalue()


def text(run, style, width=None):
    return format_reports(report_results(compare_rows(run)), style, width)


def cells(run):
    """The usual columns of the rows that a table shows."""
    (problem,) = compare_rows(run).problems
    columns = table_columns(())
    headings = format_headings(columns, run.environment.baseline)
    return [
        dict(zip(headings, (column.cell(row) for column in columns), strict=True)) for row in choose_rows(problem.rows)
    ]


def test_the_cells_of_a_row_by_hand(make_run, paired):
    run = make_run(paired("naive", *[2 * MS] * 5), paired("cublas", *[0.5 * MS] * 5, order=9.0))
    assert cells(run)[0] == {
        "kernel": "naive",
        "configuration": "-",
        "time (ms)": "2.000 +- 0",
        "GFLOPS": "0.2621",
        "% of cublas": "25.00 +- 0",
        "% of peak": "0.02621",
        "error (u)": "3.25",
        "status": "ok",
    }
    assert cells(run)[1]["% of cublas"] == "100"


def test_the_speed_of_a_wrong_kernel_is_not_shown(make_run, paired):
    run = make_run(paired("naive", *[2 * MS] * 5, status="wrong", error=None))
    row = cells(run)[0]
    assert {row[name] for name in ("time (ms)", "GFLOPS", "% of cublas", "% of peak", "error (u)")} == {"-"}


def test_a_row_of_the_cpu_in_a_run_on_a_gpu_is_marked(make_run, paired, make_record):
    skip = make_record("other", backend="cpu", status="skipped", order=2.0)
    run = make_run(paired("host", MS, backend="cpu"), skip)
    assert [row["status"] for row in cells(run)] == ["ok, cpu", "skipped"]


def test_a_run_on_the_cpu_does_not_mention_a_gpu(make_run, paired):
    cpu = {"backend": "cpu", "device": "Some CPU", "gpu": False, "baseline": "openblas"}
    run = make_run(paired("naive", MS, backend="cpu", clocks_hz=[]), **cpu)
    shown = text(run, "simple")
    assert "% of openblas" in shown and "Device: Some CPU (cpu), 10 cores." in shown
    assert "GPU" not in shown and "SMs" not in shown and "cublas" not in shown


def test_the_best_of_a_sweep_is_marked_as_measured_again(make_run, paired):
    run = make_run(paired("tiled", MS, config={"T": 8}, phase="final"), paired("cublas", MS, phase="final", order=9.0))
    assert [row["configuration"] for row in cells(run)] == ["T=8 (measured again)", "-"]


def test_a_long_sweep_shows_its_fastest_ten_and_every_failure(make_run, paired, make_record):
    records = [paired("tiled", (20 - number) * MS, config={"T": number}) for number in range(14)]
    records += [make_record("tiled", status="failed", reason="x", config={"T": 99})]
    records += [make_record("tiled", status="skipped", reason="y", config={"T": 98})]
    run = make_run(*records)
    (problem,) = compare_rows(run).problems
    shown = choose_rows(problem.rows)
    assert [row.record.config["T"] for row in shown] == [13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 99]
    assert list_notes(problem) == [
        "tiled: skipped: y",
        "tiled T=99: failed: x",
        "4 slower configurations are in the results file and the exports",
        "Flags: F few samples: fewer than 5 blocks of rounds, no interval.",
    ]


def test_a_variant_that_is_skipped_entirely_keeps_its_row(make_run, make_record):
    run = make_run(make_record("tiled", status="skipped", reason="no", config={"T": 8}))
    assert [row["status"] for row in cells(run)] == ["skipped"]
    assert list_notes(compare_rows(run).problems[0]) == ["tiled: skipped: no"]


def test_skips_with_the_same_reason_are_counted(make_run, make_record):
    records = [make_record("tiled", status="skipped", reason="no", config={"T": number}) for number in (1, 2, 3)]
    assert list_notes(compare_rows(make_run(*records)).problems[0]) == ["tiled: skipped: no (3 configurations)"]
