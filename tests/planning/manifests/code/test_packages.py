"""Packages that Python functions need."""

from gemmbench.backends import sources
from gemmbench.backends.sources import explain_missing


def test_a_missing_package_comes_with_the_line_for_pip(monkeypatch):
    monkeypatch.setattr(sources, "find_spec", {"torch": object(), "cupy": None}.get)
    sources._is_installed.cache_clear()
    assert explain_missing(["torch"]) == ""
    assert explain_missing(["torch", "cupy"]) == "cupy is not installed: pip install cupy-cuda13x"
    sources._is_installed.cache_clear()
