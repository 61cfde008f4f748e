"""A folder of kernels with files that are none: one line for each, and the other kernels work."""

import os

import pytest

WRONG = {
    "fifo.cu": "is a FIFO, not a file; remove it",
    "loop.cu": "cannot be read: Too many levels of symbolic links",
    "nowhere.cu": "cannot be read: No such file or directory",
    "zero.cu": "is a device, not a file; remove it",
    "huge.cu": "has more than 1,048,576 characters; shorten or remove it",
    "bytes.cu": "is not UTF-8 text (byte 6); convert or remove it",
    r"bad\xff.cu": "the name of a kernel must be printable UTF-8; rename the file",
    r"new\nline.cu": "the name of a kernel must be printable UTF-8; rename the file",
}


@pytest.fixture
def folder(write_kernel):
    """A good kernel, one with a quote in its name, and all that is wrong."""
    home = write_kernel("good.cu").parent
    write_kernel('quo"te.cu')
    os.mkfifo(home / "fifo.cu")
    for name, target in {"loop.cu": "loop.cu", "nowhere.cu": "gone", "zero.cu": "/dev/zero", "self": "."}.items():
        (home / name).symlink_to(target)
    (home / "huge.cu").touch()
    os.truncate(home / "huge.cu", 2**40)
    (home / "bytes.cu").write_bytes(b"/*---\n\xff")
    (home / os.fsdecode(b"bad\xff.cu")).touch()
    (home / "new\nline.cu").touch()
    return home


@pytest.fixture
def lines():
    return sorted(f"kernels/{name}: {fault}" for name, fault in WRONG.items())


def test_list_names_each_file_in_one_line_and_lists_the_others(gemmbench, folder, lines):
    said = gemmbench("list", "--device", "fake", "--kernels", folder)
    assert said.code == 2
    assert sorted(said.err.splitlines()) == sorted(f"gemmbench: {line}" for line in lines)
    assert {"good", 'quo"te'} <= {line.split()[0] for line in said.out.splitlines() if line}


def test_verify_leaves_them_out_and_says_so(gemmbench, folder, lines):
    said = gemmbench("verify", "--device", "fake", "--kernels", folder, "--sizes", "8", "--layout", "nn")
    assert said.code == 2
    assert sorted(line for line in said.err.splitlines() if "kernels/" in line) == sorted(
        f"left out: {line}" for line in lines
    )
    assert "good  " in said.out


def test_verify_of_a_good_kernel_is_silent_about_the_others(gemmbench, folder):
    said = gemmbench("verify", "good", "--device", "fake", "--kernels", folder, "--sizes", "8")
    assert said.code == 0 and "kernels/" not in said.err


def test_run_measures_the_others(gemmbench, folder):
    fast = ["--sizes", "16", "--rounds", "2", "--cache", "hot"]
    said = gemmbench("run", "good", 'quo"te', "--device", "fake", "--kernels", folder, *fast)
    assert said.code == 0, said.err


@pytest.mark.parametrize("name", WRONG)
def test_to_run_one_of_them_is_refused(refused, folder, name):
    said = refused("run", name.removesuffix(".cu"), "--device", "fake", "--kernels", folder)
    assert said == f"kernels/{name}: {WRONG[name]}"


def test_an_argument_that_is_not_utf8_is_refused(gemmbench):
    said = gemmbench("list", "--kernels", os.fsdecode(b"k\xff"))
    assert said.code == 2 and r"'k\xff' is not UTF-8; rename the file, or correct the option" in said.err


@pytest.mark.parametrize("option", ["--weights", "--kernels"])
def test_a_name_that_is_too_long_is_refused(refused, option):
    assert refused("mlp", option, "x" * 300, "--device", "fake").count("\n") == 0


@pytest.mark.parametrize("name", ["c" * 300, "/dev/zero"])
def test_a_config_that_no_file_can_be_is_unknown(refused, name):
    assert refused("run", "-c", name, "--device", "fake").startswith(f"unknown config '{name}'")
