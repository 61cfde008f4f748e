"""Ctrl-C: what was measured is saved and shown, and the exit code is 130."""

import signal

from gemmbench.report.store.reading import read_results


def interrupt():
    signal.raise_signal(signal.SIGINT)


def test_ctrl_c_ends_with_130_and_shows_and_saves_what_there_is(run_naive, saved, windows):
    _, at = windows
    at[138] = interrupt
    said = run_naive()
    assert said.code == 130
    assert "stopping after this window; press Ctrl-C again to stop at once" in said.err
    journal, rows = saved()
    assert {row["stopped"] for row in rows} == {"interrupted"} and {row["M"] for row in rows} == {"16"}
    assert all(0 < int(row["rounds"]) < 10 for row in rows)
    assert "interrupted after" in said.out
    assert read_results(journal).warning == ""


def test_ctrl_c_before_the_first_row_leaves_no_file(run_naive, windows, tmp_path):
    _, at = windows
    at[1] = interrupt
    assert run_naive().code == 130
    assert list((tmp_path / "results").glob("*")) == []


def test_a_second_ctrl_c_stops_at_once(run_naive, windows):
    seen, at = windows
    at[2] = lambda: (interrupt(), interrupt())
    assert run_naive().code == 130
    assert len(seen) == 2


def test_ctrl_c_while_verifying_ends_with_130(gemmbench, windows):
    seen, at = windows
    at[3] = interrupt
    assert gemmbench("verify", "naive", "--device", "fake", "--sizes", "8,9,10,11").code == 130
    assert len(seen) < 6


def test_after_a_run_the_old_handler_of_ctrl_c_is_back(run_naive):
    before = signal.getsignal(signal.SIGINT)
    run_naive()
    assert signal.getsignal(signal.SIGINT) is before
