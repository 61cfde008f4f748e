"""Runs kept under a name: run --save and --against, show of names and folders, compare of two files."""

import csv
import json
import math
import os
import re
import shlex
import signal

import pytest

from gemmbench.report.store.reading import read_results

from .conftest import cut_after

FAST = ["--sizes", "16", "--rounds", "10", "--cache", "hot"]
TIMES = {"tiled": 2e-3, "naive": 4e-3, "cublas": 1e-3}


@pytest.fixture
def run(gemmbench, script):
    """Run two variants; `times` changes those of the device."""

    def run(*arguments, variants=("naive", "tiled"), **times):
        return gemmbench("run", *variants, "--device", script(times={**TIMES, **times}), *FAST, *arguments)

    return run


@pytest.fixture
def main(run, tmp_path):
    """A run of two variants, saved as main."""
    run("--save", "main")
    return tmp_path / "results/saved/main.jsonl"


@pytest.fixture
def two_runs(run, tmp_path):
    """Two results files; in the second, everything takes twice as long, and tiled a bit more."""
    run("--out", "before")
    run("--out", "after", naive=8e-3, tiled=5e-3, cublas=2e-3)
    return [next((tmp_path / folder).glob("*.jsonl")) for folder in ("before", "after")]


# Saving


def test_a_run_is_saved_under_a_name_and_one_of_that_name_is_replaced(run, tmp_path):
    said = run("--save", "main")
    assert said.code == 0 and "saved as main: results/saved/main.jsonl\n" in said.err
    (journal,), main = (tmp_path / "results").glob("*.jsonl"), tmp_path / "results/saved/main.jsonl"
    assert main.read_bytes() == journal.read_bytes()
    said = run("--save", "main", variants=["tiled"])
    assert "saved as main: results/saved/main.jsonl, which replaces the run of 20" in said.err
    assert {record.variant for record in read_results(main).records} == {"tiled", "cublas"}
    assert len(list((tmp_path / "results").glob("*.jsonl"))) == 2


@pytest.mark.parametrize("name", ["../main", "a b", "", ".hidden", "x" * 65, "main.jsonl"])
def test_a_bad_name_is_refused_before_anything_runs(refused, name):
    said = refused("run", "tiled", "--device", "fake", *FAST, "--save", name)
    assert said.startswith(f"'{name}' cannot name a saved run; use up to 64 letters")


def test_an_interrupted_run_is_not_saved(run, windows, tmp_path):
    windows[1][25] = lambda: os.kill(os.getpid(), signal.SIGINT)
    said = run("--save", "main")
    assert said.code == 130 and "not saved as main, because the run is not complete" in said.err
    assert not (tmp_path / "results/saved").exists()


# Against a saved run


def compared(said):
    """The cells of tiled in the second table."""
    before, _, after = said.out.partition("compared with main")
    assert said.code == 0 and "% of cublas" in before and "ratio by cublas" in after
    (tiled,) = [line.split() for line in after.splitlines() if line.startswith("tiled")]
    return [float(tiled[index]) for index in (2, 3, 4, 7)]


def test_a_run_is_compared_with_a_saved_one_after_its_tables_and_can_replace_it(run, main):
    assert compared(run("--against", "main", "--save", "main", tiled=4e-3)) == [2, 4, 0.5, 0.5]
    assert compared(run("--against", "main", tiled=4e-3))[0] == 4


def test_an_unknown_run_is_refused_with_those_that_are_known(run, main, tmp_path):
    said = run("--against", "mian")
    message = "no results file and no saved run 'mian' (did you mean 'main'?); saved runs in results: main"
    assert (said.code, said.out, said.err) == (2, "", f"gemmbench: {message}\n")
    assert len(list((tmp_path / "results").glob("*.jsonl"))) == 1


def test_a_run_of_another_device_is_refused_before_measuring(run, main):
    main.write_text(main.read_text().replace('"device":"Fake GPU"', '"device":"Other GPU"'))
    said = run("--against", "main")
    assert (said.code, said.out) == (2, "")
    assert "was measured on Other GPU, this one on Fake GPU" in said.err and "use --force" in said.err
    said = run("--against", "main", "--force")
    assert said.code == 0 and "Measured differently: device Other GPU -> Fake GPU" in " ".join(said.out.split())


def test_compare_of_variants_takes_them_too(gemmbench, main, script):
    device = script(times=TIMES)
    said = gemmbench("compare", "tiled", "naive", "--device", device, *FAST, "--against", "main", "--save", "next")
    assert said.code == 0 and "compared with main" in said.out and "saved as next" in said.err
    assert "naive is 2.000x slower than tiled" in said.out.splitlines()[-1]


# compare of two files


def test_two_files_are_compared_without_measuring(gemmbench, two_runs, windows):
    said = gemmbench("compare", *two_runs)
    assert said.code == 0 and windows[0] == []
    lines = [re.sub(r"\+- [\d.]+", "", line).split() for line in said.out.splitlines() if " ok" in line]
    rows = {name: [*(float(cell.replace("-", "nan")) for cell in cells[-6:-2]), cells[-2]] for name, *cells in lines}
    assert rows == {
        "naive": [4, 8, 0.5, 1, "same"],
        "tiled": [2, 5, 0.4, 0.8, "slower"],
        "cublas": [1, 2, 0.5, pytest.approx(math.nan, nan_ok=True), "-"],
    }
    assert "Unpaired" in said.out


def test_two_files_are_compared_as_far_as_they_go(gemmbench, two_runs):
    cut_after(two_runs[1], 2)
    said = gemmbench("compare", *two_runs)
    assert said.code == 0 and said.err.startswith(f"{two_runs[1]}: the run is not finished: it has 2 of 3 ")


@pytest.mark.parametrize(("margin", "shown", "word", "code"), [("1%", "1 %", "slower", 1), ("0.25", "25 %", "same", 0)])
def test_the_margin_decides_and_is_named(gemmbench, two_runs, tmp_path, margin, shown, word, code):
    options = ["--margin", margin, "--fail-on", "slower", "--export-json", "x.json"]
    said = gemmbench("compare", *two_runs, *options)
    (tiled,) = (line for line in said.out.splitlines() if line.startswith("tiled "))
    assert said.code == code and word in tiled.split()
    assert f"lies outside the margin of {shown}; same if it lies inside." in " ".join(said.out.split())
    rows = {row["variant"]: row for row in json.loads((tmp_path / "x.json").read_text())["rows"]}
    assert rows["tiled"]["verdict"] == word and f"{100 * rows['tiled']['margin']:g} %" == shown


def test_a_comparison_can_be_exported(gemmbench, two_runs, tmp_path):
    exports = ["--export-csv", "x.csv", "--export-json", "x.json", "--export-markdown", "x.md"]
    assert gemmbench("compare", *two_runs, *exports).code == 0
    with (tmp_path / "x.csv").open() as file:
        rows = {row["variant"]: row for row in csv.DictReader(file)}
    assert float(rows["tiled"]["speed_ratio"]) == 0.4 and float(rows["tiled"]["baseline_ratio"]) == pytest.approx(0.8)
    assert float(rows["tiled"]["reference_time_s"]) == 2e-3 and rows["tiled"]["M"] == "16"
    assert rows["cublas"]["baseline_ratio"] == "" and rows["naive"]["status"] == "ok"
    exported = json.loads((tmp_path / "x.json").read_text())
    assert [row["variant"] for row in exported["rows"]] == list(rows) and exported["reference"] != exported["run"]
    assert "| tiled " in (tmp_path / "x.md").read_text()


def test_names_of_saved_runs_are_taken_as_well_but_that_of_a_variant_means_the_variant(gemmbench, main, script):
    said = gemmbench("compare", "main", main)
    assert said.code == 2 and "main.jsonl are the same run; measure its kernels again and compare: " in said.err
    assert "gemmbench run --against results/saved/main.jsonl" in said.err
    main.rename(main.with_name("tiled.jsonl"))
    said = gemmbench("compare", "tiled", "naive", "--device", script(times=TIMES), *FAST)
    assert said.code == 0 and "naive is 2.000x slower than tiled" in said.out


def test_two_runs_without_a_common_row_compare_nothing(gemmbench, script):
    for name in ("naive", "tiled"):
        gemmbench("run", name, "--device", script(times=TIMES), *FAST, "--baseline", name, "--save", f"of-{name}")
    said = gemmbench("compare", "of-naive", "of-tiled")
    assert said.code == 3 and "The runs have no rows in common." in said.out
    said = gemmbench(
        "run", "tiled", "--baseline", "tiled", "--device", "fake", *FAST, "--against", "of-naive", "--force"
    )
    assert said.code == 3 and "The runs have no rows in common." in said.out


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["main", "tiled"], "main is a saved run but tiled is not; compare takes kernels, or two saved runs"),
        (["main", "main", "main"], "compare takes two saved runs at a time"),
        (["main"], "compare takes two saved runs at a time"),
        (["main", "gone.jsonl"], "gone.jsonl: no such file"),
        (["main", "main", "--sizes", "8"], "--sizes: saved runs are compared as they are"),
        (["main", "main", "--save", "x"], "--save: saved runs are compared as they are"),
        (["main", "main", "--no-gate"], "--no-gate: saved runs are compared as they are"),
    ],
)
def test_what_cannot_be_compared_is_said(gemmbench, main, names, message):
    said = gemmbench("compare", *names)
    assert (said.code, said.out) == (2, "") and said.err.startswith(f"gemmbench: {message}")


def test_files_of_two_devices_need_force(gemmbench, two_runs):
    before, after = two_runs
    after.write_text(after.read_text().replace('"device":"Fake GPU"', '"device":"Other GPU"'))
    said = gemmbench("compare", before, after)
    assert said.code == 2 and "a difference would come from the devices; use --force" in said.err
    assert gemmbench("compare", before, after, "--force").code == 0


# show


def test_show_without_a_file_takes_the_newest_and_says_which(gemmbench, run, tmp_path):
    run(variants=["naive"])
    (old,) = (tmp_path / "results").glob("*.jsonl")
    old.write_text(old.read_text().replace('"started":"20', '"started":"19', 1))
    run(variants=["tiled"])
    said = gemmbench("show")
    (new,) = {*(tmp_path / "results").glob("*.jsonl")} - {old}
    assert said.code == 0 and "tiled" in said.out and "naive" not in said.out
    assert said.err == f"showing the newest file of results: results/{new.name}\n"


def test_show_takes_the_name_and_the_id_of_a_run(gemmbench, main, saved):
    journal = saved()[0]
    identity = journal.stem.rpartition("-")[2]
    for name in ("main", identity):
        assert gemmbench("show", name).out == gemmbench("show", journal).out
    journal.rename(journal.with_name("mine.jsonl"))
    assert gemmbench("show", identity).code == 0


def test_show_without_results_says_where_they_come_from(gemmbench, refused, tmp_path):
    assert refused("show") == "no results files in results; gemmbench run writes them, or name a file or a folder"
    (tmp_path / "empty").mkdir()
    assert "no results files in empty" in refused("show", "empty")
    (tmp_path / "results" / "card").mkdir(parents=True)
    (tmp_path / "results" / "card" / "2026-quick-12ab.jsonl").write_text("{}")
    said = gemmbench("show", "results")
    assert (said.code, said.out) == (0, "results/card has 1 run: gemmbench show results/card\n")
    assert "name a file or a folder; results/card has 1 run" in gemmbench("show").err


def test_a_folder_lists_its_runs_newest_first(gemmbench, script, run, tmp_path):
    run("--save", "main", variants=["naive"])
    (old,) = (tmp_path / "results").glob("*.jsonl")
    for path in (old, tmp_path / "results/saved/main.jsonl"):
        path.write_text(path.read_text().replace('"started":"20', '"started":"19', 1))
    gemmbench("run", "tiled", "--device", script(faults={"tiled": "zero"}), *FAST)
    said = gemmbench("show", "results")
    assert said.code == 0, said.err
    new, listed = [line for line in said.out.splitlines() if " run " in line]
    assert new.split()[0] in said.out.splitlines()[-1] and "run tiled" in new and new.split()[-3:] == ["2", "1", "-"]
    assert listed.split()[0] == old.stem.rpartition("-")[2]
    assert "run naive" in listed and listed.split()[-4:] == ["16", "2", "-", "main"]
    assert said.out.startswith("results: Fake GPU\n")


def list_rows(gemmbench, *options):
    return [line for line in gemmbench("show", "results", *options).out.splitlines() if "  run " in line]


def test_a_folder_lists_the_sizes_of_its_runs_and_how_to_show_one_size(gemmbench, run, main):
    gemmbench("run", "naive", "--device", "fake", *FAST, "--sizes", "24,32")
    assert sorted(line.split()[-3:-1] for line in list_rows(gemmbench)) == [["16", "3"], ["32", "4"]]
    assert len(list_rows(gemmbench, "--sizes", "32")) == 1
    said = gemmbench("show", "results", "--sizes", "32").out
    assert said.splitlines()[-1] == "Left out: 1 run without such rows: gemmbench show results"
    last = gemmbench("show", "results").out.splitlines()[-1]
    assert last.endswith(" --sizes 24") and gemmbench(*shlex.split(last.partition(": gemmbench ")[2])).code == 0
    said = gemmbench("show", "results", "--sizes", "8")
    assert said.code == 2 and "none of the 2 runs in results has such rows" in said.err


def test_the_list_of_runs_fits_80_columns_and_names_a_file_that_cannot_be_read(gemmbench, run, tmp_path, monkeypatch):
    run("--save", "main", variants=["naive", "tiled", "blocktile_2d"])
    (tmp_path / "results/other.jsonl").write_text("{}\n")
    monkeypatch.setenv("COLUMNS", "80")
    said = gemmbench("show", "results")
    assert "Hidden" not in said.out and max(map(len, said.out.splitlines())) <= 80
    assert said.code == 0 and "left out: results/other.jsonl:1: not a gemmbench results file" in said.err


@pytest.mark.parametrize("option", [("--explain", "1"), ("--export-csv", "x.csv")])
def test_a_folder_is_only_listed(gemmbench, main, option):
    said = gemmbench("show", "results", *option)
    assert said.code == 2 and "results is a folder; give one of its results files" in said.err


# The job summary


def test_a_job_summary_gets_the_tables(run, monkeypatch, tmp_path):
    summary = tmp_path / "summary.md"
    summary.write_text("# before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    run("--save", "main")
    run("--against", "main")
    text = summary.read_text()
    assert text.startswith("# before\n### M = 16") and "| tiled " in text
    assert text.count("### M = 16") == 3 and text.count("compared with main") == 1


def test_a_job_summary_that_cannot_be_written_is_said(run, monkeypatch, tmp_path):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    said = run()
    assert said.code == 2 and "GITHUB_STEP_SUMMARY: cannot write" in said.err
