"""`gemmbench tune`: the search, its winner, and what becomes of it."""

import json
import signal

import pytest

TIMES = {"coalesced": 2e-3, "coalesced BX=8 BY=4 UNROLL=8": 1e-3, "cublas": 5e-4}
BEST = "BX=8 BY=4 UNROLL=8"
FAST = ["--sizes", "32", "--cache", "hot", "--format", "simple"]


@pytest.fixture
def tune(gemmbench, script, monkeypatch, tmp_path):
    """Tune a variant of 30 configurations, of which one is twice as fast; times and faults are given by keyword."""

    def run(*arguments, times=TIMES, faults=(), variant="coalesced"):
        monkeypatch.setenv("GEMMBENCH_DATA_DIR", str(tmp_path / "data"))
        return gemmbench("tune", variant, *FAST, "--device", script(times=times, faults=dict(faults)), *arguments)

    return run


def read_phases(folder):
    (file,) = folder.glob("*.jsonl")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return [(row["phase"], row["config"]) for row in rows if row["row"] == "record"]


def test_the_fastest_configuration_wins_and_is_measured_in_full(tune, tmp_path):
    said = tune()
    assert said.code == 0
    assert f"coalesced at 32 nn f32: {BEST} wins with 1.000 ms\n" in said.out
    assert "30 of 30 configurations tried" in said.out
    phases = read_phases(tmp_path / "results")
    assert {phase for phase, _ in phases} == {"check", "ranking", "final"}
    assert sum(phase == "check" for phase, _ in phases) == 30
    assert sum(phase == "final" for phase, _ in phases) == 9  # eight and cublas


def test_equally_fast_ones_are_ties_and_the_first_in_the_manifest_wins(tune):
    said = tune(times={**TIMES, "coalesced BX=32 BY=4 UNROLL=8": 1e-3})
    assert "1 other may be as fast" in said.out and said.out.count("  as fast\n") == 1
    assert "BX=32 BY=4 UNROLL=8 wins" in said.out


def test_a_wrong_configuration_is_not_timed(tune, tmp_path):
    said = tune(faults={f"coalesced {BEST}": "last_column"})
    assert f"1 not right, such as {BEST}: wrong: " in said.out and f"{BEST} wins" not in said.out
    wrong = {"BX": 8, "BY": 4, "UNROLL": 8}
    assert [phase for phase, config in read_phases(tmp_path / "results") if config == wrong] == ["check"]


def test_a_budget_ends_the_search(tune):
    said = tune("--strategy", "random", "--budget", "12")
    assert "12 of 30 configurations tried" in said.out


def test_the_winner_is_kept_and_used(tune, gemmbench, script):
    tune()
    listed = gemmbench("tune", "--show")
    assert BEST in listed.out and "coalesced" in listed.out
    device = script(times=TIMES)
    planned = gemmbench("run", "coalesced", "--tuned", "--sizes", "32,48", "--device", device, "--dry-run")
    rows = [line for line in planned.out.splitlines() if " coalesced " in line]
    assert [BEST in row for row in rows] == [True, False]


def test_ctrl_c_keeps_the_best_so_far_and_resume_goes_on(tune, gemmbench, windows, tmp_path):
    _, at = windows
    at[700] = lambda: signal.raise_signal(signal.SIGINT)
    said = tune()
    assert said.code == 130 and "short, unverified loads; there was no final" in said.out
    assert "(short load)" in gemmbench("tune", "--show").out
    before = len(read_phases(tmp_path / "results"))
    said = tune("--resume")
    assert said.code == 0 and f"{BEST} wins with 1.000 ms" in said.out and "resuming" in said.err
    assert len(read_phases(tmp_path / "results")) > before > 30
    assert "(short load)" not in gemmbench("tune", "--show").out


def test_winners_are_exported_and_forgotten(tune, gemmbench, tmp_path):
    tune()
    assert gemmbench("tune", "--export", "kept.json").code == 0
    (winner,) = json.loads((tmp_path / "kept.json").read_text())["winners"]
    assert winner["config"] == {"BX": 8, "BY": 4, "UNROLL": 8} and winner["final"] and winner["tried"] == 30
    assert gemmbench("tune", "tiled", "--forget").out == "0 winners deleted\n"
    assert gemmbench("tune", "--forget").out == "1 winner deleted\n"
    assert BEST not in gemmbench("tune", "--show").out


def test_a_damaged_file_of_winners_says_what_to_do(tune, refused, tmp_path):
    tune()
    (tmp_path / "data" / "winners.json").write_text('{"format": 1')
    for file in (tmp_path / "results").glob("*"):
        file.unlink()
    assert refused("tune", "--show").endswith("delete the file, and tune again")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tune"], "tune needs a variant"),
        (["tune", "tiled", "--strategy", "modle"], "unknown strategy 'modle' (did you mean 'model'?)"),
        (["tune", "tiled", "--budget", "5x"], "budget: '5x' is neither a number of configurations nor a time"),
        (["tune", "tiled", "--budget", "0"], "'0' is neither"),
        (["tune", "tiled", "--goal", "energy", "--device", "cpu"], "--goal energy needs a GPU"),
        (["tune", "tiled", "--precision", "3xtf32", "--device", "fake"], "no configuration of tiled can run at"),
    ],
)
def test_bad_input_is_refused(refused, arguments, words):
    device = [] if "--device" in arguments else ["--device", "fake"]
    assert words in refused(*arguments, *device)
