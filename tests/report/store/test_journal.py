"""The file of a run that goes on: what happens to it from outside is noticed, and no row is lost."""

import os
import shutil

import pytest

from gemmbench.report.store.journal import Journal
from gemmbench.report.store.reading import is_finished, read_results
from gemmbench.report.store.recorded_run import Run


def remove_folder(path):
    shutil.rmtree(path.parent)


def move_folder(path):
    path.parent.rename(path.parent.with_name("moved"))


def replace(path):
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.replace(path)


def truncate(path):
    os.truncate(path, 0)


def cut_a_row(path):
    os.truncate(path, path.stat().st_size - 9)


def append(path):
    with path.open("a") as file:
        file.write("{}\n")


def change(path):
    with path.open("r+b") as file:
        file.seek(-20, os.SEEK_END)
        file.write(b"9" * 5)


HARM = {
    os.unlink: "removed",
    remove_folder: "removed",
    move_folder: "moved away",
    replace: "replaced by another file",
    truncate: "cut short",
    cut_a_row: "cut short",
    append: "appended to by something else",
}


@pytest.fixture
def run(tmp_path, environment):
    """A new run."""
    return Run(environment, path=tmp_path / "out/run.jsonl")


@pytest.mark.parametrize("harm", HARM, ids=lambda harm: harm.__name__)
@pytest.mark.parametrize("at", [1, 2, 3])
def test_rows_of_a_file_that_is_harmed_are_all_in_a_new_one(run, make_record, harm, at):
    path, rows = run.path, [make_record(f"k{number}") for number in range(3)]
    with Journal(run) as journal:
        for number, row in enumerate(rows, 1):
            journal.write([row])
            if number == at:
                assert not journal.fault
                harm(path)
        journal.finish()
    fresh = path.with_name("run-2.jsonl")
    assert journal.fault == f"{path} was {HARM[harm]} while it was being written; all rows are in {fresh}"
    assert run.path == fresh and not is_finished(fresh)
    assert [row.variant for row in read_results(fresh).records] == ["k0", "k1", "k2"]


def test_bytes_that_are_changed_are_noticed_in_the_end(run, make_record):
    path = run.path
    with Journal(run) as journal:
        journal.write([make_record("a")])
        change(path)
        journal.write([make_record("b")])
        journal.finish()
    assert f"{path} was changed by something else" in journal.fault
    assert [row.variant for row in read_results(run.path).records] == ["a", "b"]


def test_a_file_of_that_name_is_left_alone_and_one_that_took_the_place_of_an_empty_one_too(run, make_record):
    path = run.path
    with Journal(run) as journal:
        path.with_name("run-2.jsonl").symlink_to("nowhere")
        path.unlink()
        path.write_text("someone's")
        journal.finish()
    assert "replaced" in journal.fault and path.read_text() == "someone's"
    with Journal(Run(run.environment, path=path.with_name("next.jsonl"))) as journal:
        journal.write([make_record()])
        path.with_name("next-2.jsonl").write_text("mine")
        path.with_name("next.jsonl").unlink()
        journal.finish()
    assert journal.run.path.name == "next-3.jsonl" and path.with_name("next-2.jsonl").read_text() == "mine"


def test_a_resumed_run_keeps_its_earlier_rows(run, make_record):
    with Journal(run) as journal:
        journal.write([make_record("a")])
    again = read_results(run.path)
    with Journal(again) as journal:
        run.path.unlink()
        journal.write([make_record("b")])
    assert [row.variant for row in read_results(again.path).records] == ["a", "b"] and "run-2" in journal.fault


def test_a_run_that_nobody_disturbs_is_finished(run, make_record):
    with Journal(run) as journal:
        for name in "abc":
            journal.write([make_record(name)])
        journal.finish()
    assert not journal.fault and is_finished(run.path)
