"""Files: how folders are found and named, what is no text file, and control characters made visible."""

import os
import socket
from pathlib import Path

import pytest

from gemmbench.errors import SpecError
from gemmbench.planning import files
from gemmbench.planning.files import LONGEST, escape_cell, escape_controls, read_text_file
from gemmbench.report.page.html import tag
from gemmbench.report.table import Report, Table

ROOT = Path(__file__).resolve().parents[2]


def test_a_checkout_uses_its_own_folders_and_a_package_its_data(tmp_path, monkeypatch):
    assert [files.data_folder(name).resolve() for name in ("cuda", "configs")] == [ROOT / "cuda", ROOT / "configs"]
    monkeypatch.setattr(files, "_PACKAGE", tmp_path / "gemmbench")
    assert files.data_folder("cuda") == tmp_path / "cuda"
    (tmp_path / "gemmbench/data/cuda").mkdir(parents=True)
    assert files.data_folder("cuda") == tmp_path / "gemmbench/data/cuda"


def test_files_are_named_from_the_tree_or_the_current_folder_or_in_full(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert files.display_path(ROOT / "cuda/tiled.cu") == "cuda/tiled.cu"
    assert files.display_path(ROOT / "configs/quick.yaml") == "configs/quick.yaml"
    assert files.display_path(tmp_path / "mine/x.cu") == "mine/x.cu"
    monkeypatch.chdir("/")
    outside = tmp_path / "x.cu"
    assert files.display_path(outside) in (str(outside), str(outside.relative_to("/")))


def test_a_link_keeps_its_name_and_a_loop_of_links_has_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop.cu").symlink_to("loop.cu")
    (tmp_path / "zero.cu").symlink_to("/dev/zero")
    assert [files.display_path(Path(name)) for name in ("loop.cu", "zero.cu")] == ["loop.cu", "zero.cu"]
    assert files.follow_links(Path("zero.cu")) == Path("/dev/zero")
    assert files.follow_links(Path("loop.cu")) == tmp_path / "loop.cu"


def test_a_name_that_cannot_be_printed_is_escaped():
    assert files.printable(os.fsdecode(b"k\xff\n\x1b\xc3\xa9")) == r"k\xff\n\x1bé"


def test_a_name_that_no_file_can_have_is_no_file(tmp_path):
    checks = files.is_file, files.is_folder, files.exists
    for name in ("x" * 300, "a\0b", "nowhere"):
        assert not any(check(Path(name)) for check in checks)
    assert [check(tmp_path) for check in checks] == [False, True, True]
    assert [check(Path(__file__)) for check in checks] == [True, False, True]
    assert files.list_saved(Path("x" * 300)) == []


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(path))


def make_sparse(path):
    path.touch()
    os.truncate(path, 2**40)


ODD_FILES = {
    "is a FIFO, not a file; remove it": os.mkfifo,
    "is a device, not a file; remove it": lambda path: path.symlink_to("/dev/zero"),
    "is a socket, not a file; remove it": make_socket,
    "is a folder, not a file; remove it": lambda path: path.mkdir(),
    "cannot be read: Too many levels of symbolic links": lambda path: path.symlink_to(path),
    "cannot be read: No such file or directory": lambda path: path.symlink_to("nowhere"),
    "is not UTF-8 text (byte 3); convert or remove it": lambda path: path.write_bytes(b"abc\xff"),
    "has more than 1,048,576 characters; shorten or remove it": make_sparse,
}


@pytest.mark.parametrize("message", ODD_FILES)
def test_an_odd_file_is_refused_at_once_with_one_line(tmp_path, monkeypatch, message):
    monkeypatch.chdir(tmp_path)
    ODD_FILES[message](tmp_path / "x.cu")
    with pytest.raises(SpecError) as fault:
        read_text_file(tmp_path / "x.cu")
    assert str(fault.value) == f"x.cu: {message}"


@pytest.mark.skipif(os.getuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_refused(tmp_path):
    (tmp_path / "x.cu").touch(mode=0)
    with pytest.raises(SpecError, match="Permission denied"):
        read_text_file(tmp_path / "x.cu")


def test_a_file_may_be_a_link_have_any_newlines_and_the_largest_length(tmp_path):
    text = "a\r\nb\n" + "x" * (LONGEST - 4)
    (tmp_path / "real.cu").write_bytes(text.encode())
    (tmp_path / "link.cu").symlink_to("real.cu")
    assert read_text_file(tmp_path / "link.cu") == text.replace("\r\n", "\n")


def test_of_a_results_file_and_its_compressed_copy_one_is_listed(tmp_path):
    for name in ("b-12ab.jsonl", "b-12ab.jsonl.gz", "a.v1.jsonl.gz", "c-12ab.jsonl.gz", "d.csv", "e.gz"):
        (tmp_path / name).touch()
    listed = files.list_results(tmp_path)
    assert [path.name for path in listed] == ["a.v1.jsonl.gz", "b-12ab.jsonl", "c-12ab.jsonl.gz"]
    assert [files.results_stem(path) for path in listed] == ["a.v1", "b-12ab", "c-12ab"]
    assert [path.name for path in files.list_results(tmp_path, "-12ab")] == ["b-12ab.jsonl", "c-12ab.jsonl.gz"]
    assert files.list_results(tmp_path / "none") == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("tiled BM=8 +- 0.5 %", "tiled BM=8 +- 0.5 %"),
        ("naïve \u2500 \xa0 \U0001f600", "naïve \u2500 \xa0 \U0001f600"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b]0;owned\x07", r"\x1b]0;owned\x07"),
        ("a\rb\x00\x7f\x9b31m", r"a\rb\x00\x7f\x9b31m"),
        ("left \u202e right \u2066", r"left \u202e right \u2066"),
    ],
)
def test_only_control_characters_change(text, shown):
    assert escape_controls(text) == shown
    assert escape_controls(shown) == shown


def test_neither_a_cell_nor_a_page_has_a_control_character():
    assert escape_cell("a\n\tb\x1b") == r"a\n\tb\x1b"
    assert tag("p", "<\x1b>", title="\x07") == r'<p title="\x07">&lt;\x1b&gt;</p>'


@pytest.mark.parametrize("style", ["simple", "github", "html", "tsv", "latex", "rst"])
def test_no_format_of_a_table_has_a_control_character(style):
    odd = "\x1b[31m\r\x9b"
    table = Table(odd, [odd, "status"], [[odd, "ok"]], notes=[odd], left=[odd])
    text = Report([table], footer=[odd], details=[odd], closing=[odd]).format(style)
    assert not set(text) & set(odd) - set("[31m")
    assert text.count(r"\x1b") + text.count(r"\textbackslash{}x1b") >= 5


def test_a_path_that_is_too_long_for_any_file_leads_to_itself(tmp_path):
    path = tmp_path / ("x/" * 100_000)
    assert files.follow_links(path) == path and not files.is_file(path)
