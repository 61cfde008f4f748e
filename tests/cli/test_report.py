"""`gemmbench report`: one HTML file from results files."""

from pathlib import Path

import msgspec
import pytest

from .conftest import cut_after


@pytest.fixture
def journal(run_three, saved):
    """A results file with three variants."""
    run_three()
    return saved()[0]


def test_a_run_becomes_a_page(gemmbench, journal, tmp_path):
    said = gemmbench("report", journal, "-o", "pages/run.html")
    assert (said.code, said.out, said.err) == (0, "", "page: pages/run.html\n")
    page = (tmp_path / "pages" / "run.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>\n") and ">tiled</td>" in page


def test_without_a_file_the_newest_run_becomes_the_page(gemmbench, journal, tmp_path):
    assert gemmbench("report").code == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert journal.name in page and "tiled" in page


def test_differences_from_another_run_are_on_the_page(gemmbench, journal, tmp_path):
    said = gemmbench("report", journal, "--against", journal)
    assert said.code == 2 and f"{journal} are the same run; measure its kernels again" in said.err
    other = tmp_path / "other.jsonl"
    other.write_text(journal.read_text().replace(Path(journal).stem, "other"))
    assert gemmbench("report", journal, "--against", other).code == 0
    assert "Unpaired" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_run_of_the_kernel_that_was_called_naive_is_no_reference(gemmbench, journal, tmp_path):
    rows = [msgspec.json.decode(line) for line in journal.read_bytes().splitlines()]
    old = [{**row, "code": ""} if row.get("variant") == "naive" else row for row in rows]
    (tmp_path / "old.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in old))
    said = gemmbench("report", journal, "--against", "old.jsonl")
    assert said.code == 2 and "its naive is the kernel that is now called naive_rows" in said.err


def test_a_file_that_is_no_results_file_is_refused(refused, tmp_path):
    (tmp_path / "notes.txt").write_text("hello\n")
    assert refused("report", "notes.txt").startswith("notes.txt:1: not a gemmbench results file")
    assert refused("report", "gone.jsonl").startswith("gone.jsonl: no such file")


def test_a_folder_of_results_that_names_the_page_is_refused(gemmbench, journal, tmp_path):
    said = gemmbench("report", journal, "--out", "page.html")
    assert said.code == 2 and "--out page.html: no such folder of results; to write the file, give -o page" in said.err
    assert not list(tmp_path.glob("*.html"))


def test_a_page_that_cannot_be_written_is_a_usage_error(gemmbench, journal):
    said = gemmbench("report", journal, "-o", journal / "page.html")
    assert said.code == 2 and "cannot write" in said.err


def test_the_page_of_a_run_that_is_not_finished_says_so_and_names_no_fastest(gemmbench, journal, tmp_path):
    assert gemmbench("report", journal).code == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'class="fastest"' in page and 'fastest-row"' in page and "not finished" not in page
    for count, lack in ((2, "it has 2 of 3 planned rows"), (0, "it has not measured any rows")):
        cut_after(journal, count)
        said = gemmbench("report", journal)
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert said.code == 0 and lack in said.err and f"{lack}; " in page
        assert 'class="fastest"' not in page and 'fastest-row"' not in page


def test_a_run_that_was_cut_off_has_a_warning_and_a_page(gemmbench, journal, tmp_path):
    with journal.open("a") as file:
        file.write('{"row":"record","vari')
    said = gemmbench("report", journal)
    assert said.code == 0 and "the last line is cut off" in said.err
    assert "the last line is cut off" in (tmp_path / "report.html").read_text(encoding="utf-8")
