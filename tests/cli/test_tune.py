"""gemmbench tune: search, keep the winner, use it."""

from __future__ import annotations

import errno
import json
import os
import signal

import pytest

from gemmbench.planning.plans import configurations
from gemmbench.report.store.journal import Journal
from gemmbench.session import tuning_runs
from gemmbench.session.dispatch import evaluate_rows

TIMES = {f"mine T={value}": 1e-3 * (1 + abs(value - 3) / 10) for value in range(1, 6)} | {"cublas": 5e-4}


@pytest.fixture
def tune(gemmbench, script, write_kernel, monkeypatch):
    """Tune a kernel with five configurations, of which T=3 is the fastest."""
    monkeypatch.setattr(tuning_runs, "_FIRST_SHAPE", (7, 5, 3))
    monkeypatch.setattr(configurations, "SHAPES", ((7, 5, 3),))
    monkeypatch.setattr(configurations, "LARGE", (17, 18, 19))
    write_kernel("mine.cu", params={"T": [1, 2, 3, 4, 5]}, require=["T < 5"])

    def run(*arguments, command="tune", times=TIMES, faults=None):
        device = script(times=times, faults=faults or {})
        where = ("--device", device, "--kernels", "kernels")
        return gemmbench(command, "mine", *where, "--sizes", "8", "--cache", "hot", "--rounds", "10", *arguments)

    return run


def test_it_prints_the_finalists_the_winner_and_why_the_others_went(tune):
    said = tune("--wide")
    assert said.code == 0
    assert said.out.splitlines()[-2:] == [
        "mine at 8 nn f32: best T=3, 1.000 +- 0 ms, 1.20x faster than the default.",
        "  Tried 4 of 4 configurations (1 more cannot run here): 4 measured in full.",
    ]
    assert "T=3 (measured again)" in said.out and "1 winner kept in " in said.err


def test_the_winner_runs_with_tuned_and_only_without_parameters(tune):
    missing = tune("--tuned", command="run")
    assert "--tuned: no winner is kept for mine at 8 nn f32; the default configuration runs" in missing.err
    assert "T=1" in missing.out
    tune()
    assert "T=3" in tune("--tuned", command="run").out
    assert "T=1" in tune(command="run").out
    assert "T=4" in tune("--tuned", "--param", "T=4", command="run").out
    planned = tune("--tuned", "--dry-run", command="run")
    assert "T=3" in planned.out


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
    assert "unknown variant 'tild' (did you mean 'tiled'?)" in refused("tune", "tild", *option)
    assert not (tmp_path / "out.json").exists()


def test_a_variant_without_parameters_is_not_tuned(refused):
    message = refused("tune", "cublas", "--device", "fake")
    assert message == "cublas has no parameters, so there is nothing to tune; gemmbench run cublas measures it"


def test_wide_lists_what_went_only_if_something_went(tune):
    assert "why configurations went" not in tune("--wide").out
    said = tune("--wide", faults={"mine T=4": "build"})
    assert "mine at 8 nn f32: why configurations went" in said.out


def test_a_result_is_shown_even_if_it_cannot_be_kept(tune, monkeypatch, data_home):
    monkeypatch.setattr("gemmbench.session.winners.replace_file", fill_disk)
    said = tune()
    assert said.code == 2 and "mine at 8 nn f32: best T=3" in said.out
    assert f"{data_home / 'tuned.json'}: cannot be written: No space left on device" in said.err
    assert "winner kept" not in said.err


def test_without_a_sensor_energy_chooses_none_of_the_right_finalists(tune):
    said = tune("--goal", "energy", "--sustained", "1")
    assert said.code == 1
    assert "the finalists are right, but no energy was measured; take another --goal; fastest T=3" in said.out


def test_a_full_disk_for_results_is_no_ctrl_c(tune, monkeypatch):
    write = Journal._append

    def append(journal, *rows):
        if getattr(rows[0], "phase", "") == "ranking":
            journal.fault = f"cannot write to {journal.path}: No space left on device"
        else:
            write(journal, *rows)

    monkeypatch.setattr(Journal, "_append", append)
    said = tune()
    assert said.code == 2 and "best so far T=" in said.out
    assert "No space left on device; the run ended, and --resume continues it" in said.err


def fill_disk(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_is_not_right_is_listed_with_its_reason(tune):
    said = tune(faults={"mine T=3": "zero", "mine T=4": "build"})
    assert said.code == 0 and "best T=2" in said.out
    assert "  Not right: T=3: wrong at 7x5x3: exact check: " in said.out
    assert "  Not right: T=4: failed at 7x5x3: " in said.out


def test_a_search_without_a_winner_ends_with_1_and_keeps_nothing(tune, gemmbench):
    said = tune(faults={"mine": "zero"})
    assert said.code == 1 and "mine at 8 nn f32: no configuration is right." in said.out
    assert gemmbench("tune", "--show").out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--strategy", "grid"), "unknown strategy 'grid'; choose exhaustive, random, model"),
        (("--budget", "1"), "--budget 1: a search compares at least 2 configurations; give more"),
        (("--budget", "soon"), "cannot parse --budget 'soon'"),
        (("--param", "T=5"), "mine at 8 nn f32: no configuration can run here: require T < 5"),
    ],
)
def test_what_cannot_be_searched_ends_with_2(tune, tmp_path, arguments, message):
    said = tune(*arguments)
    assert (said.code, said.out) == (2, "") and said.err.startswith(f"gemmbench: {message}")
    assert not list((tmp_path / "results").glob("*"))


def test_without_a_variant_it_says_what_to_type(refused):
    assert refused("tune", "--device", "fake").startswith("tune needs a variant: gemmbench tune ")


def test_a_kernel_that_this_device_cannot_run_ends_with_3(refused):
    message = refused("tune", "sgemm_tma", "--device", "cpu", "--sizes", "64", code=3)
    assert message.startswith("sgemm_tma at 64 nn f32: no configuration can run here: needs a GPU")


def test_ctrl_c_keeps_the_best_so_far_and_resume_goes_on(tune, windows, gemmbench, monkeypatch):
    monkeypatch.setattr("gemmbench.bench.tuning.screening._MOST_TOGETHER", 2)
    monkeypatch.setattr("gemmbench.bench.tuning.screening._LEAST_TOGETHER", 2)
    seen, at = windows
    tune()
    gemmbench("tune", "--forget")
    whole = len(seen)
    at[whole + whole // 2] = lambda: signal.raise_signal(signal.SIGINT)
    said = tune("--out", "again")
    assert said.code == 130 and "interrupted; best so far T=" in said.out
    assert "(interrupted)" in gemmbench("tune", "--show").out
    again = gemmbench("tune", "--resume", "--out", "again")
    assert again.code == 0 and "best T=3" in again.out and len(seen) < whole * 5 // 2
    assert "(interrupted)" not in gemmbench("tune", "--show").out


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
    path = write_kernel("best.cu", symbol=None, grid=None, block=None, body="", order=7, pick=PICK)
    times = {"small P=1": 3e-3, "small P=2": 2e-3, "large Q=1": 1.5e-3, "large Q=2": 1e-3, "cublas": 5e-4}

    def run(*arguments):
        device = script(times=times)
        fast = ("--sizes", "8,12,16,24,32,40", "--cache", "hot", "--rounds", "10", "--kernels", "kernels")
        return gemmbench("tune", "best", "--device", device, *fast, *arguments)

    return run, path


def test_a_dispatch_table_is_shown_and_nothing_is_written_without_being_asked(dispatch):
    run, path = dispatch
    before = path.read_text()
    said = run("--hold-out", "0.4")
    assert said.code == 0 and path.read_text() == before
    assert "best: rows of its pick" in said.out and "large: Q=2" in said.out
    assert "At 2 problems held out, what is picked takes 0 % longer than the best on average" in said.out


def test_rows_of_a_pick_are_written_and_the_others_stay(dispatch, gemmbench):
    run, path = dispatch
    before = path.read_text()
    said = run("--write-pick")
    assert said.code == 0 and "pick of best written to " in said.err
    wanted = before.replace("variant: small\n    params: {P: 1} ", "variant: large\n    params: {Q: 2} ")
    wanted = wanted.replace("M <= 64\n    variant: large\n", "M <= 64\n    variant: large\n    params: {Q: 2}\n")
    assert path.read_text() == wanted
    again = gemmbench("run", "best", "--device", "fake", "--kernels", "kernels", "--sizes", "8", "--rounds", "2")
    assert "large: Q=2" in again.out


def test_rows_that_were_edited_during_the_search_are_not_overwritten(dispatch, monkeypatch):
    run, path = dispatch
    edited = path.read_text().replace(
        "  - when: M <= 16      # small", "  - when: M <= 4\n    variant: small\n  - when: M <= 16"
    )

    def edit(*arguments):
        path.write_text(edited)
        return evaluate_rows(*arguments)

    monkeypatch.setattr("gemmbench.session.tuning_runs.evaluate_rows", edit)
    said = run("--write-pick")
    assert said.code == 2 and path.read_text() == edited
    assert "best: rows of its pick" in said.out
    assert "its pick, or what it picks, changed during the search; nothing is written" in said.err


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
    fast = ("--device", device, "--cache", "hot", "--rounds", "10", "--kernels", "kernels")
    said = gemmbench("tune", "best", "-c", "few.yaml", "--write-pick", "--hold-out", "0", *fast)
    assert said.code == 0 and gemmbench("tune", "--show").out == ""
    assert said.out.count("Tried 1 of 1 configuration:") == 4  # what the row names now, and what the config lists
    assert path.read_text() == before.replace(
        "variant: small\n    params: {P: 1} ", "variant: large\n    params: {Q: 1} "
    )


def test_the_kernels_of_a_pick_share_their_finals(tune, gemmbench, script, write_kernel):
    for name in ("first", "second"):
        write_kernel(f"{name}.cu", params={"V": list(range(1, 7))})
    pick = "\n  - {when: M > 8, variant: first}\n  - variant: second"
    write_kernel("best.cu", symbol=None, grid=None, block=None, body="", order=7, pick=pick)
    times = {f"first V={v}": 1e-3 * (1 + v / 100) for v in range(1, 7)}
    times |= {f"second V={v}": 1e-3 * (1.05 + v / 100) for v in range(1, 7)}
    fast = ("--sizes", "8", "--cache", "hot", "--rounds", "10", "--kernels", "kernels")
    said = gemmbench("tune", "best", "--device", script(times={**times, "cublas": 5e-4}), *fast)
    assert said.code == 0
    assert "Tried 6 of 6 configurations: 2 left out by rank, 4 measured in full." in said.out
    assert "second at 8 nn f32: no finalist; fastest V=1, from short rounds only. Other kernels are faster." in said.out
    times |= {f"second V={v}": 1e-3 * (1.015 + v / 100) for v in range(1, 7)}
    said = gemmbench("tune", "best", "--device", script(times={**times, "cublas": 5e-4}), *fast)
    assert "Tried 6 of 6 configurations: 3 left out by rank, 3 measured in full." in said.out
    assert "Tried 6 of 6 configurations: 5 left out by rank, 1 measured in full." in said.out


def test_write_pick_needs_one_variant_with_a_pick(tune, dispatch, gemmbench):
    said = tune("--write-pick")
    assert (said.code, said.out) == (2, "") and "--write-pick needs one variant with a `pick`" in said.err
    both = gemmbench("tune", "best", "small", "--device", "fake", "--kernels", "kernels")
    assert both.code == 2 and "best picks from other variants; tune it alone" in both.err
