"""--resume: nothing is lost, nothing that is complete is measured again."""

import signal

import pytest

from gemmbench.bench.record import SCHEMA
from gemmbench.report import store

SIZES = ["--sizes", "16,24", "--rounds", "10", "--cache", "hot"]


def cut_after(journal, rows):
    """Leave the header and so many rows."""
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[: 1 + rows]))


def display_path(text):
    """The tables alone, without the footer."""
    return [line for line in text.splitlines() if " ok" in line or line.startswith("M =")]


def test_resuming_a_complete_run_measures_nothing_and_shows_it(run_naive, saved, windows):
    first = run_naive()
    journal, _ = saved()
    before = journal.read_bytes()
    del windows[0][:]
    again = run_naive("--resume")
    assert (again.code, windows[0]) == (0, [])
    assert again.out == first.out
    assert f"resuming results/{journal.name}, which has 4 rows" in again.err
    assert journal.read_bytes() == before


def test_resuming_measures_only_the_batches_that_are_not_complete(run_naive, saved, windows):
    run_naive()
    cut_after(saved()[0], 2)
    del windows[0][:]
    said = run_naive("--resume")
    assert said.code == 0
    found = store.read(saved()[0])
    assert [(record.problem.M, record.variant) for record in found.records] == [
        (16, "naive"),
        (16, "cublas"),
        (24, "naive"),
        (24, "cublas"),
    ]
    assert windows[0] != []


def test_resuming_after_ctrl_c_completes_the_run(run_naive, saved, windows):
    _, at = windows
    at[118] = lambda: signal.raise_signal(signal.SIGINT)
    run_naive()
    at.clear()
    said = run_naive("--resume")
    assert said.code == 0 and "interrupted" not in said.out
    assert [record.stopped for record in store.read(saved()[0]).records] == ["rounds"] * 4


def test_after_resuming_the_table_is_that_of_the_file(run_naive, saved, gemmbench):
    run_naive()
    journal, _ = saved()
    lines = journal.read_text().splitlines(keepends=True)
    old = lines[1].replace('"samples":[', '"samples":[9').replace('"stopped":"rounds"', '"stopped":"interrupted"')
    journal.write_text("".join([lines[0], old]))
    said = run_naive("--resume")
    assert said.code == 0
    assert display_path(said.out) == display_path(gemmbench("show", journal).out)
    assert "naive" in said.out and "interrupted" not in said.out


def test_resuming_a_file_that_was_cut_short_mends_it(run_naive, saved, gemmbench):
    first = run_naive()
    journal, _ = saved()
    journal.write_bytes(journal.read_bytes()[:-30])
    said = run_naive("--resume")
    assert said.code == 0 and "the last line is cut off and was left out" in said.err
    shown_again = gemmbench("show", journal)
    assert (shown_again.code, shown_again.err) == (0, "")
    assert display_path(shown_again.out) == display_path(first.out)


def test_rows_of_a_skip_stand_once_after_resuming(gemmbench, saved, write_kernel):
    write_kernel("picky.cu", require=["K % 7 == 0"])
    call = ["run", "picky", "naive", "--kernels", "kernels", "--device", "fake", *SIZES]
    gemmbench(*call)
    cut_after(saved()[0], 3)
    gemmbench(*call, "--resume")
    assert [record.variant for record in store.read(saved()[0]).records].count("picky") == 2
    assert [row["variant"] for row in saved()[1]].count("picky") == 2


def test_a_configuration_that_stands_twice_does_not_spoil_resuming(gemmbench, windows):
    call = ["run", "tiled", "--param", "TILE=8,8", "--device", "fake", *SIZES]
    gemmbench(*call)
    del windows[0][:]
    gemmbench(*call, "--resume")
    assert windows[0] == []


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--seed", "5"), "with seed 0, this run has 5"),
        (("--data", "normal"), "with data uniform, this run has normal"),
    ],
)
def test_another_method_is_not_mixed_in(run_naive, saved, windows, option, words):
    run_naive()
    journal, before = saved()[0], saved()[0].read_bytes()
    said = run_naive("--resume", *option)
    assert said.code == 2
    assert said.err == f"gemmbench: results/{journal.name}: measured {words}; start a new run without --resume\n"
    assert journal.read_bytes() == before


def test_another_text_of_a_kernel_is_not_mixed_in(gemmbench, saved, write_kernel):
    write_kernel("mine.cu")
    call = ["run", "mine", "--kernels", "kernels", "--device", "fake", *SIZES]
    gemmbench(*call)
    before = saved()[0].read_bytes()
    write_kernel("mine.cu", order="7")
    said = gemmbench(*call, "--resume")
    assert said.code == 2
    assert "mine at 16 was measured with other code" in said.err
    assert saved()[0].read_bytes() == before


def test_a_file_can_be_named(run_naive, saved, windows):
    run_naive()
    journal, _ = saved()
    moved = journal.rename(journal.with_name("mine.jsonl"))
    journal.with_suffix(".csv").unlink()
    del windows[0][:]
    assert run_naive("--resume", moved).code == 0
    assert windows[0] == []


def test_there_must_be_something_to_resume(run_naive):
    said = run_naive("--resume")
    assert said.code == 2
    assert said.err.startswith("gemmbench: nothing to resume: no results of sweep 'quick' on Fake GPU in results; ")


def test_results_of_another_device_are_not_resumed(run_naive, saved):
    run_naive()
    journal, _ = saved()
    journal.write_text(journal.read_text().replace('"device":"Fake GPU"', '"device":"Other GPU"'))
    said = run_naive("--resume", journal)
    assert said.code == 2
    assert "measured on Other GPU, this is Fake GPU; start a new run without --resume" in said.err


def test_a_file_of_an_older_schema_is_not_resumed(run_naive, saved):
    run_naive()
    journal, _ = saved()
    journal.write_text(
        journal.read_text().replace(f'"schema":{SCHEMA}', '"schema":1').replace('"backend"', '"kind"', 1)
    )
    said = run_naive("--resume", journal)
    assert said.code == 2
    words = f"measured by an older gemmbench (schema 1, this one writes {SCHEMA}); start a new run without --resume"
    assert words in said.err


def test_rows_of_two_sessions_are_each_compared_with_their_own_baseline(gemmbench, script, saved):
    call = ["run", "tiled", "--sizes", "16", "--rounds", "10", "--cache", "hot"]
    gemmbench(*call, "--param", "TILE=8", "--device", script(times={"tiled": 2e-3, "cublas": 1e-3}))
    resume = ["--param", "TILE=16", "--resume", "--device", script(times={"tiled": 8e-3, "cublas": 8e-3})]
    said = gemmbench(*call, *resume)
    for text in (said.out, gemmbench("show", saved()[0]).out):
        percents = {line.split()[1]: line.split()[6] for line in text.splitlines() if line.startswith("tiled ")}
        assert percents == {"TILE=8": "50.00", "TILE=16": "100.0"}


def test_a_skip_that_is_new_when_resuming_has_its_row(gemmbench, write_kernel, saved):
    write_kernel("picky.cu", require=["K % 7 == 0"])
    call = ["--kernels", "kernels", "--device", "fake", *SIZES]
    gemmbench("run", "naive", *call)
    said = gemmbench("run", "naive", "picky", *call, "--resume")
    assert "picky: skipped: require K % 7 == 0" in said.out
    assert [row["variant"] for row in saved()[1]].count("picky") == 2
