"""What `gemmbench run` writes and prints: exports, formats, dry runs, environment variables."""

import json
import re

import pytest
import tabulate

from gemmbench.report import comparison

FAST = ["--sizes", "32", "--rounds", "10", "--cache", "hot"]
TIMES = {"naive": 2e-3, "tiled": [1e-3, 1e-3], "cublas": 2.5e-4}


def test_exports_hold_the_same_rows_in_three_formats(run_three, saved, tmp_path):
    files = [tmp_path / "out" / name for name in ("x.csv", "x.json", "x.md")]
    said = run_three("--export-csv", files[0], "--export-json", files[1], "--export-markdown", files[2])
    assert said.code == 0
    journal, _ = saved()
    assert files[0].read_text() == journal.with_suffix(".csv").read_text()
    loaded = json.loads(files[1].read_text())
    assert [row["variant"] for row in loaded["rows"]] == ["naive", "tiled", "cublas"]
    assert loaded["environment"]["run"] == journal.stem
    assert files[2].read_text().startswith("### M = 32, N = 32, K = 32, nn, f32\n\n| kernel ")


def test_a_command_computes_its_comparison_once(gemmbench, monkeypatch, script, tmp_path):
    made, make = [], comparison.Comparison
    monkeypatch.setattr(comparison, "Comparison", lambda *parts: made.append(parts) or make(*parts))
    exports = [f"--export-{kind}={tmp_path / kind}" for kind in ("csv", "json", "markdown")]
    assert gemmbench("compare", "naive", "tiled", "--device", script(times=TIMES), *FAST, *exports).code == 0
    assert len(made) == 1


def test_results_go_where_out_says(run_three, saved):
    assert run_three("--out", "deep/er").code == 0
    assert len(saved("deep/er")[1]) == 3


@pytest.mark.parametrize("style", tabulate.tabulate_formats)
def test_every_format_of_tabulate_shows_every_row(run_three, style):
    said = run_three("--format", style, "--rounds", "1")
    assert said.code == 0
    assert all(word in said.out for word in ("naive", "tiled", "cublas", "2.00", "1.00", "0.250", "GFLOPS"))


def test_rich_can_be_asked_for_off_a_terminal(run_three):
    said = run_three("--format", "rich")
    assert said.code == 0 and "─" in said.out and "\x1b" not in said.out


def test_off_a_terminal_there_is_no_progress_and_no_colour(run_three):
    said = run_three()
    assert "\x1b" not in said.out + said.err and "\r" not in said.err
    assert len(said.err.splitlines()) == 1


def test_a_dry_run_shows_plans_skips_and_a_time_and_runs_nothing(gemmbench, write_kernel, tmp_path):
    write_kernel("mine.cu", params={"T": "[8, 12, 16]"}, require=["K % T == 0"])
    said = gemmbench(
        *[
            "run",
            "mine",
            "naive",
            "--kernels",
            "kernels",
            "--param",
            "T=8,12,16",
            "--sizes",
            "32,48",
            "--device",
            "fake",
        ],
        "--dry-run",
    )
    assert said.code == 0 and said.err == ""
    lines = said.out.splitlines()
    assert sum(line.startswith(("32 nn f32", "48 nn f32")) for line in lines) == 9
    assert "skipped 1: mine: require K % T == 0 (kernels/mine.cu:" in said.out
    assert lines[-2] == "9 rows would run and 1 would be skipped."
    assert re.fullmatch(r"About \d+ s on Fake GPU\.", lines[-1])
    assert not (tmp_path / "results").exists()


def test_environment_variables_stand_for_options(gemmbench, saved, monkeypatch, script):
    chosen = {
        "DEVICE": script(times=TIMES),
        "SIZES": "16",
        "ROUNDS": "2",
        "CACHE": "hot",
        "DATA": "ones",
        "SEED": "9",
        "BASELINE": "tiled",
        "PARAM": "TILE=8 BX=16",
        "OUT": "there",
        "FORMAT": "github",
        "MAX_TIME": "3",
        "GATE": "0",
    }
    for name, value in chosen.items():
        monkeypatch.setenv(f"GEMMBENCH_{name}", value)
    said = gemmbench("run", "naive", "tiled")
    assert said.code == 0 and said.out.startswith("### M = 16")
    rows = saved("there")[1]
    assert {row["variant"] for row in rows} == {"naive", "tiled"}
    assert {(row["M"], row["rounds"], row["cache"], row["data"], row["seed"]) for row in rows} == {
        ("16", "2", "hot", "ones", "9")
    }
    assert {row["config"] for row in rows} == {"BX=16 BY=16", "TILE=8"}


def test_an_option_stands_above_its_environment_variable(gemmbench, saved, monkeypatch):
    monkeypatch.setenv("GEMMBENCH_SIZES", "16")
    monkeypatch.setenv("GEMMBENCH_CONFIG", "tiles")
    gemmbench("run", "naive", "--device", "fake", "-c", "quick", *FAST)
    journal, rows = saved()
    assert "-quick-" in journal.name and {row["M"] for row in rows} == {"32"}
