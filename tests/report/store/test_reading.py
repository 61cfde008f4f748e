"""Results files: writing, reading, messages on broken ones, and what --resume needs."""

import gzip
import json

import pytest
from msgspec.structs import replace

from gemmbench.bench.record import SCHEMA, Request
from gemmbench.errors import StoreError
from gemmbench.report.store.journal import Journal
from gemmbench.report.store.reading import complete_batches, is_being_written, is_finished, read_results
from gemmbench.report.store.recorded_run import Run


@pytest.fixture
def write(tmp_path, environment):
    """Write records to a results file, or append them, one after the other; return its path."""

    def make(*records):
        path = tmp_path / "out" / "run.jsonl"
        with Journal(Run(environment, path=path)) as journal:
            for record in records:
                journal.write([record])
        return path

    return make


@pytest.fixture
def written(write, make_record):
    """A results file of three rows."""
    records = [make_record(name, [1e-3, 2e-3], config={"T": 8}) for name in ("naive", "tiled", "cublas")]
    return write(*records), records


def fault_of(path):
    with pytest.raises(StoreError) as fault:
        read_results(path)
    return str(fault.value)


def variants(path):
    return [record.variant for record in read_results(path).records]


def test_reading_returns_what_was_written(written, environment):
    path, records = written
    run = read_results(path)
    assert (run.environment, run.records, run.path, run.is_torn) == (environment, records, path, False)
    first, second, _ = run.records  # which share their equal values
    assert first.problem is second.problem and first.rounds is second.rounds and first.backend is second.backend
    assert first.samples is not second.samples


def test_a_row_keeps_whether_its_launches_overlapped_and_an_older_file_has_none(write, make_record):
    path = write(make_record("mine", [1e-3], pdl=True))
    assert [record.pdl for record in read_results(path).records] == [True]
    older = [json.loads(line) for line in path.read_text().splitlines()]
    del older[1]["pdl"]
    path.write_text("".join(json.dumps(line) + "\n" for line in older))
    assert [record.pdl for record in read_results(path).records] == [False]


def test_every_row_is_one_line_of_json_with_all_its_samples(written):
    lines = [json.loads(line) for line in written[0].read_text().splitlines()]
    assert [line["row"] for line in lines] == ["environment", "record", "record", "record"]
    assert lines[0]["schema"] == SCHEMA
    assert lines[1]["samples"] == [1e-3, 2e-3] and lines[1]["rounds"] == [0, 1]


def test_a_row_is_on_disk_as_soon_as_it_is_written(tmp_path, environment, make_record):
    path = tmp_path / "run.jsonl"
    with Journal(Run(environment, path=path)) as journal:
        journal.write([make_record("naive")])
        assert variants(path) == ["naive"]
        journal.write([make_record("tiled")])
        assert variants(path) == ["naive", "tiled"]


def test_a_run_without_a_row_leaves_no_file_also_when_it_is_finished(tmp_path, environment):
    for finish in (False, True):
        with Journal(Run(environment, path=tmp_path / "run.jsonl")) as journal:
            if finish:
                journal.finish()
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("cut", [0, 1])
def test_resuming_a_file_keeps_its_rows_and_its_only_header_also_without_its_last_newline(
    written, write, make_record, cut
):
    path, _ = written
    path.write_bytes(path.read_bytes()[: path.stat().st_size - cut])
    assert write(make_record("late")) == path
    assert variants(path) == ["naive", "tiled", "cublas", "late"]
    write()
    assert len(variants(path)) == 4


@pytest.mark.parametrize("cut", [1, 10, 200])
def test_an_incomplete_last_line_is_left_out_with_a_warning(written, cut):
    path, records = written
    path.write_bytes(path.read_bytes()[:-cut])
    run = read_results(path)
    if cut == 1:  # only the end of the line is missing
        assert run.records == records
    else:
        assert run.records == records[:2] and run.is_torn
        assert run.warning.endswith("it has 2 rows; the last line is cut off and was left out")


def test_resuming_an_incomplete_file_loses_no_complete_row(written, write, make_record):
    path, _ = written
    path.write_bytes(path.read_bytes()[:-10])
    write(make_record("late"))
    assert variants(path) == ["naive", "tiled", "late"]


@pytest.mark.parametrize("line", ['{"row": "record"}', '{"row": "other"}', "[1]", "7", '{"variant": 1}', '{"row":"rec'])
@pytest.mark.parametrize("number", [3, 5])
def test_the_message_names_a_line_that_is_no_row(written, line, number):
    path, _ = written
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[: number - 1], line, *lines[number - 1 :], ""]))
    message = fault_of(path)
    assert message.startswith(f"{path}:{number}: broken row: ")
    assert message.endswith("; remove the line to read the rest")


def test_empty_lines_and_unknown_keys_of_the_same_schema_are_ignored(written):
    path, records = written
    path.write_text(path.read_text().replace("\n", "\n\n").replace('"row":"record"', '"row":"record","extra":1'))
    assert read_results(path).records == records


@pytest.mark.parametrize("broken", [False, True])
def test_a_file_of_a_newer_schema_is_refused(written, broken):
    path, _ = written
    header, rest = path.read_text().split("\n", 1)
    newer = {**json.loads(header), "schema": SCHEMA + 1}
    if broken:
        del newer["device"]  # what that version no longer has
    path.write_text(json.dumps(newer) + "\n" + rest)
    message = f"{path}: written by a newer gemmbench (schema {SCHEMA + 1}, this one reads {SCHEMA}); upgrade"
    assert fault_of(path) == message


def test_a_file_that_states_no_schema_is_refused(written):
    path, _ = written
    path.write_text(path.read_text().replace(f'"schema":{SCHEMA},', "", 1))
    assert fault_of(path).startswith(f"{path}: written by an older gemmbench (schema 0, this one reads {SCHEMA}); ")


@pytest.mark.parametrize("content", ["", "\n", "# a heading\n\ntext\n", "text", '{"row":"record"}'])
def test_a_file_without_a_header_is_no_results_file(tmp_path, content):
    path = tmp_path / "x.jsonl"
    path.write_text(content)
    message = f"{path}:1: not a gemmbench results file: its first line must describe the run; choose a .jsonl file"
    assert fault_of(path) == message


def test_the_message_names_a_missing_file_or_a_folder(tmp_path):
    assert fault_of(tmp_path / "no.jsonl").startswith(f"{tmp_path}/no.jsonl: no such file; `gemmbench show` ")
    assert fault_of(tmp_path) == f"{tmp_path}: cannot be read: Is a directory"


def test_a_folder_that_cannot_be_written_names_the_option(tmp_path, environment):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(StoreError, match=r"cannot write results to .*taken/run.jsonl: .*; choose another --out"):
        Journal(Run(environment, path=tmp_path / "taken" / "run.jsonl"))


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"rounds": [0, 1, 2]}, "2 samples, but 3 rounds"),
        ({"rounds": [1, 1]}, "two samples of the same round"),
        ({"blocks": [0]}, "2 samples, but 1 blocks"),
        ({"samples": [1e-3, 0.0]}, "Expected `float` >= 1e-15 - at `$.samples[1]`"),
        ({"samples": [1e-3, -1.0]}, "Expected `float` >= 1e-15 - at `$.samples[1]`"),
        ({"samples": [1e-3, 1e300]}, "Expected `float` <= 1000000000.0 - at `$.samples[1]`"),
        ({"status": "fine"}, "unknown status 'fine'; known: ok, wrong, "),
        ({"tile": [8]}, "a tile of 1 numbers; it needs rows and columns"),
        ({"order": 10**400}, "Number out of range - at `$.order`"),
        ({"workspace": 10**400}, "Expected `int` <= 1000000000000000000 - at `$.workspace`"),
        ({"workspace": -1}, "Expected `int` >= 0 - at `$.workspace`"),
        ({"clocks_hz": [0.0]}, "Expected `float` >= 1e-09 - at `$.clocks_hz[0]`"),
        ({"problem": {"M": 10**400, "N": 8, "K": 8}}, "Expected `int` <= 1000000000000000000 - at `$.problem.M`"),
        ({"problem": {"M": 0, "N": 8, "K": 8}}, "Expected `int` >= 1 - at `$.problem.M`"),
        ({"problem": {"M": 8, "N": 8, "K": 8, "layout": "t"}}, "Expected `str` matching regex '^[nt][nt]$' - at "),
        ({"problem": {"M": 8, "N": 8, "K": 8, "precision_name": "f8"}}, "unknown precision 'f8'; known: f32, "),
    ],
)
def test_the_message_names_a_value_that_no_run_writes(written, changed, fault):
    path, _ = written
    lines = path.read_text().splitlines()
    lines[2] = json.dumps(json.loads(lines[2]) | changed)
    path.write_text("\n".join(lines) + "\n")
    assert fault_of(path).startswith(f"{path}:3: broken row: {fault}")


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"schema": "x"}, "Expected `int`, got `str` - at `$.schema`"),
        ({"clock_hz": -1.0}, "Expected `float` >= 0.0 - at `$.clock_hz`"),
        ({"flops_per_cycle": {"f32": 0}}, "Expected `float` >= 1e-09 - at `$.flops_per_cycle[...]`"),
        ({"policy": {"until": "x"}}, "policy: Expected `float`, got `str` - at `$.until`"),
    ],
)
def test_the_message_names_a_fault_of_the_header(written, changed, fault):
    path, _ = written
    header, rest = path.read_text().split("\n", 1)
    path.write_text(json.dumps(json.loads(header) | changed) + "\n" + rest)
    assert fault_of(path) == f"{path}:1: broken header: {fault}; correct it, or choose another file"


@pytest.mark.parametrize("text", [b'"\xff"', b"[" * 5000 + b"]" * 5000, b'"\\ud800"'])
def test_what_is_no_json_is_a_broken_row(written, text):
    path, _ = written
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b'{"row":"record","variant":' + text + b"}\n", *lines[2:]]))
    assert fault_of(path).startswith(f"{path}:3: broken row: ") and "\n" not in fault_of(path)


def test_two_files_in_one_are_refused(written):
    path, _ = written
    path.write_bytes(path.read_bytes() * 2)
    assert fault_of(path).startswith(
        f"{path}:5: broken row: a second header, of 20260101-120000-quick-abcd, but a file "
    )


@pytest.mark.parametrize("end", [b"", b'{"row":"rec', b"\x00" * 70_000, b'"' + b"x" * 200_000])
def test_repairing_the_end_touches_nothing_before_it(written, environment, end):
    path, _ = written
    before = path.read_bytes()
    path.write_bytes(before + end)
    inode = path.stat().st_ino
    with Journal(Run(environment, path=path)):
        assert path.read_bytes() == before
    assert path.stat().st_ino == inode


def test_the_last_of_rows_measured_again_counts_and_those_of_other_batches_are_kept(write, make_record):
    interrupted = make_record("naive", [1.0], stopped="interrupted")
    path = write(interrupted, make_record("naive", [2.0]), make_record("naive", [3.0], batch_key="of the same number"))
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


def test_a_file_says_what_it_lacks_and_how_its_run_goes_on(tmp_path, environment, make_record):
    path, asked = tmp_path / "run.jsonl", replace(environment, planned=["a", "b", "b", "c"], command="gemmbench mlp -v")
    with Journal(Run(asked, path=path)) as journal:
        words = f"{path}: the run is not finished: it has %s; continue with: gemmbench mlp --resume-from {path}"
        assert read_results(path).warning == words % "not measured any rows"
        journal.write([make_record("naive", batch_key=each) for each in ("first", "second")])  # as a baseline
        assert read_results(path).warning == words % "1 of 3 planned rows"
        kept = path.with_suffix(".jsonl.gz")
        kept.write_bytes(gzip.compress(path.read_bytes()))
        assert read_results(kept).warning == f"{kept}: the run is not finished: it has 1 of 3 planned rows"
        journal.write([make_record("tiled", phase="ranking")])  # of a search, which plans no rows
        assert read_results(path).warning == words % "2 rows"
        journal.finish()
    assert read_results(path).warning == ""
    with path.open("a") as file:
        file.write('{"row"')
    assert read_results(path).warning == f"{path}: the last line is cut off and was left out"


def test_what_was_asked_for_last_counts(tmp_path, environment, make_record):
    path = tmp_path / "run.jsonl"
    with Journal(Run(environment, path=path)) as journal:
        journal.write([make_record()])
        journal.extend(Request(command="gemmbench run more", planned=["a"]))
    run = read_results(path)
    assert (run.command, run.planned, run.environment) == ("gemmbench run more", ["a"], environment)
