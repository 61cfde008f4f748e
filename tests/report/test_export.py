"""Exports: files, CSV and JSON."""

import csv
import io
import json
import os
from pathlib import Path

import pytest

from gemmbench.errors import StoreError
from gemmbench.report.export import format_csv, format_json, write_text


def test_an_export_is_written_completely_and_creates_its_folder(tmp_path):
    path = tmp_path / "a" / "b" / "x.csv"
    write_text(path, "one\n")
    write_text(path, "two\n")
    assert path.read_text() == "two\n" and list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("taken/x.csv", r"cannot write taken/x.csv: "),
        (".", r"cannot write \.: Is a directory; choose another path"),
        ("", r"cannot write \.: Is a directory; choose another path"),
    ],
)
def test_the_message_names_an_export_that_cannot_be_written(tmp_path, monkeypatch, path, message):
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("")
    with pytest.raises(StoreError, match=message):
        write_text(Path(path), "text")


def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    write_text(fifo, "text")
    assert os.read(reader, 10) == b"text" and fifo.is_fifo() and list(tmp_path.iterdir()) == [fifo]
    os.close(reader)


def test_csv_and_json_hold_the_same_rows(environment):
    rows = [{"variant": "a, b", "time_s": 0.5, "error_units": None}, {"variant": '"', "time_s": 1e-9, "error_units": 2}]
    found = list(csv.DictReader(io.StringIO(format_csv(rows))))
    assert found == [
        {"variant": "a, b", "time_s": "0.5", "error_units": ""},
        {"variant": '"', "time_s": "1e-09", "error_units": "2"},
    ]
    loaded = json.loads(format_json(environment, rows))
    assert loaded["rows"] == rows and loaded["environment"]["device"] == "Fake GPU"
    assert format_csv([]) == ""
