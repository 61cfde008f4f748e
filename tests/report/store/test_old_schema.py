"""Results files of schema 1: the committed ones, and broken ones."""

import json
import shutil
from pathlib import Path

import pytest

from gemmbench.bench.record import SCHEMA
from gemmbench.bench.timing import stats
from gemmbench.errors import StoreError
from gemmbench.planning.files import data_folder
from gemmbench.planning.problems import Problem
from gemmbench.report.comparison import compare_rows
from gemmbench.report.export import export_kernels, export_transfers, format_csv, format_json
from gemmbench.report.store.journal import Journal
from gemmbench.report.store.reading import read_results
from gemmbench.report.store.recorded_run import Run

COMMITTED = sorted((data_folder("cuda").parent / "results").glob("*/*.jsonl"))
OLD = [path for path in COMMITTED if b'"schema":1,' in path.read_bytes()[:200]]


@pytest.fixture
def old(tmp_path):
    """A copy of a committed file of schema 1."""
    (source,) = [path for path in OLD if path.name.endswith("-quick.jsonl")]
    return Path(shutil.copy(source, tmp_path))


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_a_committed_file_of_schema_1_gives_the_csv_committed_with_it(path, monkeypatch):
    monkeypatch.setattr(stats, "WIDENING", 1.0)  # as when they were written
    run = read_results(path)
    assert (run.environment.schema, run.warning) == (1, "")
    comparison = compare_rows(run)
    for suffix, rows in ((".csv", export_kernels(comparison)), (".transfers.csv", export_transfers(comparison))):
        committed = path.with_suffix(suffix)
        if rows and committed.exists():
            names = committed.read_text().splitlines()[0].split(",")
            assert list(rows[0])[: len(names)] == names  # later columns follow the last
            assert format_csv([{name: row[name] for name in names} for row in rows]) == committed.read_text()


def test_every_renamed_field_is_read(old):
    header, *rows = [json.loads(line) for line in old.read_text().splitlines()]
    run = read_results(old)
    assert len(run.records) == len(rows) > 5
    assert (run.environment.backend, run.environment.policy) == (header["kind"], header["measuring"])
    for record, row in zip(run.records, rows, strict=True):
        shape = row["M"], row["N"], row["K"], row["layout"], row["precision"], row["alpha"], row["beta"]
        assert (record.problem, record.backend) == (Problem(*shape), row["device"])
        assert record.telemetry.readings == row["vitals"]["looks"]
        assert record.telemetry.slowed_by == row["vitals"]["slowed"]
        assert record.telemetry.other_processes == row["vitals"]["others"]


def test_a_torn_file_loses_its_last_row(old):
    whole = read_results(old).records
    old.write_bytes(old.read_bytes()[:-100])
    torn = read_results(old)
    assert torn.records == whole[:-1]
    assert torn.warning == f"{old}: the last line is cut off and was left out; --resume measures it again"


def test_the_message_names_a_row_without_a_field(old):
    lines = old.read_text().splitlines()
    row = json.loads(lines[2])
    del row["precision"]
    old.write_text("\n".join([*lines[:2], json.dumps(row), *lines[3:], ""]))
    with pytest.raises(StoreError, match=r":3: broken row: .*`precision`.*; remove the line to read the rest"):
        read_results(old)


def test_an_export_of_an_old_file_has_the_current_schema(old):
    exported = json.loads(format_json(read_results(old).environment, []))["environment"]
    assert (exported["schema"], exported["backend"]) == (SCHEMA, "cuda")


def test_rows_of_both_schemas_in_one_file_are_read(old, make_record):
    run = read_results(old)
    with Journal(Run(run.environment, path=old)) as journal:
        journal.write([make_record("late")])
    assert read_results(old).records[-1].variant == "late"
