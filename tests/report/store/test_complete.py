"""What --resume needs: which rows count, which batches are complete, which file is the newest."""

import os

import msgspec
import pytest

from gemmbench.errors import StoreError
from gemmbench.report import store


def test_the_last_of_rows_measured_again_counts(tmp_path, environment, make_record):
    path = tmp_path / "run.jsonl"
    with store.Journal(store.Run(environment, path=path)) as journal:
        journal.write(make_record("naive", [1.0], stopped="interrupted"))
        journal.write(make_record("naive", [2.0]))
        journal.write(make_record("naive", [3.0], batch=2, batch_key="other"))
    assert [record.samples for record in store.read(path).records] == [[2.0], [3.0]]


def test_only_batches_with_all_their_rows_are_complete(make_record):
    whole = [make_record(name, [1.0], batch_key="whole", batch_rows=2) for name in ("naive", "cublas")]
    part = [make_record("naive", [1.0], batch_key="part", batch_rows=2)]
    stopped = [make_record("naive", [1.0], batch_key="stopped", stopped="interrupted")]
    skipped = [make_record("tiled", status="skipped", batch_key="", batch_rows=0)]
    assert store.complete_batches([*whole, *part, *stopped, *skipped]) == {"whole": whole}


def test_failed_and_wrong_rows_complete_a_batch_too(make_record):
    rows = [make_record("a", status="failed", batch_rows=2), make_record("b", status="wrong", batch_rows=2)]
    assert store.complete_batches(rows) == {"key": rows}


@pytest.fixture
def results(tmp_path, environment, make_record):
    """Write a results file with changes to its header; `age` is in seconds."""

    def write(name, age, **changed):
        path = tmp_path / name
        with store.Journal(store.Run(msgspec.structs.replace(environment, **changed), path=path)) as journal:
            journal.write(make_record())
        os.utime(path, (1e9 - age, 1e9 - age))
        return path

    return write


def test_the_newest_file_of_the_same_sweep_and_device_is_found(tmp_path, results):
    results("a.jsonl", 5)
    wanted = results("b.jsonl", 4)
    results("c.jsonl", 3, sweep="tiles")
    results("d.jsonl", 2, device="Other GPU")
    results("e.jsonl", 1).write_text("broken")
    assert store.find_newest(tmp_path, "quick", "Fake GPU") == wanted


def test_the_message_names_the_sweep_that_has_nothing_to_resume(tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(StoreError) as fault:
            store.find_newest(folder, "quick", "Fake GPU")
        what = f"nothing to resume: no results of sweep 'quick' on Fake GPU in {folder}"
        assert str(fault.value) == f"{what}; name a file, or start a new run without --resume"


def test_rows_of_different_batches_with_the_same_number_are_kept(tmp_path, environment, make_record):
    path = tmp_path / "run.jsonl"
    with store.Journal(store.Run(environment, path=path)) as journal:
        journal.write(make_record("cublas", [1.0], batch=1, batch_key="first session"))
        journal.write(make_record("cublas", [2.0], batch=1, batch_key="second session"))
    assert [record.samples for record in store.read(path).records] == [[1.0], [2.0]]


def test_a_run_that_was_killed_before_its_first_row_can_be_resumed(tmp_path, environment, make_record):
    path = tmp_path / "run.jsonl"
    killed = store.Journal(store.Run(environment, path=path))
    assert (store.find_newest(tmp_path, "quick", "Fake GPU"), store.read(path).records) == (path, [])
    killed._file.close()  # as the system does
    with store.Journal(store.Run(environment, path=path)) as journal:
        journal.write(make_record())
    assert len(store.read(path).records) == 1
