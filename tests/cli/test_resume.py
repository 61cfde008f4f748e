"""--resume: nothing is lost, nothing that is complete is measured again."""

import json
import os
import signal
from pathlib import Path

import pytest

from gemmbench.bench.experiments.batch import METHOD
from gemmbench.bench.record import SCHEMA
from gemmbench.report.store.journal import Journal
from gemmbench.report.store.reading import is_finished, read_results

from .conftest import cut_after

ROOT = Path(__file__).parents[2]
SIZES = ["--sizes", "16,24", "--rounds", "10", "--cache", "hot"]


@pytest.fixture
def journal(run_naive, saved):
    """The results file of a finished run of naive and cublas at two sizes."""
    run_naive()
    return saved()[0]


@pytest.fixture
def unfinished(journal):
    """The same without its second size."""
    cut_after(journal, 2)
    return journal


def table_lines(text):
    """The tables alone, without the footer."""
    return [line for line in text.splitlines() if " ok" in line or line.startswith("M =")]


def test_a_finished_run_is_left_alone(run_naive, journal, windows):
    before = journal.read_bytes()
    del windows[0][:]
    newest, named = run_naive("--resume"), run_naive("--resume-from", journal)
    assert (newest.code, named.code, windows[0]) == (2, 2, [])
    assert newest.err.startswith("gemmbench: nothing to resume: results has no unfinished `gemmbench run`; ")
    assert f"gemmbench: {journal}: this run was finished 20" in named.err
    assert named.err.endswith("; start a new run without --resume\n") and journal.read_bytes() == before


def test_more_rows_are_not_added_to_a_finished_run_either(run_naive, journal):
    before = journal.read_bytes()
    assert run_naive("tiled", "--resume-from", journal).code == 2
    assert journal.read_bytes() == before


def test_a_run_that_lacks_only_its_last_line_is_finished_without_measuring(run_naive, saved, windows):
    first = run_naive()
    journal, _ = saved()
    whole = journal.read_text()
    cut_after(journal, 4)
    del windows[0][:]
    again = run_naive("--resume")
    assert (again.code, windows[0], again.out) == (0, [], first.out)
    assert journal.read_text().splitlines()[:-1] == whole.splitlines()[:-1]
    assert read_results(journal).finished


def test_resume_repeats_the_recorded_command(gemmbench, script, saved, windows, monkeypatch):
    device = script(times={"naive": 2e-3, "cublas": 1e-3})
    monkeypatch.setenv("GEMMBENCH_SIZES", "16,24")
    gemmbench("run", "naive", "--device", device, "--rounds", "10", "--cache", "hot", "--seed", "3", "--no-gate")
    monkeypatch.delenv("GEMMBENCH_SIZES")
    journal = saved()[0]
    cut_after(journal, 2)
    said = gemmbench("run", "--resume")
    assert said.code == 0
    words = f"gemmbench run naive --sizes 16,24 --device {device} --cache hot --seed 3 --rounds 10 --no-gate"
    assert said.err.startswith(f"resuming results/{journal.name}, which has 2 rows: {words}\n")
    found = read_results(journal)
    assert [record.problem.M for record in found.records] == [16, 16, 24, 24]
    assert {record.seed for record in found.records} == {3} and found.finished


def test_the_limit_of_one_run_does_not_stop_the_one_that_continues_it(gemmbench, script, saved):
    gemmbench("run", "naive", "--device", script(), "--sizes", "16,24", "--rounds", "2", "--sweep-limit", "900")
    cut_after(saved()[0], 2)
    said = gemmbench("run", "--resume")
    assert said.code == 0 and "left out of its command: --sweep-limit 900.0; repeat the options" in said.err


def test_the_command_that_continues_a_run_of_named_code_has_no_limit_of_time(gemmbench, write_kernel, windows):
    write_kernel("mine.cu")
    call = ["run", "mine", "naive", "--kernels", "kernels", "--device", "fake", "--sizes", "16,24", "--rounds", "4"]
    gemmbench(*call, "--out", "whole")
    windows[1][len(windows[0]) * 7 // 4] = lambda: os.kill(os.getpid(), signal.SIGINT)
    said = gemmbench(*call, "--sweep-limit", "900")
    last = said.err.splitlines()[-1]
    assert said.code == 130 and "continue with: gemmbench run mine naive --sizes 16,24 " in last
    assert "--resume-from" in last and "--sweep-limit" not in last


@pytest.mark.parametrize("command", ["compare", "mlp"])
@pytest.mark.parametrize("how", ["newest", "named"])
def test_other_commands_repeat_theirs_too(gemmbench, tmp_path, command, how):
    names = {"compare": ["naive", "tiled", "--sizes", "16"], "mlp": ["tiled", "--batch", "3"]}
    gemmbench(command, *names[command], "--device", "fake", "--rounds", "2", "--cache", "hot")
    (journal,) = (tmp_path / "results").glob("*.jsonl")
    whole = read_results(journal)
    cut_after(journal, 1)
    said = gemmbench(command, *(["--resume"] if how == "newest" else ["--resume-from", journal]))
    assert said.code == 0 and "resuming " in said.err
    again = read_results(journal)
    assert [each.identity for each in again.records] == [each.identity for each in whole.records] and again.finished


@pytest.mark.parametrize("less", ["tiled", "--sizes 16", "--sizes 24,32", "-c tiles"])
def test_a_part_of_the_run_or_another_one_is_refused(gemmbench, journal, less):
    cut_after(journal, 1)  # what is missing is not known from its rows
    before = journal.read_bytes()
    said = gemmbench("run", *less.split(), "--resume")
    assert said.code == 2 and said.err.startswith(f"gemmbench: results/{journal.name}: another experiment: ")
    assert journal.read_bytes() == before


def test_more_is_added_and_can_be_resumed_again(gemmbench, unfinished):
    assert gemmbench("run", "naive", "tiled", "--sizes", "16,24,32", "--resume").code == 0
    wanted = {(size, name) for size in (16, 24, 32) for name in ("naive", "tiled", "cublas")}
    assert {(each.problem.M, each.variant) for each in read_results(unfinished).records} == wanted
    cut_after(unfinished, 7)
    said = gemmbench("run", "--resume")
    assert said.code == 0 and ": gemmbench run naive tiled --sizes 16,24,32 " in said.err
    assert {(each.problem.M, each.variant) for each in read_results(unfinished).records} == wanted
    assert len([row for row in read_results(unfinished).records if row.problem.M == 32]) == 3


def test_the_run_of_another_command_is_left_alone(gemmbench, unfinished):
    before = unfinished.read_bytes()
    assert "results has no unfinished `gemmbench compare`" in gemmbench("compare", "naive", "tiled", "--resume").err
    said = gemmbench("compare", "naive", "tiled", "--resume-from", unfinished)
    assert (said.code, unfinished.read_bytes()) == (2, before)
    assert said.err.endswith(f"measured by gemmbench run; use gemmbench run --resume-from {unfinished}\n")


@pytest.mark.parametrize(
    ("command", "words"), [("gemmbench check", "measured by gemmbench check"), ("", "its command is unknown")]
)
def test_a_run_of_a_command_without_the_option_is_not_sent_there(run_naive, unfinished, command, words):
    header, rest = unfinished.read_text().split("\n", 1)
    unfinished.write_text(json.dumps(json.loads(header) | {"command": command}) + "\n" + rest)
    said = run_naive("--resume-from", unfinished)
    ending = "so it cannot be resumed; start a new run without --resume-from"
    assert (said.code, said.err) == (2, f"gemmbench: {unfinished}: {words}, {ending}\n")


def test_the_newest_unfinished_run_is_resumed(run_naive, journal):
    """Among finished ones, damaged ones, one that is being written and one of an older version."""
    path, lines = journal, journal.read_text().splitlines(keepends=True)
    half = "".join(lines[:3])
    for day, text in {
        "01": half,
        "02": half,
        "03": lines[0] + '{"row":"record","variant":1}\n{}\n',
        "04": half.replace(f'"schema":{SCHEMA}', '"schema":1'),
        "05": "".join(lines[:2]),
    }.items():
        text = text.replace('"started":"20', f'"started":"3000-01-{day} 20')
        path.with_name(f"{day}.jsonl").write_text(text)
    path.with_name("zz.jsonl").write_bytes(b'{"row":"environment","run":"\xff"}\n')
    with Journal(read_results(path.with_name("05.jsonl"))):
        said = run_naive("--resume")
    assert said.code == 0
    messages = said.err.splitlines()
    assert sorted(messages[:2])[0].startswith("left out: results/04.jsonl: written by an older gemmbench (schema 1")
    assert sorted(messages[:2])[1].startswith("left out: results/zz.jsonl:1: broken header: ")
    assert messages[2].startswith("left out: results/03.jsonl:2: broken row: ")
    assert messages[3].startswith("resuming results/02.jsonl, which has 2 rows: ")
    assert is_finished(path.with_name("02.jsonl")) and not is_finished(path.with_name("01.jsonl"))


def test_a_file_after_the_flag_is_told_where_it_belongs(run_naive, journal):
    said = run_naive("--resume", journal)
    assert (said.code, said.err) == (2, f"gemmbench: --resume takes no file; use --resume-from {journal}\n")


def test_resuming_measures_only_the_batches_that_are_not_complete(run_naive, windows, journal):
    whole = len(windows[0])
    cut_after(journal, 2)
    assert run_naive("--resume").code == 0
    found = [(record.problem.M, record.variant) for record in read_results(journal).records]
    assert found == [(size, name) for size in (16, 24) for name in ("naive", "cublas")]
    assert 0 < len(windows[0]) - whole < whole


def test_resuming_after_ctrl_c_completes_the_run(run_naive, saved, windows):
    seen, at = windows
    run_naive("--out", "whole")
    count = len(seen)
    at[count + 3 * count // 4] = lambda: signal.raise_signal(signal.SIGINT)
    assert run_naive().code == 130 and not is_finished(saved()[0])
    at.clear()
    planned = run_naive("--resume", "--dry-run").out
    assert "16 nn f32" not in planned and "24 nn f32" in planned
    assert "2 rows in the results file will not run again." in planned and "2 rows would run" in planned
    said = run_naive("--resume")
    assert said.code == 0 and "interrupted" not in said.out
    assert [record.stopped for record in read_results(saved()[0]).records] == ["rounds"] * 4


def test_after_resuming_the_table_is_that_of_the_file(run_naive, journal, gemmbench):
    lines = journal.read_text().splitlines(keepends=True)
    old = lines[1].replace('"samples":[', '"samples":[9').replace('"stopped":"rounds"', '"stopped":"interrupted"')
    journal.write_text("".join([lines[0], old]))
    said = run_naive("--resume")
    assert said.code == 0
    assert table_lines(said.out) == table_lines(gemmbench("show", journal).out)
    assert "naive" in said.out and "interrupted" not in said.out


def test_resuming_a_file_that_was_cut_short_mends_it(run_naive, saved, gemmbench):
    first = run_naive()
    journal, _ = saved()
    journal.write_bytes(journal.read_bytes()[:-30])
    said = run_naive("--resume")
    assert said.code == 0 and "the last line is cut off and was left out" in said.err
    shown_again = gemmbench("show", journal)
    assert (shown_again.code, shown_again.err) == (0, "")
    assert table_lines(shown_again.out) == table_lines(first.out)


@pytest.mark.parametrize("first", [["picky", "naive"], ["naive"]], ids=["known", "new"])
def test_a_skip_that_is_known_or_new_has_one_row_after_resuming(gemmbench, saved, write_kernel, first):
    write_kernel("picky.cu", require=["K % 7 == 0"])
    call = ["--kernels", "kernels", "--device", "fake", *SIZES]
    gemmbench("run", *first, *call)
    cut_after(saved()[0], len(first) + 2)
    said = gemmbench("run", "picky", "naive", *call, "--resume")
    assert "picky: skipped (2 rows): require K % 7 == 0" in said.out
    assert saved()[0].read_text().count('"variant":"picky"') == 2
    assert [row["variant"] for row in saved()[1]].count("picky") == 2


def test_a_configuration_that_is_named_twice_does_not_spoil_resuming(gemmbench, saved, windows):
    call = ["run", "tiled", "--param", "TILE=8,8", "--device", "fake", *SIZES]
    gemmbench(*call)
    journal = saved()[0]
    cut_after(journal, len(journal.read_text().splitlines()) - 2)  # all rows, without the last line
    del windows[0][:]
    assert (gemmbench(*call, "--resume").code, windows[0]) == (0, [])


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--seed", "5"), "its seed is 0, but that of this run is 5"),
        (("--data", "normal"), "its data is uniform, but that of this run is normal"),
        (("--sustained=2",), "its sustained is the default, but that of this run is 2.0"),
    ],
)
def test_another_method_is_not_mixed_in(run_naive, unfinished, option, words):
    before = unfinished.read_bytes()
    said = run_naive("--resume", *option)
    told = f"gemmbench: results/{unfinished.name}: another experiment: {words}; start a new run without --resume\n"
    assert (said.code, said.err, unfinished.read_bytes()) == (2, told, before)


def test_a_run_of_an_earlier_method_is_read_and_not_resumed(run_naive, unfinished):
    old = METHOD - 1
    unfinished.write_text(unfinished.read_text().replace(f'"method":{METHOD}', f'"method":{old}'))
    before = unfinished.read_bytes()
    said = run_naive("--resume")
    told = f"another experiment: its method is {old}, but that of this run is {METHOD}; start a new run without"
    assert (said.code, unfinished.read_bytes()) == (2, before) and told in said.err
    finished = next((ROOT / "results" / "nvidia-h200").glob("2026-11-23-*.jsonl.gz"))
    run = read_results(finished)
    assert run.finished and run.records and (run.environment.schema, run.environment.policy["method"]) == (3, 4)


def test_another_text_of_a_kernel_is_not_mixed_in(gemmbench, saved, write_kernel):
    write_kernel("mine.cu")
    call = ["run", "mine", "--kernels", "kernels", "--device", "fake", *SIZES]
    gemmbench(*call)
    cut_after(saved()[0], 3)
    before = saved()[0].read_bytes()
    write_kernel("mine.cu", order="7")
    said = gemmbench(*call, "--resume")
    assert said.code == 2 and "mine at 16 was measured with different code" in said.err
    assert saved()[0].read_bytes() == before


def test_a_file_can_be_named(gemmbench, unfinished):
    moved = unfinished.rename(unfinished.parent.parent / "mine.jsonl")
    unfinished.with_suffix(".csv").unlink()
    assert gemmbench("run", "--resume-from", moved).code == 0
    assert len(read_results(moved).records) == 4 and moved.with_suffix(".csv").exists()


def test_there_must_be_something_to_resume(run_naive):
    said = run_naive("--resume")
    start = "gemmbench: nothing to resume: results has no unfinished `gemmbench run`; "
    assert said.code == 2 and said.err.startswith(start)


def test_a_file_of_an_older_schema_is_not_resumed(run_naive, unfinished):
    unfinished.write_text(unfinished.read_text().replace(f'"schema":{SCHEMA}', '"schema":1'))
    said = run_naive("--resume-from", unfinished)
    words = f"written by an older gemmbench (schema 1, this one reads {SCHEMA}); measure again"
    assert said.code == 2 and words in said.err


def test_rows_of_two_sessions_are_each_compared_with_their_own_baseline(gemmbench, script, saved):
    call = ["run", "tiled", "--sizes", "16", "--rounds", "10", "--cache", "hot"]
    gemmbench(*call, "--param", "TILE=8", "--device", script(times={"tiled": 2e-3, "cublas": 1e-3}))
    cut_after(saved()[0], 2)
    more = ["--param", "TILE=8,16", "--resume", "--device", script(times={"tiled": 8e-3, "cublas": 8e-3})]
    said = gemmbench(*call, *more)
    for text in (said.out, gemmbench("show", saved()[0]).out):
        rows = [line.split() for line in text.splitlines() if line.startswith("tiled ") and "again" not in line]
        assert {row[1] for row in rows if "100.0" in row} == {"TILE=8", "TILE=16"} and len(rows) == 2


@pytest.fixture
def foreign(unfinished):
    """Write words into the command of an unfinished run, as somebody else could; returns its file."""

    def write(*words, replace=()):
        header, *rest = unfinished.read_text().splitlines(keepends=True)
        known = json.loads(header)
        command = " ".join(["gemmbench run naive", *words, known["command"].removeprefix("gemmbench run naive")])
        for before, after in replace:
            command = command.replace(before, after)
        unfinished.write_text(json.dumps(known | {"command": command}) + "\n" + "".join(rest))
        return unfinished

    return write


@pytest.mark.parametrize(
    "words",
    [
        *("--export-csv victim", "--export-json new/made.json", "--export-markdown victim", "--save main"),
        *("--fleet tcp://192.0.2.1:8786", "--out elsewhere", "--against gone", "--dry-run", "--wide --format html"),
    ],
)
@pytest.mark.parametrize("how", [["--resume"], ["--resume-from"]])
def test_a_file_decides_rows_and_nothing_else(gemmbench, foreign, tmp_path, words, how):
    (tmp_path / "victim").write_text("mine")
    path = foreign(words)
    said = gemmbench("run", *how, *([path] if how == ["--resume-from"] else []))
    assert said.code == 0 and is_finished(path) and "<table>" not in said.out
    assert (tmp_path / "victim").read_text() == "mine"
    assert {each.name for each in tmp_path.iterdir()} <= {"victim", "results", "script.yaml"}
    assert {each.suffix for each in (tmp_path / "results").iterdir()} == {".csv", ".jsonl"}
    told = f"left out of its command: {words}; repeat the options that you want" if "--out" not in words else "resuming"
    assert told in said.err and f"gemmbench run naive {words}" in said.err


def test_what_is_left_out_can_be_given_again(gemmbench, foreign, tmp_path):
    foreign("--export-csv victim --save main")
    said = gemmbench("run", "--resume", "--save", "mine", "--export-csv", "wanted")
    assert said.code == 0 and (tmp_path / "wanted").exists() and not (tmp_path / "victim").exists()
    assert [each.name for each in (tmp_path / "results/saved").iterdir()] == ["mine.jsonl"]


@pytest.mark.parametrize(
    "words",
    [
        *("./evil.cu", "evil.py", "HEAD:tiled", "--kernels evil"),
        *("--config ./evil.yaml", "--config ../evil", "--baseline ./evil.cu"),
    ],
)
def test_no_file_chooses_which_code_is_run(gemmbench, foreign, tmp_path, words, windows):
    (tmp_path / "evil.py").touch()
    path = foreign(words)
    before, count = path.read_bytes(), len(windows[0])
    said = gemmbench("run", "--resume")
    assert (said.code, path.read_bytes(), len(windows[0])) == (2, before, count)
    assert (
        "gemmbench does not let a results file choose the code to run; if you trust them, type: gemmbench run naive "
        in said.err
    )
    assert words.split()[-1] in said.err and said.err.endswith(f" --resume-from results/{path.name}\n")


def test_kernels_that_are_given_now_are_used(gemmbench, foreign, write_kernel):
    write_kernel("mine.cu")
    path = foreign("--kernels kernels")
    assert gemmbench("run", "--resume", "--kernels", "kernels").code == 0 and is_finished(path)


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_a_command_that_measures_nothing_is_refused(gemmbench, foreign, word):
    said = gemmbench("run", "--resume-from", foreign(word))
    assert said.code == 2 and "its command " in said.err


def test_the_csv_of_a_run_does_not_go_where_a_link_leads(gemmbench, unfinished, tmp_path):
    (tmp_path / "victim").write_text("mine")
    unfinished.with_suffix(".csv").unlink()
    unfinished.with_suffix(".csv").symlink_to("../victim")
    assert gemmbench("run", "--resume").code == 0
    assert (tmp_path / "victim").read_text() == "mine" and "naive" in unfinished.with_suffix(".csv").read_text()


@pytest.mark.parametrize("words", [["run", "naive"], ["compare", "naive", "tiled"], ["check", "naive"]])
def test_a_results_file_that_vanishes_ends_the_command_and_its_rows_are_in_another(
    gemmbench, script, windows, tmp_path, words
):
    call = ["--device", script(times={"naive": 2e-3, "tiled": 2e-3, "cublas": 1e-3})]
    if words[0] == "check":
        gemmbench("run", "naive", "--save", "main", *call, *SIZES, "--out", "earlier")
        (tmp_path / "earlier/saved").rename(tmp_path / "saved")
    call += ["--against", "saved/main.jsonl"] if words[0] == "check" else SIZES
    seen, at = windows

    def vanish():
        for path in (tmp_path / "results").glob("*.jsonl"):
            path.unlink()

    at[len(seen) + 30] = vanish
    said = gemmbench(*words, *call)
    assert said.code == 2, said
    (path,) = (tmp_path / "results").glob("*.jsonl")
    named = f"results/{path.name}"
    assert f" was removed while it was being written; all rows are in {named}; the run ended" in said.err
    assert read_results(path).records and path.stem.endswith("-2") and "saved as" not in said.err
    at.clear()
    if words[0] != "check":
        assert gemmbench(*words, *call, "--resume-from", path).code == 0 and is_finished(path)
