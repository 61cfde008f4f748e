"""Files that are no text files: each is refused at once, with one line."""

import os
import socket

import pytest

from gemmbench.errors import SpecError
from gemmbench.planning.files import LONGEST, read_text_file


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
