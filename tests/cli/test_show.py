"""`gemmbench show`: the tables again, from saved results."""

import json

import pytest
import tabulate

from gemmbench.bench.record import SCHEMA

FAST = ["--sizes", "16", "--rounds", "2", "--cache", "hot"]


@pytest.fixture
def results(gemmbench, saved):
    """A results file, and what the run printed."""
    said = gemmbench("run", "naive", "tiled", "--device", "fake", *FAST)
    return saved()[0], said.out


def test_the_table_is_that_of_the_run(gemmbench, results):
    journal, printed = results
    said = gemmbench("show", journal)
    assert (said.code, said.out, said.err) == (0, printed, "")


def test_several_files_are_shown_one_after_another(gemmbench, results):
    journal, printed = results
    assert gemmbench("show", journal, journal).out == printed * 2


@pytest.mark.parametrize("style", ["rich", *tabulate.tabulate_formats])
def test_every_format_can_be_shown(gemmbench, results, style):
    said = gemmbench("show", results[0], "--format", style)
    assert said.code == 0 and "naive" in said.out and "tiled" in said.out


def test_exports_can_be_made_later(gemmbench, results, tmp_path):
    journal, _ = results
    gemmbench("show", journal, "--export-csv", "x.csv", "--export-json", "x.json", "--export-markdown", "x.md")
    assert (tmp_path / "x.csv").read_text() == journal.with_suffix(".csv").read_text()
    assert [row["variant"] for row in json.loads((tmp_path / "x.json").read_text())["rows"]] == [
        "naive",
        "tiled",
        "cublas",
    ]
    assert "| naive " in (tmp_path / "x.md").read_text()


def test_an_export_takes_one_file(gemmbench, results):
    said = gemmbench("show", results[0], results[0], "--export-csv", "x.csv")
    assert said.code == 2 and "an export takes one results file at a time" in said.err


def test_a_file_that_was_cut_short_is_shown_with_a_warning(gemmbench, results):
    journal, _ = results
    journal.write_bytes(journal.read_bytes()[:-20])
    said = gemmbench("show", journal)
    assert said.code == 0 and "naive" in said.out
    assert said.err == f"{journal}: the last line is cut off and was left out; --resume measures it again\n"


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
        (tmp_path / "none.jsonl", "none.jsonl: cannot be read: No such file or directory"),
    ):
        said = gemmbench("show", path)
        assert (said.code, said.out) == (2, "")
        assert words in said.err


def test_a_reader_that_goes_away_is_no_fault(results):
    import subprocess
    import sys
    from pathlib import Path

    root = Path(__file__).resolve().parents[2]
    call = (
        f"{sys.executable} -m gemmbench show {' '.join([str(results[0])] * 200)} | head -n 1; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", call], cwd=root, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["M = 16, N = 16, K = 16, nn, f32", "0"]
    assert done.stderr == ""
