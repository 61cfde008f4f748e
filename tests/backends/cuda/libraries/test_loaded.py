"""Which versions of cuBLAS are loaded: stand-ins that say their version as the libraries do."""

import ctypes
import subprocess

import pytest

from gemmbench.backends.cuda.cublas import list_loaded_versions


@pytest.fixture
def load(tmp_path):
    """Load a library of this name that has a version; returns its line of /proc/self/maps."""

    def loaded(folder, file, version):
        path = tmp_path / folder / file
        path.parent.mkdir(exist_ok=True)
        numbers = ", ".join(version.split("."))
        function = f"{file.partition('.')[0].removeprefix('lib')}GetProperty"
        code = f"static int parts[] = {{{numbers}}};"
        code += f"int {function}(int part, int* out) {{ *out = parts[part]; return 0; }}"
        subprocess.run(["gcc", "-shared", "-xc", "-", "-o", path], input=code, text=True, check=True)
        ctypes.CDLL(str(path))
        return f"7f00-7f01 r-xp 00000000 08:01 1   {path}\n"

    return loaded


def test_the_libraries_say_their_versions(load, tmp_path):
    maps = tmp_path / "maps"
    maps.write_text(load("ours", "libcublas.so.13", "13.1.0") * 3 + load("ours", "libcublasLt.so.13", "13.1.1"))
    assert list_loaded_versions(maps) == {"cublas": "13.1.0", "cublaslt": "13.1.1"}


def test_a_second_library_of_a_package_is_named_too(load, tmp_path):
    maps = tmp_path / "maps"
    maps.write_text(load("one", "libcublas.so.13", "13.1.0") + load("two", "libcublas.so.12", "12.9.1"))
    assert list_loaded_versions(maps) == {"cublas": "13.1.0, 12.9.1"}


def test_without_cublas_there_is_no_version(tmp_path):
    (tmp_path / "maps").write_text("7f00-7f01 r-xp 00000000 08:01 1   /usr/lib/libm.so.6\n")
    assert list_loaded_versions(tmp_path / "maps") == list_loaded_versions(tmp_path / "none") == {}
