"""Paths as variants, also with a git revision, whose headers are those of the revision."""

import shutil
import subprocess
from pathlib import Path

import pytest

from gemmbench.errors import UsageError
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.revisions import find_variant_at
from gemmbench.session.saved_runs import find_two_runs

KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A git checkout with the kernels, in which a header has changed since the commit."""
    shutil.copytree(KERNELS, tmp_path / "kernels")
    git = ["git", "-c", "user.name=Tester", "-c", "user.email=tester@example.org"]
    for command in (["init", "-q", "."], ["add", "-A"], ["commit", "-qm", "Add kernels"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    (tmp_path / "kernels" / "code" / "bounds.cuh").write_text("#error changed\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_revision_has_its_own_headers(checkout):
    variant = find_variant_at("HEAD:template", [Path("kernels")])
    header = Path(variant.code.file).parent / "bounds.cuh"
    assert "changed" not in header.read_text()
    assert variant.path.startswith("kernels/template.yaml@")


def test_a_path_in_a_revision_is_a_variant_if_the_revision_has_it(checkout):
    variant = find_variant_at("HEAD:./kernels/own.cu", [])
    assert (variant.name, variant.launch.symbol) == ("HEAD:./kernels/own.cu", "own")
    with pytest.raises(UsageError, match=r"^HEAD:kernels/new\.cu: no file kernels/new\.cu in revision HEAD"):
        find_variant_at("HEAD:kernels/new.cu", [])


def test_compare_takes_paths_as_variants_not_as_saved_runs(tmp_path):
    assert find_two_runs([str(KERNELS / "own.cu"), str(KERNELS / "column.yaml")], tmp_path, Catalog([])) is None
