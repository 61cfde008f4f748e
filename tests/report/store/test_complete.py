"""What --resume needs: which rows count, which batches are complete, whether a run is finished."""

from msgspec.structs import replace

from gemmbench.bench.record import Request
from gemmbench.report.store.journal import Journal
from gemmbench.report.store.reading import complete_batches, is_being_written, is_finished, read_results
from gemmbench.report.store.recorded_run import Run


def test_the_last_of_rows_measured_again_counts(tmp_path, environment, make_record):
    path = tmp_path / "run.jsonl"
    with Journal(Run(environment, path=path)) as journal:
        journal.write([make_record("naive", [1.0], stopped="interrupted")])
        journal.write([make_record("naive", [2.0])])
        journal.write([make_record("naive", [3.0], batch=2, batch_key="other")])
    assert [record.samples for record in read_results(path).records] == [[2.0], [3.0]]


def test_only_batches_with_all_their_rows_are_complete(make_record):
    whole = [make_record(name, [1.0], batch_key="whole", batch_rows=2) for name in ("naive", "cublas")]
    part = [make_record("naive", [1.0], batch_key="part", batch_rows=2)]
    stopped = [make_record("naive", [1.0], batch_key="stopped", stopped="interrupted")]
    skipped = [make_record("tiled", status="skipped", batch_key="", batch_rows=0)]
    assert complete_batches([*whole, *part, *stopped, *skipped]) == {"whole": whole}


def test_a_batch_that_was_interrupted_and_measured_again_is_complete(make_record):
    first = [make_record("naive", status="failed"), make_record("cublas", [1.0], stopped="interrupted")]
    again = [make_record("naive", status="failed"), make_record("cublas", [2.0])]
    attempts = [replace(record, batch_rows=2) for record in (*first, *again)]
    assert complete_batches(attempts) == {"key": attempts[2:]}


def test_rows_of_two_attempts_make_no_complete_batch(make_record):
    first = [make_record("naive", [1.0]), make_record("cublas", [1.0], stopped="interrupted")]
    again = [make_record("naive", [2.0], stopped="interrupted"), make_record("cublas", [2.0], stopped="interrupted")]
    attempts = [replace(record, batch_rows=2) for record in (*first, *again)]
    assert complete_batches(attempts) == complete_batches([attempts[1], attempts[0]]) == {}


def test_failed_and_wrong_rows_complete_a_batch_too(make_record):
    rows = [make_record("a", status="failed", batch_rows=2), make_record("b", status="wrong", batch_rows=2)]
    assert complete_batches(rows) == {"key": rows}


def test_rows_of_different_batches_with_the_same_number_are_kept(tmp_path, environment, make_record):
    path = tmp_path / "run.jsonl"
    with Journal(Run(environment, path=path)) as journal:
        journal.write([make_record("cublas", [1.0], batch=1, batch_key="first session")])
        journal.write([make_record("cublas", [2.0], batch=1, batch_key="second session")])
    assert [record.samples for record in read_results(path).records] == [[1.0], [2.0]]


def test_a_run_that_was_killed_before_its_first_row_can_be_resumed(tmp_path, environment, make_record):
    path = tmp_path / "run.jsonl"
    killed = Journal(Run(environment, path=path))
    assert is_being_written(path) and not is_finished(path)
    killed._file.close()  # as the system does
    assert not is_being_written(path)
    with Journal(read_results(path)) as journal:
        journal.write([make_record()])
    assert len(read_results(path).records) == 1


def test_the_last_line_tells_that_a_run_is_finished(tmp_path, environment, make_record):
    path = tmp_path / "run.jsonl"
    with Journal(Run(environment, path=path)) as journal:
        journal.write([make_record(reason="x" * 100_000)])  # longer than what is read at a time
        assert not is_finished(path)
        journal.finish()
    assert is_finished(path) and read_results(path).finished.startswith("20")
    path.write_bytes(path.read_bytes()[:-5])
    assert not is_finished(path)


def test_a_run_without_a_row_is_not_finished(tmp_path, environment):
    with Journal(Run(environment, path=tmp_path / "run.jsonl")) as journal:
        journal.finish()
    assert list(tmp_path.iterdir()) == []


def test_what_was_asked_for_last_counts(tmp_path, environment, make_record):
    path = tmp_path / "run.jsonl"
    with Journal(Run(environment, path=path)) as journal:
        journal.write([make_record()])
        journal.extend(Request(command="gemmbench run more", planned=["a"]))
    run = read_results(path)
    assert (run.command, run.planned, run.environment) == ("gemmbench run more", ["a"], environment)
