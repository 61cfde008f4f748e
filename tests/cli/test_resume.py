"""Ctrl-C and --resume: nothing is lost, nothing that is complete is measured again."""

import signal

import pytest

from gemmbench.backends.fake import FakeExecutable
from gemmbench.report import store

SIZES = ["--sizes", "16,24", "--rounds", "10", "--cache", "hot"]


@pytest.fixture
def run(gemmbench, script):
    device = script(times={"naive": 2e-3, "cublas": 1e-3})
    return lambda *arguments: gemmbench("run", "naive", "--device", device, *SIZES, *arguments)


@pytest.fixture
def windows(monkeypatch):
    """Counts the windows of the device; `at` maps a number of windows to what happens then."""
    whole, seen, at = FakeExecutable.time, [], {}

    def time(self, launches):
        seen.append(launches)
        at.get(len(seen), lambda: None)()
        return whole(self, launches)

    monkeypatch.setattr(FakeExecutable, "time", time)
    return seen, at


def interrupt():
    signal.raise_signal(signal.SIGINT)


def cut_after(journal, rows):
    """Leave the header and so many rows."""
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[: 1 + rows]))


def shown(text):
    """The tables alone, without the footer."""
    return [line for line in text.splitlines() if " ok" in line or line.startswith("M =")]


def test_ctrl_c_ends_with_130_and_shows_and_saves_what_there_is(run, saved, windows):
    _, at = windows
    at[14] = interrupt
    said = run()
    assert said.code == 130
    assert "stopping after this window; press Ctrl-C again to stop at once" in said.err
    journal, rows = saved()
    assert {row["stopped"] for row in rows} == {"interrupted"} and {row["M"] for row in rows} == {"16"}
    assert all(0 < int(row["rounds"]) < 10 for row in rows)
    assert "interrupted after" in said.out
    assert store.read(journal).warning == ""


def test_ctrl_c_before_the_first_row_leaves_no_file(run, windows, tmp_path):
    _, at = windows
    at[1] = interrupt
    assert run().code == 130
    assert list((tmp_path / "results").glob("*")) == []


def test_a_second_ctrl_c_stops_at_once(run, windows):
    seen, at = windows
    at[2] = lambda: (interrupt(), interrupt())
    assert run().code == 130
    assert len(seen) == 2


def test_ctrl_c_while_verifying_ends_with_130(gemmbench, windows):
    seen, at = windows
    at[3] = interrupt
    assert gemmbench("verify", "naive", "--device", "fake", "--sizes", "8,9,10,11").code == 130
    assert len(seen) < 6


def test_after_a_run_the_old_handler_of_ctrl_c_is_back(run):
    before = signal.getsignal(signal.SIGINT)
    run()
    assert signal.getsignal(signal.SIGINT) is before


def test_resuming_a_complete_run_measures_nothing_and_shows_it(run, saved, windows):
    first = run()
    journal, _ = saved()
    before = journal.read_bytes()
    del windows[0][:]
    again = run("--resume")
    assert (again.code, windows[0]) == (0, [])
    assert again.out == first.out
    assert f"going on with results/{journal.name}: 4 rows are there" in again.err
    assert journal.read_bytes() == before


def test_resuming_measures_only_the_batches_that_are_not_complete(run, saved, windows):
    run()
    cut_after(saved()[0], 2)
    del windows[0][:]
    said = run("--resume")
    assert said.code == 0
    found = store.read(saved()[0])
    assert [(record.M, record.variant) for record in found.records] == [
        (16, "naive"),
        (16, "cublas"),
        (24, "naive"),
        (24, "cublas"),
    ]
    assert windows[0] != []


def test_resuming_after_ctrl_c_completes_the_run(run, saved, windows):
    _, at = windows
    at[14] = interrupt
    run()
    at.clear()
    said = run("--resume")
    assert said.code == 0 and "interrupted" not in said.out
    assert [record.stopped for record in store.read(saved()[0]).records] == ["rounds"] * 4


def test_after_resuming_the_table_is_that_of_the_file(run, saved, gemmbench):
    run()
    journal, _ = saved()
    lines = journal.read_text().splitlines(keepends=True)
    old = lines[1].replace('"samples":[', '"samples":[9').replace('"stopped":"rounds"', '"stopped":"interrupted"')
    journal.write_text("".join([lines[0], old]))
    said = run("--resume")
    assert said.code == 0
    assert shown(said.out) == shown(gemmbench("show", journal).out)
    assert "naive" in said.out and "interrupted" not in said.out


def test_resuming_a_file_that_was_cut_short_mends_it(run, saved, gemmbench):
    first = run()
    journal, _ = saved()
    journal.write_bytes(journal.read_bytes()[:-30])
    said = run("--resume")
    assert said.code == 0 and "the last line is cut off and was left out" in said.err
    shown_again = gemmbench("show", journal)
    assert (shown_again.code, shown_again.err) == (0, "")
    assert shown(shown_again.out) == shown(first.out)


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


def test_another_seed_is_another_measurement(run, windows):
    run()
    del windows[0][:]
    run("--resume", "--seed", "5")
    assert windows[0] != []


def test_a_file_can_be_named(run, saved, windows):
    run()
    journal, _ = saved()
    moved = journal.rename(journal.with_name("mine.jsonl"))
    journal.with_suffix(".csv").unlink()
    del windows[0][:]
    assert run("--resume", moved).code == 0
    assert windows[0] == []


def test_there_must_be_something_to_resume(run):
    said = run("--resume")
    assert said.code == 2
    assert said.err == "gemmbench: nothing to resume: no results of sweep 'quick' on Fake GPU in results\n"


def test_results_of_another_device_are_not_resumed(run, saved):
    run()
    journal, _ = saved()
    journal.write_text(journal.read_text().replace('"device":"Fake GPU"', '"device":"Other GPU"'))
    said = run("--resume", journal)
    assert said.code == 2
    assert "measured on Other GPU, this is Fake GPU; start a new run without --resume" in said.err
