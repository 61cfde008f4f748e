"""gemmbench tune: search, keep the winner, use it."""

import errno
import json
import os
import signal

import pytest

from gemmbench.report.store.journal import Journal
from gemmbench.session.dispatch import evaluate_rows

TIMES = {f"mine T={value}": 1e-3 * (1 + abs(value - 3) / 10) for value in range(1, 6)} | {"cublas": 5e-4}
FAST = ["--cache", "hot", "--rounds", "10", "--kernels", "kernels"]
BARE = {"symbol": None, "grid": None, "block": None, "body": ""}


def fill_disk(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def tune(gemmbench, script, write_kernel, few_shapes):
    """Tune a kernel with five configurations, of which T=3 is the fastest."""
    write_kernel("mine.cu", params={"T": [1, 2, 3, 4, 5]}, require=["T < 5"])

    def run(*arguments, command="tune", times=TIMES, faults=None):
        device = script(times=times, faults=faults or {})
        return gemmbench(command, "mine", "--device", device, "--sizes", "8", *FAST, *arguments)

    return run


def test_it_prints_the_finalists_the_winner_and_why_the_others_went(tune):
    said = tune("--wide")
    assert said.code == 0 and "why configurations were dropped" not in said.out
    assert said.out.splitlines()[-2:] == [
        "mine at 8 nn f32: best T=3, 1.000 +- 0 ms, 1.20x faster than the default.",
        "  Tried 4 of 4 configurations (1 more cannot run here): 4 measured in full.",
    ]
    assert "x best" in said.out and "measured again" not in said.out and "stored 1 winner in " in said.err


def test_the_winner_runs_with_tuned_and_only_without_parameters(tune):
    missing = tune("--tuned", command="run")
    assert "--tuned: no winner is stored for mine at 8 nn f32; using the default configuration" in missing.err
    assert "T=1" in missing.out
    tune()
    assert "T=3" in tune("--tuned", command="run").out
    assert "T=1" in tune(command="run").out
    assert "T=4" in tune("--tuned", "--param", "T=4", command="run").out
    assert "T=3" in tune("--tuned", "--dry-run", command="run").out


def test_winners_are_shown_exported_and_forgotten(tune, gemmbench, tmp_path):
    empty = gemmbench("tune", "--show")
    assert (empty.code, empty.out) == (0, "") and empty.err.startswith("no winners in ")
    tune()
    shown = gemmbench("tune", "--show", "--format", "tsv")
    cells = [cell.strip() for cell in shown.out.splitlines()[1].split("\t")]
    assert cells[:4] == ["mine", "8 nn f32", "T=3", "1.000"]
    assert gemmbench("tune", "tiled", "--show").err.startswith("no winners of tiled in ")
    assert gemmbench("tune", "--export", "out.json").code == 0
    assert json.loads((tmp_path / "out.json").read_text())["winners"][0]["config"] == {"T": 3}
    assert gemmbench("tune", "tiled", "--forget").err == "0 winners forgotten\n"
    assert gemmbench("tune", "mine", "--forget").err == "1 winner forgotten\n"
    assert gemmbench("tune", "--show").out == ""
    assert gemmbench("tune", "--show", "--forget").code == 2


@pytest.mark.parametrize("option", [("--show",), ("--forget",), ("--export", "out.json")])
def test_winners_of_an_unknown_variant_are_refused(refused, option, tmp_path):
    assert "unknown kernel 'tild' (did you mean 'tiled'" in refused("tune", "tild", *option)
    assert not (tmp_path / "out.json").exists()


def test_a_result_is_shown_even_if_it_cannot_be_kept(tune, monkeypatch, data_home):
    monkeypatch.setattr("gemmbench.session.winners.replace_file", fill_disk)
    said = tune()
    assert said.code == 2 and "mine at 8 nn f32: best T=3" in said.out
    assert f"{data_home / 'tuned.json'}: cannot be written: No space left on device" in said.err
    assert "winner kept" not in said.err


def test_without_a_sensor_energy_chooses_none_of_the_right_finalists(tune):
    said = tune("--goal", "energy", "--sustained", "1")
    assert said.code == 1
    assert (
        "the finalists are correct, but no energy was measured; choose another --goal; the fastest is T=3" in said.out
    )


def test_a_full_disk_for_results_is_no_ctrl_c(tune, monkeypatch):
    write = Journal._append

    def append(journal, *rows):
        if getattr(rows[0], "phase", "") == "ranking":
            journal.fault = f"cannot write to {journal.path}: No space left on device"
        else:
            write(journal, *rows)

    monkeypatch.setattr(Journal, "_append", append)
    said = tune()
    assert said.code == 2 and "best so far is T=" in said.out
    assert "No space left on device; the run ended, and --resume continues it" in said.err


def test_what_is_not_right_is_listed_with_its_reason(tune):
    faults = {"mine T=3": "zero", "mine T=4": "build"}
    said = tune(faults=faults)
    assert said.code == 0 and "best T=2" in said.out
    assert "  Not right: T=3: wrong at 7x5x3: exact check: " in said.out
    assert "  Not right: T=4: failed at 7x5x3: " in said.out
    assert "mine at 8 nn f32: why configurations were dropped" in tune("--wide", faults=faults).out


PYTHON = """\"\"\"
summary: tiles of Python
precisions: [f32]
layouts: [nn]
packages: [torch]
call: matmul(A, B, C, BLOCK_M)
params: {BLOCK_M: [1, 2, 3, 4, 5]}
require: [BLOCK_M < 5]
\"\"\"
import torch
def matmul(a, b, c, BLOCK_M): torch.matmul(a, b, out=c)
"""


def test_parameters_of_a_python_function_are_searched_and_wrong_ones_are_listed(
    gemmbench, script, few_shapes, tmp_path
):
    (tmp_path / "mine.py").write_text(PYTHON)
    times = {name.replace("mine T", "./mine.py BLOCK_M"): seconds for name, seconds in TIMES.items()}
    device = script(times=times, faults={"./mine.py BLOCK_M=3": "zero"})
    said = gemmbench("tune", "./mine.py", "--device", device, "--sizes", "8", *FAST[:4])
    assert said.code == 0 and "best BLOCK_M=2, 1.100 +- 0 ms" in said.out
    assert "  Not right: BLOCK_M=3: wrong at 7x5x3: exact check: " in said.out
    assert "Tried 4 of 4 configurations (1 more cannot run here)" in said.out


def test_a_search_without_a_winner_ends_with_1_and_keeps_nothing(tune, gemmbench):
    said = tune(faults={"mine": "zero"})
    assert said.code == 1 and "mine at 8 nn f32: no configuration is correct." in said.out
    assert gemmbench("tune", "--show").out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--strategy", "grid"), "unknown strategy 'grid'; choose exhaustive, random, model"),
        (("--budget", "1"), "--budget 1: a search compares at least 2 configurations; give at least that many"),
        (("--budget", "soon"), "cannot parse --budget 'soon'"),
        (("--param", "T=5"), "mine at 8 nn f32: no configuration can run here: require T < 5"),
    ],
)
def test_what_cannot_be_searched_ends_with_2(tune, tmp_path, arguments, message):
    said = tune(*arguments)
    assert (said.code, said.out) == (2, "") and said.err.startswith(f"gemmbench: {message}")
    assert not list((tmp_path / "results").glob("*"))


@pytest.mark.parametrize(
    ("words", "message", "code"),
    [
        ("--device fake", "tune needs a kernel: gemmbench tune ", 2),
        ("cublas --device fake", "cublas has no parameters, so there is nothing to tune; list some under `params`", 2),
        ("sgemm_tma --device cpu --sizes 64", "sgemm_tma at 64 nn f32: no configuration can run here: needs a GPU", 3),
    ],
)
def test_what_has_nothing_to_search_here_is_refused(refused, words, message, code):
    assert refused("tune", *words.split(), code=code).startswith(message)


def test_ctrl_c_names_the_best_so_far_stores_no_winner_and_resume_goes_on(tune, windows, gemmbench, monkeypatch):
    monkeypatch.setattr("gemmbench.bench.tuning.screening._MOST_TOGETHER", 2)
    monkeypatch.setattr("gemmbench.bench.tuning.screening._LEAST_TOGETHER", 2)
    seen, at = windows
    tune()
    gemmbench("tune", "--forget")
    whole = len(seen)
    at[whole + whole // 2] = lambda: signal.raise_signal(signal.SIGINT)
    said = tune("--out", "again")
    assert said.code == 130 and "interrupted; the best so far is T=" in said.out
    assert "It is not stored." in said.out and "continue with: gemmbench tune" in said.err.splitlines()[-1]
    assert "no winners" in gemmbench("tune", "--show").err
    again = gemmbench("tune", "--resume", "--out", "again", "--kernels", "kernels")
    assert again.code == 0 and "best T=3" in again.out and len(seen) < whole * 5 // 2
    assert "T=3" in gemmbench("tune", "--show").out


PICK = """
  - when: M <= 16      # small
    variant: small
    params: {P: 1}     # chosen by hand
  - when: M <= 64 and BYTES == 2
    variant: large
  - when: M <= 64
    variant: large
  - variant: large"""


@pytest.fixture
def dispatch(tune, gemmbench, script, write_kernel):
    """Tune a variant that picks from two others: `large` with B=2 is the best everywhere."""
    write_kernel("small.cu", params={"P": [1, 2]})
    write_kernel("large.cu", params={"Q": [1, 2]}, order=6)
    path = write_kernel("best.cu", **BARE, order=7, pick=PICK)
    times = {"small P=1": 3e-3, "small P=2": 2e-3, "large Q=1": 1.5e-3, "large Q=2": 1e-3, "cublas": 5e-4}

    def run(*arguments):
        return gemmbench(
            "tune", "best", "--device", script(times=times), "--sizes", "8,12,16,24,32,40", *FAST, *arguments
        )

    return run, path


def test_a_dispatch_table_is_shown_and_nothing_is_written_without_being_asked(dispatch):
    run, path = dispatch
    before = path.read_text()
    said = run("--hold-out", "40%")
    assert said.code == 0 and path.read_text() == before
    assert "best: rows of its pick" in said.out and "large: Q=2" in said.out
    assert "At 2 problems held out, the picked row takes 0 % longer than the best on average" in said.out


def test_rows_of_a_pick_are_written_and_the_others_stay(dispatch, gemmbench):
    run, path = dispatch
    before = path.read_text()
    said = run("--write-pick")
    assert said.code == 0 and "wrote the pick of best to " in said.err
    wanted = before.replace("variant: small\n    params: {P: 1} ", "variant: large\n    params: {Q: 2} ")
    wanted = wanted.replace("M <= 64\n    variant: large\n", "M <= 64\n    variant: large\n    params: {Q: 2}\n")
    assert path.read_text() == wanted
    again = gemmbench("run", "best", "--device", "fake", "--kernels", "kernels", "--sizes", "8", "--rounds", "2")
    assert "large: Q=2" in again.out


def test_rows_that_were_edited_during_the_search_are_not_overwritten(dispatch, monkeypatch):
    run, path = dispatch
    first = "  - when: M <= 16      # small"
    edited = path.read_text().replace(first, "  - when: M <= 4\n    variant: small\n  - when: M <= 16")

    def edit(*arguments):
        path.write_text(edited)
        return evaluate_rows(*arguments)

    monkeypatch.setattr("gemmbench.session.tuning_runs.evaluate_rows", edit)
    said = run("--write-pick")
    assert said.code == 2 and path.read_text() == edited
    assert "best: rows of its pick" in said.out
    assert "its pick, or a kernel that it picks, changed during the search; nothing is written" in said.err


def test_a_manifest_that_cannot_be_written_stays_as_it_is(dispatch, monkeypatch):
    run, path = dispatch
    before = path.read_text()
    monkeypatch.setattr("gemmbench.session.dispatch.replace_file", fill_disk)
    said = run("--write-pick")
    assert said.code == 2 and path.read_text() == before and "large: Q=2" in said.out
    assert "cannot be written: No space left on device; the rows are in the table" in said.err


def test_rows_that_cannot_be_changed_in_place_are_refused_before_the_search(dispatch, tmp_path):
    run, path = dispatch
    path.write_text(path.read_text().replace("variant: small\n    params: {P: 1} ", "{variant: small}  "))
    said = run("--write-pick")
    assert said.code == 2 and said.out == "" and not (tmp_path / "results").exists()


FEW = """
sizes: [8, 12]
variants:
  - large: {Q: 1}
baseline: cublas
"""


def test_of_the_candidates_of_a_pick_only_those_of_the_config_are_searched(dispatch, gemmbench, script, tmp_path):
    _, path = dispatch
    (tmp_path / "few.yaml").write_text(FEW)
    before = path.read_text()
    device = script(times={"small": 2e-3, "large": 1e-3})
    said = gemmbench("tune", "best", "-c", "few.yaml", "--write-pick", "--hold-out", "0", "--device", device, *FAST)
    assert said.code == 0 and gemmbench("tune", "--show").out == ""
    assert said.out.count("Tried 1 of 1 configuration:") == 4  # what the row names now, and what the config lists
    wanted = before.replace("variant: small\n    params: {P: 1} ", "variant: large\n    params: {Q: 1} ")
    assert path.read_text() == wanted


def test_the_kernels_of_a_pick_share_their_finals(few_shapes, gemmbench, script, write_kernel):
    for name in ("first", "second"):
        write_kernel(f"{name}.cu", params={"V": list(range(1, 7))})
    write_kernel("best.cu", **BARE, order=7, pick="\n  - {when: M > 8, variant: first}\n  - variant: second")

    def tune_best(second):
        times = {"first": 1.0, "second": second}
        times = {f"{name} V={v}": 1e-3 * (base + v / 100) for name, base in times.items() for v in range(1, 7)}
        return gemmbench("tune", "best", "--device", script(times={**times, "cublas": 5e-4}), "--sizes", "8", *FAST)

    said = tune_best(1.05)
    assert said.code == 0
    assert "Tried 6 of 6 configurations: 2 left out by rank, 4 measured in full." in said.out
    assert (
        "second at 8 nn f32: no finalist; the fastest is V=1, from short rounds only. Other kernels are faster."
        in said.out
    )
    said = tune_best(1.015)
    assert "Tried 6 of 6 configurations: 3 left out by rank, 3 measured in full." in said.out
    assert "Tried 6 of 6 configurations: 5 left out by rank, 1 measured in full." in said.out


def test_write_pick_needs_one_variant_with_a_pick(tune, dispatch, gemmbench):
    said = tune("--write-pick")
    assert (said.code, said.out) == (2, "") and "--write-pick needs one kernel with a `pick`" in said.err
    both = gemmbench("tune", "best", "small", "--device", "fake", "--kernels", "kernels")
    assert both.code == 2 and "best picks from other kernels; tune it alone" in both.err
