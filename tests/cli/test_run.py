"""`gemmbench run` from end to end, on a device whose times are known: rows, exports, dry runs, isolation."""

import json
import re

import pytest

from gemmbench.report import comparison
from gemmbench.report.store.reading import read_results

FAST = ["--sizes", "32", "--rounds", "10", "--cache", "hot"]
TIMES = {"naive": 2e-3, "tiled": [1e-3, 1e-3], "cublas": 2.5e-4}


def test_a_run_prints_the_table_and_saves_rows_with_the_scripted_times(run_three, saved, golden):
    said = run_three()
    assert said.code == 0
    golden("run.txt", re.sub(r"\d\.\d{3}( +ok)", r"(error)\1", said.out))  # the rounding error is NumPy's own
    journal, rows = saved()
    assert said.err == f"results: {journal.relative_to(journal.parents[1])} and .csv\n"
    assert re.fullmatch(r"\d{8}-\d{6}-quick-[0-9a-f]{4}", journal.stem)
    assert [(row["variant"], row["status"]) for row in rows] == [("naive", "ok"), ("tiled", "ok"), ("cublas", "ok")]
    naive, tiled, cublas = rows
    assert float(naive["time_s"]) == pytest.approx(2e-3) and float(naive["gflops"]) == pytest.approx(65536 / 2e-3 / 1e9)
    assert float(naive["percent_of_baseline"]) == pytest.approx(12.5)
    assert float(tiled["percent_low"]) == pytest.approx(25) == pytest.approx(float(tiled["percent_high"]))
    assert float(cublas["percent_of_peak"]) == pytest.approx(100 * 65536 / 2.5e-4 / 1e12)
    assert {row["cache"] for row in rows} == {"hot"}


def test_every_row_is_a_line_with_all_its_samples_and_the_header_has_the_command(run_three, saved):
    run_three("--seed", "3")
    found = read_results(saved()[0])
    assert found.environment.command.startswith("gemmbench run naive tiled cublas --sizes 32 --device fake:")
    assert found.environment.baseline == "cublas" and found.environment.sweep == "quick"
    assert [len(record.samples) for record in found.records] == [10, 10, 10]
    assert {record.seed for record in found.records} == {3}


def test_groups_are_one_launch_or_one_for_each_and_can_be_asked_for_again(gemmbench, saved):
    call = ["run", "naive", "tiled", "--device", "fake", "--sizes", "20+0+3x4x5", "--epilogue", "bias,relu", *FAST[2:]]
    said = gemmbench(*call)
    assert said.code == 0 and "M = 23 (20 + 0 + 3), N = 4, K = 5" in said.out
    path, rows = saved()
    assert {(row["M"], row["count"], row["groups"], row["status"]) for row in rows} == {("23", "1", "20+0+3", "ok")}
    found = {record.variant: record for record in read_results(path).records}
    assert found["naive"].per_product and not found["tiled"].per_product
    assert found["tiled"].problem.groups == (20, 0, 3) and found["tiled"].grid == [1, 5, 1]
    why = gemmbench("show", path, "--explain", "naive").out
    assert "2 launches or calls, one for each" in why and "`kinds: [one, groups]`" in why
    assert "--sizes 20+0+3x4x5 " in why
    planned = gemmbench(*call, "--dry-run").out
    assert planned.count("20+0+3x4x5 nn f32") == 3 and "20x4x5" not in planned


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--layout", "tn"],
            "layout tn stores A by columns, but each group has whole rows of A; choose --layout nn or nt",
        ),
        (["--with-transfers"], "size 20+0+3x4x5: --with-transfers measures single products"),
    ],
)
def test_what_groups_cannot_have_is_refused(gemmbench, options, words):
    said = gemmbench("run", "tiled", "--device", "fake", "--sizes", "20+0+3x4x5", *options)
    assert said.code == 2 and words in said.err


def test_the_default_sweep_is_quick(gemmbench, saved):
    assert gemmbench("run", "--device", "fake", *FAST).code == 0
    assert {row["variant"] for row in saved()[1]} == {"naive", "tiled", "blocktile_2d", "cublas"}


def test_another_baseline_can_be_named(gemmbench, saved, script):
    device = script(times=TIMES)
    said = gemmbench("run", "naive", "--baseline", "tiled", "--device", device, *FAST)
    assert "% of tiled" in said.out
    percents = {row["variant"]: float(row["percent_of_baseline"]) for row in saved()[1]}
    assert percents == {"naive": pytest.approx(50), "tiled": 100}


def test_options_reach_the_rows(gemmbench, saved):
    options = "--param TILE=8,32 --alpha 2 --beta -0.5 --data ints --seed 4 --no-gate --rounds 3 --device fake"
    gemmbench("run", "tiled", "--sizes", "8x16x24,9:10:1", "--layout", "tt,nn", *options.split())
    journal, rows = saved()
    sweep = [row for row in rows if row["variant"] == "tiled" and row["phase"] == "sweep"]
    assert {(row["M"], row["N"], row["K"]) for row in sweep} == {("8", "16", "24"), ("9",) * 3, ("10",) * 3}
    assert {row["config"] for row in sweep} == {"TILE=8", "TILE=32"} and len(sweep) == 3 * 2 * 2
    assert {(row["layout"]) for row in sweep} == {"nn", "tt"}
    assert {(row["alpha"], row["beta"], row["data"], row["seed"]) for row in sweep} == {("2.0", "-0.5", "ints", "4")}
    assert not any(record.gated for record in read_results(journal).records)


def test_a_sweep_measures_its_winner_again(gemmbench, saved):
    said = gemmbench("run", "tiled", "--param", "all", "--device", "fake", *FAST)
    finals = [row["variant"] for row in saved()[1] if row["phase"] == "final"]
    assert finals == ["tiled", "cublas"] and "(measured again)" in said.out


def test_a_variant_that_a_config_names_twice_brings_the_values_of_both(gemmbench, tmp_path, saved):
    text = "variants:\n  - tiled: {TILE: [8]}\n  - tiled: {TILE: [8, 16]}\n  - cublas\nsizes: [32]\n"
    (tmp_path / "mine.yaml").write_text(text)
    assert gemmbench("run", "-c", "mine.yaml", "--device", "fake", *FAST[2:]).code == 0
    swept = [row["config"] for row in saved()[1] if row["phase"] == "sweep" and row["variant"] == "tiled"]
    assert swept == ["TILE=8", "TILE=16"]


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        ("build", "failed", "cuda/tiled.cu:1: error: as scripted"),
        ("crash", "failed", "crashed, as scripted"),
        ("unwritten", "wrong", "C was never written"),
        ("last_column", "wrong", "32 of 1024 elements wrong, first C[0][31] = nan"),
        ("overrun", "wrong", "wrote outside its output: 4 bytes after the end of C"),
        ("zero", "wrong", "first C[0][0] = 0"),
    ],
)
def test_a_bad_kernel_is_a_row_the_rest_goes_on_and_the_exit_code_is_1(run_three, saved, fault, status, words):
    said = run_three(faults={"tiled": fault})
    assert said.code == 1
    rows = {row["variant"]: row for row in saved()[1]}
    assert [rows[name]["status"] for name in ("naive", "tiled", "cublas")] == ["ok", status, "ok"]
    (note,) = (line for line in said.out.splitlines() if line.startswith("tiled TILE=16: "))
    assert note.startswith(f"tiled TILE=16: {status}: ") and words in note


def test_kernels_of_one_s_own_are_measured_and_one_that_is_skipped_is_no_bad_row(gemmbench, write_kernel, saved):
    write_kernel("mine.cu", order="15")
    write_kernel("picky.cu", require=["K % 7 == 0"])
    said = gemmbench("run", "picky", "mine", "--kernels", "kernels", "--device", "fake", *FAST)
    assert said.code == 0 and "picky: skipped: require K % 7 == 0 (kernels/picky.cu:" in said.out
    statuses = {row["variant"]: row["status"] for row in saved()[1]}
    assert statuses == {"picky": "skipped", "mine": "ok", "cublas": "ok"}


def test_where_nothing_ran_the_exit_code_is_3(gemmbench):
    said = gemmbench("run", "tiled", "--baseline", "naive", "--precision", "tf32", "--device", "fake", *FAST)
    assert said.code == 3
    assert "nothing ran: every row was skipped for the reasons above" in said.err
    assert "tiled: skipped: does not support precision tf32; supports f32" in said.out


def test_a_named_variant_that_cannot_be_compared_with_a_named_baseline_is_an_exit_code_of_its_own(
    gemmbench, write_kernel
):
    write_kernel("picky.cu", require=["K % 7 == 0"])
    call = ["--kernels", "kernels", "--device", "fake", *FAST]
    said = gemmbench("run", "naive", "picky", "--baseline", "naive", *call)
    assert said.code == 3 and "picky could not run, so it is not compared: require K % 7 == 0" in said.err
    assert gemmbench("run", "naive", "--baseline", "picky", *call).code == 3
    assert gemmbench("run", "naive", "--baseline", "cublas", "--device", "cpu", *FAST).code == 3


def test_a_division_with_a_remainder_is_a_skip_that_names_the_line(gemmbench, write_kernel):
    write_kernel("even.cu", grid=["N / 7", "1"])
    said = gemmbench("run", "even", "--kernels", "kernels", "--device", "fake", *FAST)
    assert "even: skipped: N / 7: 32 / 7 leaves a remainder of 4 (kernels/even.cu:8)" in said.out


def test_rounds_end_when_every_interval_is_narrow(gemmbench, script, saved):
    times = {"naive": 2e-3, "tiled": [1e-3, 2e-3, 1.5e-3, 3e-3, 1.2e-3, 2.2e-3, 1.7e-3], "cublas": 1e-3}
    said = gemmbench(
        "run", "naive", "tiled", "--device", script(times=times), "--sizes", "32", "--cache", "hot", "--notes"
    )
    assert said.code == 0
    found = {row["variant"]: (row["rounds"], row["stopped"]) for row in saved()[1]}
    assert found == {"naive": ("30", "until"), "tiled": ("60", "rounds"), "cublas": ("60", "rounds")}
    assert "2 rows stopped at the round limit before their interval reached +- 0.5 %." in said.out


def test_kernels_that_take_the_process_down_lose_no_healthy_row(gemmbench, script, saved):
    device = script(isolated=True, faults={"tiled": "die"})
    sizes = ["--sizes", "8,16", "--rounds", "2", "--cache", "hot"]
    said = gemmbench("compare", "naive", "tiled", "blocktile_2d", "cublas", "--device", device, *sizes)
    assert said.code == 1
    _, rows = saved()
    statuses = {(row["variant"], row["M"]): row["status"] for row in rows}
    for size in ("8", "16"):
        assert [statuses[name, size] for name in ("naive", "blocktile_2d", "cublas")] == ["ok"] * 3
        assert statuses["tiled", size] == "failed"
    assert "crashed the worker process: its process was ended by SIGSEGV" in said.out


@pytest.mark.parametrize(
    "command",
    [
        "verify naive --sizes 8",
        "mlp tiled cublas --batch 3 --rounds 2",
        "run cublas --sizes 32 --rounds 2 --with-transfers --panels 2",
    ],
)
def test_every_experiment_works_there(gemmbench, script, command):
    said = gemmbench(*command.split(), "--device", script(isolated=True))
    assert said.code == 0 and ("overlapped" in said.out) == ("--with-transfers" in command)


def test_a_time_limit_for_the_sweep_keeps_what_there_is(gemmbench, script):
    said = gemmbench("compare", "naive", "cublas", "--device", script(), "--sizes", "8", "--sweep-limit", "0.000001")
    assert said.code == 130
    assert "the sweep reached its time limit of 1e-06 s; --resume continues it" in said.err


@pytest.mark.parametrize("name", ["compile", "launch", "sweep"])
def test_a_limit_must_be_positive(gemmbench, name):
    said = gemmbench("compare", "naive", "tiled", "--device", "fake", f"--{name}-limit", "0")
    assert (said.code, said.err) == (2, f"gemmbench: --{name}-limit 0: give a positive number of seconds\n")


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


def test_a_dry_run_shows_plans_skips_and_a_time_and_runs_nothing(gemmbench, write_kernel, tmp_path):
    write_kernel("mine.cu", params={"T": "[8, 12, 16]"}, require=["K % T == 0"])
    options = "--kernels kernels --param T=8,12,16 --sizes 32,48 --device fake --dry-run"
    said = gemmbench("run", "mine", "naive", *options.split())
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
    found = {(row["M"], row["rounds"], row["cache"], row["data"], row["seed"]) for row in rows}
    assert found == {("16", "2", "hot", "ones", "9")}
    assert {row["config"] for row in rows} == {"BX=16 BY=16", "TILE=8"}


def test_an_option_stands_above_its_environment_variable(gemmbench, saved, monkeypatch):
    monkeypatch.setenv("GEMMBENCH_SIZES", "16")
    monkeypatch.setenv("GEMMBENCH_CONFIG", "tiles")
    gemmbench("run", "naive", "--device", "fake", "-c", "quick", *FAST)
    journal, rows = saved()
    assert "-quick-" in journal.name and {row["M"] for row in rows} == {"32"}
