"""gemmbench tune --survey: measures, keeps, continues, fits, judges and writes the constants of a card."""

import json
import os
from pathlib import Path

import pytest
import yaml

from gemmbench.bench.tuning import survey
from gemmbench.errors import LaunchError

pytestmark = pytest.mark.usefixtures("few_shapes", "few_sets")
BARE = {"symbol": None, "grid": None, "block": None, "body": ""}
MODEL = {"estimates": "\n  mine:\n    time: each * cdiv(M, T)", "costs": "\n  mine: {each: 1000000 * T}"}
ROWS = ["when: M == 1\n    variant: mine", "candidates:\n      - mine: {T: [1, 2, 3]}"]
TIMES = {"mine T=1": 1e-3, "mine T=2": 2e-3, "mine T=3": 5e-4, "cublas": 4e-4, "cublas_default": 4e-4}
SHAPES = [("any", (m, 3, 5)) for m in range(1, 9)] + [("layer", (16, n, 4)) for n in (4, 8, 12, 16)]
FILE = Path("results/best-fake-gpu.survey")
COSTS = Path("kernels/best.costs/fake-gpu.yaml")


@pytest.fixture
def run(gemmbench, script, write_kernel, monkeypatch):
    """Survey `best`, which picks one of three configurations of `mine`, at a few small shapes."""
    write_kernel("mine.cu", params={"T": [1, 2, 3]}, layouts="[nn, nt]", precisions="[f32, f16]")
    write_kernel("best.cu", **BARE, **MODEL, pick=ROWS, layouts="[nn, nt]", precisions="[f32, f16]", order=7)

    def call(*arguments, times=TIMES, faults=None, shapes=SHAPES, name="best", **scripted):
        monkeypatch.setattr("gemmbench.session.surveys.generate_shapes", lambda seed: iter(shapes))
        device = script(times=times, faults=faults or {}, **scripted)
        words = ("--kernels", "kernels", "--device", device, "--survey", "--hold-out", "0.3", "--max-time", "60")
        return gemmbench("tune", name, *words, *arguments)

    return call


def lines(path=FILE):
    return [json.loads(line) for line in path.read_text().splitlines()]


def shapes(path=FILE):
    return [(*line["shape"], line["layout"], line["precision"]) for line in lines(path) if "shape" in line]


def test_every_candidate_is_timed_in_all_layouts_and_precisions_and_the_fit_is_judged(run):
    said = run()
    assert said.code == 0, said.err
    assert len(shapes()) == 4 * len(SHAPES) == len(set(shapes()))
    head, *_ = lines()
    assert head["variant"] == "best" and head["target"]["name"] == "Fake GPU" and set(head["codes"]) == {"mine"}
    times = {
        line["shape"][0]: {(name, values.get("T")) for name, values, _ in line["times"]}
        for line in lines()[1:]
        if "shape" in line
    }
    assert (
        ("mine", 3) in times[2] and ("mine", 1) in times[1] and ("mine", 3) not in times[1]
    )  # only those that compete
    assert all(line["wrong"] == [] for line in lines() if "verified" in line)
    for precision in ("f32", "f16"):
        assert f"best in {precision} on Fake GPU: shapes left out of the fit" in said.out
        assert f"best in {precision}: where the best candidate loses most to the best library" in said.out
    assert "Fitted to " in said.out and "survey: results/best-fake-gpu.survey" in said.err
    assert not COSTS.exists()


def test_the_losses_are_those_of_the_pick_with_fitted_and_with_present_constants(run):
    said = run("--layout", "nn", "--precision", "f32", "--format", "tsv")
    rows = [[cell.strip() for cell in line.split("\t")] for line in said.out.splitlines()]
    (all_,) = (row for row in rows if row[0] == "all")
    assert all_[3] == "0 %"  # T=3 is picked
    assert all_[5] != "0 %"  # the defaults pick T=1
    assert all_[6] == all_[7] == "80.00" and all_[8] == all_[2]


def test_the_constants_of_the_card_are_written_and_used(run, gemmbench, script):
    said = run("--write-pick", "--precision", "f32")
    assert said.code == 0 and f"constants: {COSTS}" in said.err
    content = yaml.safe_load(COSTS.read_text())
    assert content["card"] == "Fake GPU" and "at" in content["fit"]
    (part,) = content["costs"]
    assert part["precisions"] == ["f32"] and set(part["candidates"]["mine"]) == {"T=1", "T=2", "T=3"}
    device = script(times=TIMES)
    where = ("--kernels", "kernels", "--device", device, "--sizes", "4", "--dry-run")
    assert "mine: T=3" in gemmbench("run", "best", *where).out
    assert "mine: T=1" in gemmbench("run", "best", *where, "--precision", "f16").out
    run("--write-pick", "--precision", "f16")  # those of f32 stay
    assert [part["precisions"] for part in yaml.safe_load(COSTS.read_text())["costs"]] in (
        [["f32"], ["f16"]],
        [["f32", "f16"]],
    )


def test_the_constants_of_another_card_stay_for_precisions_that_were_not_surveyed(run):
    other = COSTS.with_name("other-gpu.yaml")
    COSTS.parent.mkdir()
    mine = "mine:\n      T=1: {each: 7}\n      T=2: {each: 8}\n      T=3: {each: 9}\n"
    other.write_text(f"card: Other\ncosts:\n- precisions: [f16]\n  candidates:\n    {mine}")
    COSTS.write_text("card: Fake GPU\nsame_as: other-gpu\n")
    assert run("--write-pick", "--precision", "f32").code == 0
    content = yaml.safe_load(COSTS.read_text())
    assert [part["precisions"] for part in content["costs"]] == [["f16"], ["f32"]] and "same_as" not in content
    assert content["costs"][0]["candidates"]["mine"]["T=2"] == {"each": 8}


def test_an_estimate_that_is_no_sum_is_refused_before_anything_is_measured(run, write_kernel):
    write_kernel(
        "best.cu", **BARE, estimates="\n  mine:\n    time: each * each * M", costs="\n  mine: {each: 5}", pick=ROWS
    )
    said = run("--layout", "nn", "--precision", "f32")
    assert said.code == 2 and "the estimate of mine is not a sum of its constants" in said.err
    assert not FILE.exists()


def test_files_are_fitted_again_without_a_device(run, gemmbench, monkeypatch):
    run("--out", "one.survey", "--layout", "nn")
    run("--out", "two.survey", "--layout", "nt")
    monkeypatch.setattr("gemmbench.session.surveys.open_session", None)
    words = ("tune", "best", "--kernels", "kernels", "--survey", "--from", "one.survey", "--from", "two.survey")
    said = gemmbench(*words, "--write-pick")
    assert said.code == 0 and COSTS.exists() and f"constants: {COSTS}" in said.err
    counts = [int(word) for word in said.out.split() if word.isdigit()]
    assert sum(counts[-2:]) == 4 * len(SHAPES)


def test_a_file_is_continued_and_no_shape_is_measured_twice(run):
    run(shapes=SHAPES[:5])
    before = FILE.read_text()
    FILE.write_text(before + '{"shape": [9')
    said = run()
    assert "continuing results/best-fake-gpu.survey, which has 20 shapes" in said.err
    assert FILE.read_text().startswith(before) and len(shapes()) == len(set(shapes())) == 4 * len(SHAPES)


def test_times_of_code_that_changed_are_left_out_and_measured_again(run, write_kernel):
    run("--layout", "nn", "--precision", "f32")
    arguments = "int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C"
    body = f'extern "C" __global__ void gemm({arguments}) {{ return; }}\n'
    write_kernel("mine.cu", params={"T": [1, 2, 3]}, layouts="[nn, nt]", precisions="[f32, f16]", body=body)
    said = run("--layout", "nn", "--precision", "f32")
    assert "continuing" not in said.err and len(shapes()) == 2 * len(SHAPES)
    assert f"Left out {3 * len(SHAPES) - 2} times of mine: its code has changed since." in said.out


def test_a_wrong_candidate_is_left_out_and_one_that_fails_is_given_up(run):
    said = run("--layout", "nn", "--precision", "f32", faults={"mine T=3": "zero", "mine T=2": "build"})
    assert said.code == 1
    assert "Wrong, not timed: mine: T=3: wrong at 7x5x3: exact check" in said.out
    assert "Wrong, not timed: mine: T=2: failed at 7x5x3: " in said.out
    timed = {(name, values.get("T")) for line in lines() if "times" in line for name, values, _ in line["times"]}
    assert ("mine", 1) in timed and not {("mine", 2), ("mine", 3)} & timed


def test_a_candidate_that_fails_at_a_shape_is_recorded_and_then_given_up(run, monkeypatch):
    time, calls = survey._Survey._launch_first, []

    def fail(self, timed):
        if dict(timed.plan.config.values) == {"T": 2}:
            calls.append(timed)
            raise LaunchError("too many resources")
        time(self, timed)

    monkeypatch.setattr(survey._Survey, "_launch_first", fail)
    said = run("--layout", "nn", "--precision", "f32")
    assert said.code == 0 and len(calls) == 3
    assert "Failed at 3 shapes: mine: T=2: too many resources" in said.out
    assert [line["failed"] for line in lines() if "failed" in line] == [[["mine", {"T": 2}, "too many resources"]]] * 3


def test_a_kernel_that_kills_the_process_costs_only_itself(run):
    said = run("--layout", "nn", "--precision", "f32", isolated=True, shapes=SHAPES[:2], faults={"mine T=2": "die"})
    assert said.code == 1 and len(shapes()) == 2
    assert "Wrong, not timed: mine: T=2: failed at 7x5x3: the kernel crashed the worker process" in said.out


def test_candidates_that_no_small_problem_suits_are_said_to_be_unverified(run, write_kernel):
    write_kernel("mine.cu", params={"T": [1, 2, 3]}, require=["N == 9 or N == 13"], precisions="[f32]")
    write_kernel("best.cu", **BARE, **MODEL, pick=ROWS, order=7)
    said = run(shapes=[("any", (16, n, 4)) for n in range(8, 14)])
    assert said.code == 0, said.err
    assert {shape[:2] for shape in shapes()} == {(16, 9), (16, 13)}
    assert "Not verified, because no small problem fits: 3 candidates of mine." in said.out


def test_without_time_there_are_no_shapes_and_what_is_known_is_fitted(run):
    said = run("--max-time", "1e-9")
    assert said.code == 0 and "No shape was measured, so no constants were fitted" in said.out and shapes() == []


def test_ctrl_c_keeps_what_is_measured_and_writes_no_constants(run, monkeypatch):
    add, count = survey.SurveyFile.add_shape, []

    def add_and_stop(self, shape):
        add(self, shape)
        count.append(shape)
        if len(count) == 3:
            monkeypatch.setattr("gemmbench.session.reporter.Interruption.is_requested", lambda self: True)

    monkeypatch.setattr(survey.SurveyFile, "add_shape", add_and_stop)
    said = run("--write-pick")
    assert said.code == 130 and len(shapes()) == 3 and not COSTS.exists()
    assert "Fitted to " in said.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--sizes", "8"), "--sizes cannot be combined with --survey"),
        (("--param", "T=1"), "--param cannot be combined with --survey"),
        (("--budget", "5m"), "--budget cannot be combined with --survey"),
        (("--layout", "tt"), "best does not support layout tt; supports nn, nt"),
        (("--precision", "f64"), "best does not support precision f64; supports f32, f16"),
        (("--from", "missing.survey"), "missing.survey"),
    ],
)
def test_what_a_survey_cannot_do_is_refused(run, words, message):
    said = run(*words)
    assert said.code == 2 and message in said.err and not FILE.exists()


def test_a_kernel_without_a_pick_and_two_kernels_are_refused(run, gemmbench):
    assert "mine has no `pick`, so there is nothing to survey" in run(name="mine").err
    assert "--survey needs one kernel with a `pick`" in run("mine").err
    said = gemmbench("tune", "sgemm", "--survey", "--device", "cpu")
    assert said.code == 3 and "--survey needs a GPU" in said.err


def test_files_of_another_variant_or_card_or_of_no_survey_are_refused(run, gemmbench):
    run("--layout", "nn", "--precision", "f32", "--out", "one.survey")
    text = Path("one.survey").read_text()
    Path("other.survey").write_text(text.replace("Fake GPU", "NVIDIA H20"))
    words = ("tune", "best", "--kernels", "kernels", "--survey", "--from", "one.survey")
    said = gemmbench(*words, "--from", "other.survey")
    assert said.code == 2 and "the surveys are of two cards, Fake GPU and NVIDIA H20; fit the files of one" in said.err
    said = run("--out", "other.survey")
    assert said.code == 2 and "other.survey is a survey of best on NVIDIA H20; choose another --out" in said.err
    Path("second.survey").write_text(text.replace('"variant": "best"', '"variant": "rest"'))
    assert "second.survey is a survey of rest, not of best; name" in gemmbench(*words, "--from", "second.survey").err
    Path("no.survey").write_text("{}\n")
    assert "no.survey:1: is not a survey" in gemmbench(*words, "--from", "no.survey").err


def test_a_folder_of_constants_that_cannot_be_written_is_named_before_anything_is_measured(run, monkeypatch):
    monkeypatch.setattr("gemmbench.session.surveys.os.access", lambda _, mode: mode != os.W_OK)
    said = run("--write-pick")
    assert said.code == 2 and "fake-gpu.yaml: cannot be written: you do not have permission" in said.err
    assert not FILE.exists()
