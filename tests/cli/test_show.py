"""`gemmbench show`: the tables again, from saved results, and one row in words."""

import csv
import io
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gemmbench.bench.record import SCHEMA
from gemmbench.cli.options import FORMATS

ROOT = Path(__file__).resolve().parents[2]
FAST = ["--sizes", "16", "--rounds", "2", "--cache", "hot"]
TIMES = {"tiled": 2e-3, "cublas": 1e-3}
SAYS = {"power": 300, "temperature": 41, "slowed": ["power cap"], "others": 2, "watts": 120}
ASKED = "--sizes 16,24x16x8 --rounds 4 --cache hot --param TILE=8 --alpha 0.5 --beta 0.25 --layout tn --seed 3".split()


@pytest.fixture
def results(gemmbench, saved):
    """A results file, and what the run printed."""
    said = gemmbench("run", "naive", "tiled", "--device", "fake", *FAST)
    return saved()[0], said.out


def test_the_table_is_that_of_the_run_and_several_files_are_shown_one_after_another(gemmbench, results):
    journal, printed = results
    said = gemmbench("show", journal)
    assert (said.code, said.out, said.err) == (0, printed, "")
    assert gemmbench("show", journal, journal).out == printed * 2


def test_every_format_shows_every_row(gemmbench, run_three, saved):
    run_three("--rounds", "1")
    for style in ("rich", *FORMATS):
        said = gemmbench("show", saved()[0], "--format", style)
        shown = ("naive", "tiled", "cublas", "2.00", "1.00", "0.250", "GFLOPS")
        assert said.code == 0 and all(word in said.out for word in shown), style
        assert "\x1b" not in said.out and ("─" in said.out or style != "rich")


def test_exports_can_be_made_later(gemmbench, results, tmp_path):
    journal, _ = results
    gemmbench("show", journal, "--export-csv", "x.csv", "--export-json", "x.json", "--export-markdown", "x.md")
    assert (tmp_path / "x.csv").read_text() == journal.with_suffix(".csv").read_text()
    rows = json.loads((tmp_path / "x.json").read_text())["rows"]
    assert [row["variant"] for row in rows] == ["naive", "tiled", "cublas"]
    assert "| naive " in (tmp_path / "x.md").read_text()


def test_an_export_takes_one_file(gemmbench, results):
    said = gemmbench("show", results[0], results[0], "--export-csv", "x.csv")
    assert said.code == 2 and "an export takes one results file at a time" in said.err


def test_a_run_that_is_not_finished_is_shown_with_a_warning_and_without_a_fastest(gemmbench, results):
    journal, printed = results
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:4])[:-20])
    said = gemmbench("show", journal)
    assert said.code == 0 and "naive" in said.out and "tiled" in said.out
    assert "too few rounds for a verdict" in printed and "too few rounds for a verdict" not in said.out
    assert said.err == (
        f"{journal}: the run is not finished: it has 2 of 3 planned rows; the last line is cut off and was left out; "
        f"continue with: gemmbench run --resume-from {journal}\n"
    )


def test_a_file_without_a_row_says_so(gemmbench, results):
    journal, _ = results
    journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])
    said = gemmbench("show", journal)
    assert said.code == 0 and said.err.startswith(f"{journal}: the run is not finished: it has not measured any rows; ")


def test_a_broken_or_newer_or_foreign_file_is_refused_with_its_place(gemmbench, results, tmp_path):
    journal, _ = results
    text = journal.read_text()
    broken, newer, foreign = tmp_path / "broken.jsonl", tmp_path / "newer.jsonl", tmp_path / "foreign.csv"
    broken.write_text(text.replace('"row":"record"', '"row":"rec', 1))
    newer.write_text(text.replace(f'"schema":{SCHEMA}', '"schema":99'))
    foreign.write_text("a,b\n1,2\n")
    for path, words in (
        (broken, "broken.jsonl:2: broken row: "),
        (newer, f"newer.jsonl: written by a newer gemmbench (schema 99, this one reads {SCHEMA}); upgrade"),
        (foreign, "foreign.csv:1: "),
        (tmp_path / "none.jsonl", "none.jsonl: no such file; "),
    ):
        said = gemmbench("show", path)
        assert (said.code, said.out) == (2, "") and words in said.err


def test_a_reader_that_goes_away_is_no_fault(results):
    files = " ".join([str(results[0])] * 200)
    call = f"{sys.executable} -m gemmbench show {files} | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", call], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["M = 16, N = 16, K = 16, nn, f32", "0"]
    assert done.stderr == ""


@pytest.fixture
def explained(gemmbench, script, saved):
    """A run of two sizes, watched."""
    said = gemmbench("run", "tiled", "--device", script(times=TIMES, watch=SAYS), "--sustained", "1", *ASKED)
    assert said.code == 0
    return saved()[0]


def read_tiled(path):
    """The record of tiled at 24x16x8, without what differs from run to run."""
    rows = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    (found,) = (row for row in rows if row.get("variant") == "tiled" and row["problem"]["M"] == 24)
    passing = ("batch", "telemetry", "sustained", "compile_seconds")
    return {name: value for name, value in found.items() if name not in passing}


def test_the_command_of_a_row_measures_the_same_row_again(gemmbench, explained, saved):
    said = gemmbench("show", explained, "--explain", "tiled@24x16x8")
    assert said.code == 0
    again = shlex.split(said.out.splitlines()[-1].removeprefix("Again:"))
    assert again[:2] == ["gemmbench", "run"]
    assert gemmbench(*again[1:], "--out", "again").code == 0
    assert read_tiled(explained) == read_tiled(saved("again")[0])
    assert len(saved("again")[1]) == 2


def test_a_row_is_explained_by_number_too(gemmbench, explained):
    said = gemmbench("show", explained, "--explain", "2")
    assert said.code == 0 and said.out.startswith("Row:      2: cublas at 16 tn f32 alpha=0.5 beta=0.25")
    assert "Flag O:   others: NVML counted 2; nvidia-smi lists them." in said.out.splitlines()
    assert "Load: 1.000 ms per launch" in " ".join(said.out.split())
    assert "0.1200 J per launch" in " ".join(said.out.split())


def test_an_explanation_fits_the_screen(gemmbench, explained, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    *lines, again = gemmbench("show", explained, "--explain", "tiled@24x16x8").out.splitlines()
    assert 70 < max(map(len, lines)) <= 80
    assert again.startswith("Again:")


def test_a_row_that_is_not_there_is_a_usage_error(gemmbench, explained):
    said = gemmbench("show", explained, "--explain", "naive")
    assert (said.code, said.out) == (2, "")
    assert said.err == f"gemmbench: --explain: no row of 'naive'; {explained.name} has tiled, cublas\n"


def test_wide_tables_can_be_asked_for_when_running_and_when_showing(gemmbench, explained, script, tmp_path):
    plain = gemmbench("show", explained).out
    wide = gemmbench("show", explained, "--wide", "--export-markdown", "x.md").out
    assert "GFLOPS/W" not in plain and "GFLOPS/W" in wide and "GFLOPS/W" in (tmp_path / "x.md").read_text()
    shown = [line for line in plain.splitlines() if line and not line.startswith(("How it was", "Flags"))]
    assert all(line.split()[0] in wide for line in shown)
    said = gemmbench("run", "tiled", "--device", script(times=TIMES), "--wide", "--out", "there", *ASKED)
    assert said.code == 0 and "FLOP/B" in said.out and "GFLOPS/W" not in said.out


@pytest.mark.parametrize("seconds", ["0.5", "61", "nan"])
def test_a_steady_load_takes_a_sensible_number_of_seconds(refused, seconds):
    said = refused("run", "naive", "--device", "fake", "--sustained", seconds)
    assert said == f"sustained: {seconds} s; give seconds of steady load for each row, 1 to 60 (0: none)"


def test_a_steady_load_that_no_row_has_is_told(gemmbench, script):
    said = gemmbench("run", "tiled", "--device", script(times={"tiled": 0.1}), "--sustained", "1", *ASKED)
    assert said.code == 0
    why = "it needs a GPU, and launches of at most 0.1 s"
    assert said.err.endswith(f"--sustained: no row has a steady load; {why}\n")


def test_a_word_after_sustained_is_not_taken_for_seconds(gemmbench):
    said = gemmbench("run", "--sustained", "tiled", "--device", "fake")
    assert said.code == 2 and "write --sustained=4, or --sustained as the last word" in said.err


def test_the_command_of_a_row_keeps_blanks_in_an_argument(gemmbench, write_kernel, saved):
    write_kernel("mine.cu", folder="my kernels")
    said = gemmbench("run", "mine", "--device", "fake", "--kernels", "my kernels", "--sizes", "16", "--rounds", "2")
    assert said.code == 0
    journal, _ = saved()
    assert "--kernels 'my kernels'" in json.loads(journal.read_text().splitlines()[0])["command"]
    again = shlex.split(gemmbench("show", journal, "--explain", "mine").out.splitlines()[-1].removeprefix("Again:"))
    assert again[again.index("--kernels") + 1] == "my kernels"
    assert gemmbench(*again[1:], "--out", "again").code == 0


@pytest.fixture
def many(gemmbench, script, saved):
    """A results file of three sizes."""
    sizes = ["--sizes", "16,32,48", "--rounds", "4", "--cache", "hot"]
    gemmbench("run", "naive", "tiled", "--device", script(times=TIMES), *sizes)
    return saved()[0]


def test_rows_are_chosen_as_for_a_chart_and_in_exports_too(gemmbench, many):
    said = gemmbench("show", many, "--sizes", "32", "--variant", "ti*", "--export-csv", "-")
    (row,) = csv.DictReader(io.StringIO(said.out))
    assert (row["variant"], row["M"]) == ("tiled", "32")
    said = gemmbench(
        "show", many, "--columns", "kernel,FLOP/B,time", "--sort", "-time", "--variant", "ti*", "--export-csv", "-"
    )
    header, *rows = said.out.splitlines()
    assert header == "variant,flop_per_byte,time_s" and len(rows) == 3
    times = [float(row.split(",")[-1]) for row in rows]
    assert times == sorted(times, reverse=True)
    assert said.err == "", "the rows are on stdout, so no table is shown"
    assert gemmbench("show", many, "--layout", "nn", "--precision", "f32").code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--sizes", "64"], "no row of size 64; the results contain: 16, 32, 48"),
        (["--variant", "tild"], "no row of 'tild' (did you mean 'tiled'?); the results contain: naive, tiled, cublas"),
        (["--layout", "tn"], "no row is selected; the results contain: 16 nn f32, 32 nn f32, 48 nn f32"),
        (["--columns", "speed"], "no column 'speed'"),
        (["--columns", ""], "no column ''"),
        (["--sort", "speed"], "no column 'speed'"),
        (["--export-csv", "-", "--export-json", "-"], "only one export can go to stdout (-);"),
    ],
)
def test_what_no_row_has_is_refused_with_what_there_is(gemmbench, many, options, words):
    said = gemmbench("show", many, *options)
    assert said.code == 2 and words in said.err


def test_many_groups_are_chosen_as_tables_call_them(gemmbench, script, saved):
    sizes = ["--sizes", "16,1+2+3+4+5x16x16", "--layout", "nn", "--rounds", "4", "--cache", "hot"]
    gemmbench("run", "naive", "--device", script(), *sizes)
    path = saved()[0]
    chosen = ["--columns", "kernel,M", "--export-csv", "-"]
    for size in ("5 groups of 1-5x16x16", "1+2+3+4+5x16x16"):
        assert gemmbench("show", path, "--sizes", size, *chosen).out.splitlines()[1:] == ["naive,15", "cublas,15"]
    assert len(gemmbench("show", path, "--sizes", "5 groups of 1-5x16x16,16", *chosen).out.splitlines()) == 5
    listed = gemmbench("show", "results", "--sizes", "5 groups of 1-5x16x16").out
    assert "--sizes '5 groups of 1-5x16x16'" in listed
    said = gemmbench("show", path, "--sizes", "8 groups of 1-5x16x16")
    assert said.code == 2
    assert "no row of size 8 groups of 1-5x16x16; the results contain: 16, 5 groups of 1-5x16x16" in said.err


def test_three_sizes_share_a_table_and_have_their_own_with_details(gemmbench, many):
    said = gemmbench("show", many)
    assert said.out.startswith("% of cublas: nn, f32\n\nkernel ") and "--details" in said.out
    assert gemmbench("show", many, "--details").out.count("\nM = ") == 2
    assert gemmbench("show", many, "--columns", "registers,rounds").out.count("\nregisters  rounds\n") == 3
    assert "GFLOPS: nn, f32" in gemmbench("show", many, "--columns", "gflops").out


def test_named_columns_are_never_hidden(gemmbench, many, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    said = gemmbench("show", many, "--sizes", "32", "--columns", "kernel,status,error,configuration,M")
    assert "Hidden" not in said.out and "error (max. 16)" in said.out


def test_notes_say_how_rows_were_measured(gemmbench, many):
    assert "Rounds: 4" not in gemmbench("show", many).out
    assert "Rounds: 4" in gemmbench("show", many, "--notes").out


def test_a_pipe_gets_the_export_and_nothing_else(gemmbench, many):
    said = gemmbench("show", many, "--export-json", "-")
    assert len(json.loads(said.out)["rows"]) == 9 and said.err == ""
    said = gemmbench("show", many, "--export-markdown", "-")
    assert said.out.startswith("### M = 16") and said.err == ""
    assert not Path("-").exists()
    assert gemmbench("plot", many, "-o", "-").out.startswith("<svg")
    assert gemmbench("report", many, "-o", "-").out.startswith("<!doctype html>")
