"""Packages that Python functions need."""

from gemmbench.planning.manifests.code import packages
from gemmbench.planning.manifests.code.packages import explain_missing


def test_a_missing_package_comes_with_the_line_for_pip(monkeypatch):
    monkeypatch.setattr(packages, "find_spec", {"torch": object(), "cupy": None}.get)
    packages._is_installed.cache_clear()
    assert explain_missing(["torch"]) == ""
    assert explain_missing(["torch", "cupy"]) == "cupy is not installed: pip install cupy-cuda13x"
    packages._is_installed.cache_clear()
