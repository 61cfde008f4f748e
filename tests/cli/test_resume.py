"""--resume: nothing is lost, nothing that is complete is measured again."""

import json
import signal

import pytest

from gemmbench.bench.record import SCHEMA
from gemmbench.report.store.journal import Journal
from gemmbench.report.store.reading import is_finished, read_results

SIZES = ["--sizes", "16,24", "--rounds", "10", "--cache", "hot"]


def cut_after(journal, rows):
    """Leave the header and so many rows."""
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[: 1 + rows]))


def table_lines(text):
    """The tables alone, without the footer."""
    return [line for line in text.splitlines() if " ok" in line or line.startswith("M =")]


def test_a_finished_run_is_left_alone(run_naive, saved, windows):
    run_naive()
    journal, _ = saved()
    before = journal.read_bytes()
    del windows[0][:]
    newest, named = run_naive("--resume"), run_naive("--resume-from", journal)
    assert (newest.code, named.code, windows[0]) == (2, 2, [])
    assert newest.err.startswith("gemmbench: nothing to resume: no unfinished run of gemmbench run in results; ")
    assert f"gemmbench: {journal}: this run was finished 20" in named.err
    assert journal.read_bytes() == before


def test_more_rows_are_not_added_to_a_finished_run_either(run_naive, saved):
    run_naive()
    before = saved()[0].read_bytes()
    assert run_naive("tiled", "--resume-from", saved()[0]).code == 2
    assert saved()[0].read_bytes() == before


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


@pytest.mark.parametrize(
    "less",
    [("run", "tiled"), ("run", "--sizes", "16"), ("run", "--sizes", "24,32"), ("run", "-c", "tiles")],
    ids=" ".join,
)
def test_a_part_of_the_run_or_another_one_is_refused(run_naive, saved, gemmbench, less):
    run_naive()
    journal = saved()[0]
    cut_after(journal, 1)  # what is missing is not known from its rows
    before = journal.read_bytes()
    said = gemmbench(*less, "--resume")
    assert said.code == 2 and said.err.startswith(f"gemmbench: results/{journal.name}: another experiment: ")
    assert journal.read_bytes() == before


def test_more_is_added_and_can_be_resumed_again(run_naive, saved, gemmbench):
    run_naive()
    journal = saved()[0]
    cut_after(journal, 2)
    assert gemmbench("run", "naive", "tiled", "--sizes", "16,24,32", "--resume").code == 0
    wanted = {(size, name) for size in (16, 24, 32) for name in ("naive", "tiled", "cublas")}
    assert {(each.problem.M, each.variant) for each in read_results(journal).records} == wanted
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:-3]))
    said = gemmbench("run", "--resume")
    assert said.code == 0 and ": gemmbench run naive tiled --sizes 16,24,32 " in said.err
    assert {(each.problem.M, each.variant) for each in read_results(journal).records} == wanted
    assert len([row for row in read_results(journal).records if row.problem.M == 32]) == 3


def test_the_run_of_another_command_is_left_alone(run_naive, saved, gemmbench):
    run_naive()
    cut_after(saved()[0], 2)
    before = saved()[0].read_bytes()
    assert "no unfinished run of gemmbench compare in results" in gemmbench("compare", "naive", "tiled", "--resume").err
    said = gemmbench("compare", "naive", "tiled", "--resume-from", saved()[0])
    assert (said.code, saved()[0].read_bytes()) == (2, before)
    assert said.err.endswith(f"measured by gemmbench run; use gemmbench run --resume-from {saved()[0]}\n")


@pytest.mark.parametrize(
    ("command", "words"), [("gemmbench check", "measured by gemmbench check"), ("", "its command is unknown")]
)
def test_a_run_of_a_command_without_the_option_is_not_sent_there(run_naive, saved, command, words):
    run_naive()
    cut_after(saved()[0], 2)
    header, rest = saved()[0].read_text().split("\n", 1)
    saved()[0].write_text(json.dumps(json.loads(header) | {"command": command}) + "\n" + rest)
    said = run_naive("--resume-from", saved()[0])
    ending = "so it cannot be resumed; start a new run without --resume-from"
    assert (said.code, said.err) == (2, f"gemmbench: {saved()[0]}: {words}, {ending}\n")


def test_the_newest_unfinished_run_is_resumed(run_naive, tmp_path, gemmbench, script):
    """Among finished ones, damaged ones, one that is being written and one of an older version."""
    run_naive()
    (path,) = (tmp_path / "results").glob("*.jsonl")
    whole = path.read_text()
    for day, text in {
        "01": "".join(whole.splitlines(keepends=True)[:3]),
        "02": "".join(whole.splitlines(keepends=True)[:3]),
        "03": whole.splitlines(keepends=True)[0] + '{"row":"record","variant":1}\n{}\n',
        "04": "".join(whole.splitlines(keepends=True)[:3]).replace(f'"schema":{SCHEMA}', '"schema":1'),
        "05": "".join(whole.splitlines(keepends=True)[:2]),
    }.items():
        text = text.replace('"started":"20', f'"started":"3000-01-{day} 20')
        path.with_name(f"{day}.jsonl").write_text(text)
    path.with_name("zz.jsonl").write_bytes(b'{"row":"environment","run":"\xff"}\n')
    running = read_results(path.with_name("05.jsonl"))
    with Journal(running):
        said = run_naive("--resume")
    assert said.code == 0
    messages = said.err.splitlines()
    assert messages[0].startswith("left out: results/zz.jsonl:1: broken header: ")
    assert messages[1].startswith("left out: results/03.jsonl:2: broken row: ")
    assert messages[2].startswith("resuming results/02.jsonl, which has 2 rows: ")
    assert is_finished(path.with_name("02.jsonl")) and not is_finished(path.with_name("01.jsonl"))


def test_a_file_after_the_flag_is_told_where_it_belongs(run_naive, saved):
    run_naive()
    said = run_naive("--resume", saved()[0])
    assert (said.code, said.err) == (2, f"gemmbench: --resume takes no file; use --resume-from {saved()[0]}\n")


def test_resuming_measures_only_the_batches_that_are_not_complete(run_naive, saved, windows):
    run_naive()
    cut_after(saved()[0], 2)
    del windows[0][:]
    said = run_naive("--resume")
    assert said.code == 0
    found = read_results(saved()[0])
    assert [(record.problem.M, record.variant) for record in found.records] == [
        (16, "naive"),
        (16, "cublas"),
        (24, "naive"),
        (24, "cublas"),
    ]
    assert windows[0] != []


def test_resuming_after_ctrl_c_completes_the_run(run_naive, saved, windows):
    seen, at = windows
    run_naive("--out", "whole")
    count = len(seen)
    at[count + 3 * count // 4] = lambda: signal.raise_signal(signal.SIGINT)
    assert run_naive().code == 130 and not is_finished(saved()[0])
    at.clear()
    said = run_naive("--resume")
    assert said.code == 0 and "interrupted" not in said.out
    assert [record.stopped for record in read_results(saved()[0]).records] == ["rounds"] * 4


def test_after_resuming_the_table_is_that_of_the_file(run_naive, saved, gemmbench):
    run_naive()
    journal, _ = saved()
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


def test_a_skip_has_one_row_after_resuming(gemmbench, saved, write_kernel):
    write_kernel("picky.cu", require=["K % 7 == 0"])
    call = ["run", "picky", "naive", "--kernels", "kernels", "--device", "fake", *SIZES]
    gemmbench(*call)
    cut_after(saved()[0], 3)
    gemmbench(*call, "--resume")
    assert [record.variant for record in read_results(saved()[0]).records].count("picky") == 2
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
        (("--seed", "5"), "its seed is 0, that of this run is 5"),
        (("--data", "normal"), "its data is uniform, that of this run is normal"),
        (("--sustained=2",), "its sustained is the default, that of this run is 2.0"),
    ],
)
def test_another_method_is_not_mixed_in(run_naive, saved, windows, option, words):
    run_naive()
    cut_after(saved()[0], 2)
    journal, before = saved()[0], saved()[0].read_bytes()
    said = run_naive("--resume", *option)
    assert said.code == 2
    told = f"gemmbench: results/{journal.name}: another experiment: {words}; start a new run without --resume\n"
    assert said.err == told
    assert journal.read_bytes() == before


def test_another_text_of_a_kernel_is_not_mixed_in(gemmbench, saved, write_kernel):
    write_kernel("mine.cu")
    call = ["run", "mine", "--kernels", "kernels", "--device", "fake", *SIZES]
    gemmbench(*call)
    cut_after(saved()[0], 3)
    before = saved()[0].read_bytes()
    write_kernel("mine.cu", order="7")
    said = gemmbench(*call, "--resume")
    assert said.code == 2
    assert "mine at 16 was measured with other code" in said.err
    assert saved()[0].read_bytes() == before


def test_a_file_can_be_named(run_naive, saved, gemmbench):
    run_naive()
    journal, _ = saved()
    cut_after(journal, 2)
    moved = journal.rename(journal.parent.parent / "mine.jsonl")
    journal.with_suffix(".csv").unlink()
    assert gemmbench("run", "--resume-from", moved).code == 0
    assert len(read_results(moved).records) == 4 and moved.with_suffix(".csv").exists()


def test_there_must_be_something_to_resume(run_naive):
    said = run_naive("--resume")
    assert said.code == 2
    assert said.err.startswith("gemmbench: nothing to resume: no unfinished run of gemmbench run in results; ")


def test_results_of_another_device_are_not_resumed(run_naive, saved):
    run_naive()
    journal, _ = saved()
    cut_after(journal, 2)
    journal.write_text(journal.read_text().replace('"device":"Fake GPU"', '"device":"Other GPU"'))
    said = run_naive("--resume-from", journal)
    assert said.code == 2
    assert "measured on Other GPU, this is Fake GPU; start a new run without --resume" in said.err


def test_a_file_of_an_older_schema_is_not_resumed(run_naive, saved):
    run_naive()
    journal, _ = saved()
    cut_after(journal, 2)
    journal.write_text(
        journal.read_text().replace(f'"schema":{SCHEMA}', '"schema":1').replace('"backend"', '"kind"', 1)
    )
    said = run_naive("--resume-from", journal)
    assert said.code == 2
    words = f"measured by an older gemmbench (schema 1, this one writes {SCHEMA}); start a new run without --resume"
    assert words in said.err


def test_rows_of_two_sessions_are_each_compared_with_their_own_baseline(gemmbench, script, saved):
    call = ["run", "tiled", "--sizes", "16", "--rounds", "10", "--cache", "hot"]
    gemmbench(*call, "--param", "TILE=8", "--device", script(times={"tiled": 2e-3, "cublas": 1e-3}))
    cut_after(saved()[0], 2)
    more = ["--param", "TILE=8,16", "--resume", "--device", script(times={"tiled": 8e-3, "cublas": 8e-3})]
    said = gemmbench(*call, *more)
    for text in (said.out, gemmbench("show", saved()[0]).out):
        rows = [line.split() for line in text.splitlines() if line.startswith("tiled ") and "again" not in line]
        assert {row[1]: row[6] for row in rows} == {"TILE=8": "100.0", "TILE=16": "100.0"}


def test_a_skip_that_is_new_when_resuming_has_its_row(gemmbench, write_kernel, saved):
    write_kernel("picky.cu", require=["K % 7 == 0"])
    call = ["--kernels", "kernels", "--device", "fake", *SIZES]
    gemmbench("run", "naive", *call)
    cut_after(saved()[0], 4)
    said = gemmbench("run", "naive", "picky", *call, "--resume")
    assert "picky: skipped: require K % 7 == 0" in said.out
    assert [row["variant"] for row in saved()[1]].count("picky") == 2
