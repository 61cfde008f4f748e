"""How the data folders are found, and how messages name a file."""

import os
from pathlib import Path

from gemmbench.planning import files

ROOT = Path(__file__).resolve().parents[2]


def test_a_checkout_uses_its_own_folders():
    assert files.data_folder("cuda").resolve() == ROOT / "cuda"
    assert files.data_folder("configs").resolve() == ROOT / "configs"


def test_package_data_comes_first(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_PACKAGE", tmp_path / "gemmbench")
    assert files.data_folder("cuda") == tmp_path / "cuda"
    (tmp_path / "gemmbench/data/cuda").mkdir(parents=True)
    assert files.data_folder("cuda") == tmp_path / "gemmbench/data/cuda"


def test_a_kernel_of_the_tree_is_named_from_cuda_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert files.display_path(ROOT / "cuda/tiled.cu") == "cuda/tiled.cu"
    assert files.display_path(ROOT / "configs/quick.yaml") == "configs/quick.yaml"


def test_other_files_are_named_from_the_current_folder_or_in_full(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
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
    for name in ("x" * 300, "a\0b", "nowhere"):
        assert not any(check(Path(name)) for check in (files.is_file, files.is_folder, files.exists))
    assert [check(tmp_path) for check in (files.is_file, files.is_folder, files.exists)] == [False, True, True]
    assert [check(Path(__file__)) for check in (files.is_file, files.is_folder, files.exists)] == [True, False, True]
    assert files.list_saved(Path("x" * 300)) == []
