"""Tables: the digits of a cell, the rows that are shown, the notes below, and whole reports as golden files."""

import io
import math
import re

import pytest

from gemmbench.bench.timing.stats import Interval
from gemmbench.report import tables
from gemmbench.report.comparison import groups

MS = 1e-3


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (math.nan, "-"),
        (0, "0"),
        (1, "1.000"),
        (12.3456, "12.35"),
        (123.456, "123.5"),
        (1234.56, "1235"),
        (51234567.0, "51234567"),
        (0.123456, "0.1235"),
        (0.00123456, "0.001235"),
        (0.0000123456, "0.00001235"),
        (-12.3456, "-12.35"),
        (99.994, "99.99"),
        (99.996, "100.0"),
        (9.9996, "10.00"),
        (999.96, "1000"),
        (0.99999, "1.000"),
    ],
)
def test_a_number_has_four_digits_and_no_exponent(value, text):
    assert tables.number(value) == text


def test_an_interval_stands_in_brackets_behind_its_value():
    assert tables.with_interval(Interval(98.312, 98.02, 98.604)) == "98.31 [98.02, 98.60]"
    assert tables.with_interval(Interval(98.312)) == "98.31"
    assert tables.with_interval(Interval(math.nan)) == "-"


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
    golden(f"report.{style}.txt", tables.text(whole, style))


def test_a_report_for_a_terminal(whole, golden):
    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=120, force_terminal=False, legacy_windows=False).print(tables.rich_report(whole))
    golden("report.rich.txt", out.getvalue())


def test_a_report_for_a_terminal_marks_what_is_wrong_and_keeps_brackets(whole):
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=160, force_terminal=True, color_system="standard", legacy_windows=False)
    console.print(tables.rich_report(whole))
    lines = out.getvalue().splitlines()
    assert any("no [such] thing" in re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines)
    assert any("\x1b[31m" in line and "coalesced" in line for line in lines)
    assert not any("\x1b[31m" in line and " ok " in line for line in lines)


def cells(run):
    (group,) = groups(run)
    shown = tables.shown_rows(group.rows)
    return [{name: show(row) for name, show in tables.columns(run.environment)} for row in shown]


def test_the_cells_of_a_row_by_hand(make_run, paired):
    run = make_run(paired("naive", *[2 * MS] * 5), paired("cublas", *[0.5 * MS] * 5, order=9.0))
    assert cells(run)[0] == {
        "kernel": "naive",
        "configuration": "-",
        "time (ms)": "2.000",
        "GFLOPS": "0.2621",
        "% of cublas": "25.00 [25.00, 25.00]",
        "% of peak": "0.02621",
        "error (u)": "3.250",
        "status": "ok",
    }
    assert cells(run)[1]["% of cublas"] == "100.0"


def test_the_speed_of_a_wrong_kernel_is_not_shown(make_run, paired):
    run = make_run(paired("naive", *[2 * MS] * 5, status="wrong", error=None))
    row = cells(run)[0]
    assert {row[name] for name in ("time (ms)", "GFLOPS", "% of cublas", "% of peak", "error (u)")} == {"-"}


def test_a_row_of_the_cpu_beside_a_gpu_says_cpu(make_run, paired, make_record):
    skip = make_record("other", backend="cpu", status="skipped", order=2.0)
    run = make_run(paired("host", MS, backend="cpu"), skip)
    assert [row["status"] for row in cells(run)] == ["ok, cpu", "skipped"]


def test_nothing_of_a_cpu_run_reads_as_a_gpu(make_run, paired):
    cpu = {"backend": "cpu", "device": "Some CPU", "gpu": False, "baseline": "openblas"}
    run = make_run(paired("naive", MS, backend="cpu", clocks_hz=[]), **cpu)
    text = tables.text(run, "simple")
    assert "% of openblas" in text and "Device: Some CPU (cpu), 10 cores." in text
    assert "GPU" not in text and "SMs" not in text and "cublas" not in text


def test_the_best_of_a_sweep_says_that_it_was_measured_again(make_run, paired):
    run = make_run(paired("tiled", MS, config={"T": 8}, phase="final"), paired("cublas", MS, phase="final", order=9.0))
    assert [row["configuration"] for row in cells(run)] == ["T=8 (measured again)", "-"]


def test_of_a_long_sweep_the_fastest_ten_and_every_failure_are_shown(make_run, paired, make_record):
    records = [paired("tiled", (20 - number) * MS, config={"T": number}) for number in range(14)]
    records += [make_record("tiled", status="failed", reason="x", config={"T": 99})]
    records += [make_record("tiled", status="skipped", reason="y", config={"T": 98})]
    run = make_run(*records)
    (group,) = groups(run)
    shown = tables.shown_rows(group.rows)
    assert [row.record.config["T"] for row in shown] == [13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 99]
    assert tables.notes(group) == [
        "tiled: skipped: y",
        "tiled T=99: failed: x",
        "4 slower configurations are in the results file and the exports",
        "Flags: F few samples: under 5 pairs of rounds, no interval.",
    ]


def test_a_variant_that_is_skipped_whole_keeps_its_row(make_run, make_record):
    run = make_run(make_record("tiled", status="skipped", reason="no", config={"T": 8}))
    assert [row["status"] for row in cells(run)] == ["skipped"]
    assert tables.notes(groups(run)[0]) == ["tiled: skipped: no"]


def test_skips_of_one_reason_are_counted(make_run, make_record):
    records = [make_record("tiled", status="skipped", reason="no", config={"T": number}) for number in (1, 2, 3)]
    assert tables.notes(groups(make_run(*records))[0]) == ["tiled: skipped: no (3 configurations)"]
