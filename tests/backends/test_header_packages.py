"""Headers of packages and of the toolkit."""

import pytest

from gemmbench.backends import sources
from gemmbench.backends.sources import find_header_folder
from gemmbench.errors import DeviceError


@pytest.fixture
def toolkit(tmp_path, monkeypatch):
    """The headers of a toolkit on a machine without wheels."""
    (tmp_path / "include").mkdir()
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    monkeypatch.setattr(sources, "find_nvcc", lambda: str(tmp_path / "bin" / "nvcc"))
    return tmp_path / "include"


def test_the_toolkit_has_what_no_wheel_has(toolkit):
    assert find_header_folder("cublas") is None
    (toolkit / "cublas_v2.h").write_text("")
    assert find_header_folder("cublas") == toolkit
    assert find_header_folder("cutlass") is None


def test_without_a_toolkit_there_is_nothing(toolkit, monkeypatch):
    def fail():
        raise DeviceError("no nvcc found")

    monkeypatch.setattr(sources, "find_nvcc", fail)
    assert find_header_folder("cublas") is None
