"""The package, installed: a wheel holds the kernels and configs, and works from any folder."""

import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gemmbench.planning.source_tree import identify_sources
from gemmbench.report.store.reading import read_environment

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """A wheel, built without the network and unpacked."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed, so no wheel can be built offline")
    home = tmp_path_factory.mktemp("wheel")
    call = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(home)]
    subprocess.run(call, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = home.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(home / "site")
    return home / "site"


def gemmbench(site, folder, *arguments):
    """Run the unpacked package in another folder; it comes before whatever is installed."""
    place = {**os.environ, "PYTHONPATH": str(site)}
    call = [sys.executable, "-m", "gemmbench", *arguments]
    return subprocess.run(call, cwd=folder, env=place, capture_output=True, text=True)


def files(folder, *suffixes):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in suffixes}


def test_the_wheel_holds_every_kernel_and_config(unpacked):
    assert files(unpacked / "gemmbench/data/cuda", ".cu", ".cpp") == files(ROOT / "cuda", ".cu", ".cpp") != set()
    assert files(unpacked / "gemmbench/data/configs", ".yaml") == files(ROOT / "configs", ".yaml") != set()


def test_the_wheel_holds_every_module_and_helper_and_no_test(unpacked):
    kinds = (".py", ".cu", ".h", ".cpp", ".ld", ".css", ".js")
    mine = {name for name in files(ROOT / "gemmbench", *kinds) if "__pycache__" not in name}
    assert {name for name in files(unpacked / "gemmbench", *kinds) if not name.startswith("data/")} == mine
    assert {path.name for path in unpacked.iterdir() if not path.name.endswith(".dist-info")} == {"gemmbench"}


def test_the_unpacked_wheel_lists_the_same_variants_from_another_folder(unpacked, tmp_path):
    done = gemmbench(unpacked, tmp_path, "list", "--device", "fake", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    names = {row["name"] for row in json.loads(done.stdout)}
    assert {Path(name).stem for name in files(ROOT / "cuda", ".cu", ".cpp")} <= names


def test_the_unpacked_wheel_runs_a_sweep_by_name(unpacked, tmp_path):
    done = gemmbench(unpacked, tmp_path, "run", "-c", "tiles", "--device", "fake", "--sizes", "8", "--rounds", "1")
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "results").glob("*-tiles-*.jsonl"))) == 1


def test_the_unpacked_wheel_names_the_sources_that_it_was_built_from(unpacked, tmp_path):
    done = gemmbench(unpacked, tmp_path, "run", "naive", "--device", "fake", "--sizes", "8", "--rounds", "1")
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "results").glob("*.jsonl")
    header, here = read_environment(path), identify_sources()
    assert (header.tree, header.revision) == (here.tree, here.revision) and header.tree


def test_the_console_script_is_the_command_line(unpacked):
    (entry,) = unpacked.glob("*.dist-info/entry_points.txt")
    assert "gemmbench = gemmbench.cli:run_program" in entry.read_text()


def test_the_version_of_the_wheel_is_the_program_s(unpacked):
    from gemmbench import __version__

    assert (unpacked / f"gemmbench-{__version__}.dist-info").is_dir()


def test_the_wheel_holds_the_license_and_declares_it(unpacked):
    (text,) = unpacked.glob("*.dist-info/licenses/LICENSE")
    assert text.read_text() == (ROOT / "LICENSE").read_text()
    (metadata,) = unpacked.glob("*.dist-info/METADATA")
    lines = metadata.read_text().splitlines()
    assert "License-Expression: Apache-2.0" in lines
    assert "Author: the gemmbench developers" in lines
    assert not [line for line in lines if line.startswith("Classifier: License ::")]  # the expression replaces them
