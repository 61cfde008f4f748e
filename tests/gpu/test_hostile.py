"""The hostile kernels of tests/hostile on a GPU, through the command line: each in its row, and no healthy row lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from gemmbench.backends.cuda.system import probe

FOLDER = Path(__file__).parents[1] / "hostile"
FOLDERS = tuple(FOLDER.parent / f"hostile_{name}" for name in ("many", "int8", "strides"))
MANY, INT8, STRIDES = FOLDERS
EXPECTED, OF_MANY, OF_INT8, OF_STRIDES = (
    yaml.safe_load((folder / "expected.yaml").read_text()) for folder in (FOLDER, *FOLDERS)
)
HEALTHY = ("naive", "tiled")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The rows of all of them, run with healthy kernels among them, by name."""
    return run_all(tmp_path_factory, FOLDER, EXPECTED, "35x129x133")


@pytest.fixture(scope="module")
def batches(tmp_path_factory):
    """The rows of those that multiply many at once."""
    return run_all(tmp_path_factory, MANY, OF_MANY, "7*35x21x19")


@pytest.fixture(scope="module")
def integers(tmp_path_factory):
    """The rows of those that multiply integers."""
    if why := probe.why_no_gpu():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("hostile")
    return run(folder, INT8, OF_INT8, "35x29x2051", "--precision", "int8", "--rounds", "2")


def run_all(tmp_path_factory, kernels, expected, sizes):
    if why := probe.why_no_gpu():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("hostile")
    timed = [name for name, wanted in expected.items() if "beta" in wanted]
    at_once = [name for name in expected if name not in timed]
    verified = run(folder, kernels, at_once, sizes, "--alpha", "1.5", "--beta", "-0.5", "--rounds", "2")
    return verified | run(folder, kernels, timed, sizes, "--rounds", "10")


def run(folder, kernels, names, sizes, *options, healthy=HEALTHY):
    command = [sys.executable, "-m", "gemmbench", "run", *names, *healthy, "--kernels", kernels, "--device", "cuda"]
    command += ["--sizes", sizes, *options, "--max-time", "0.2"]
    command += ["--compile-limit", "15", "--launch-limit", "5", "--export-json", "it.json"]
    environment = {**os.environ, "GEMMBENCH_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stderr
    rows = json.loads((folder / "it.json").read_text())["rows"]
    assert {row["status"] for row in rows if row["variant"] in healthy} == {"ok"}
    return {row["variant"]: row for row in rows}


@pytest.mark.parametrize("name", EXPECTED)
def test_each_kernel_ends_in_its_row_with_its_words(rows, name):
    row, wanted = rows[name], EXPECTED[name]
    assert row["status"] == wanted["status"], row["reason"]
    assert wanted["words"] in row["reason"]
    if wanted.get("diagnosis"):
        assert row["diagnosis"] == wanted["diagnosis"], row["reason"]


@pytest.mark.parametrize("name", OF_MANY)
def test_a_batch_ends_in_its_row_with_the_product_that_is_wrong(batches, name):
    row, wanted = batches[name], {**OF_MANY[name], **OF_MANY[name].get("cuda", {})}
    assert (row["status"], row["diagnosis"]) == ("wrong", wanted["diagnosis"]), row["reason"]
    assert wanted["words"] in row["reason"]


@pytest.mark.parametrize("name", OF_INT8)
def test_wrong_integers_say_in_what_they_were_summed(integers, name):
    row, wanted = integers[name], OF_INT8[name]
    assert (row["status"], row["diagnosis"]) == ("wrong", wanted["diagnosis"]), row["reason"]
    assert wanted["words"] in row["reason"]


@pytest.fixture(scope="module")
def strides(tmp_path_factory):
    """The rows of those that take rows with padding or a D apart from C."""
    if why := probe.why_no_gpu():
        pytest.skip(why)
    folder, found = tmp_path_factory.mktemp("strides"), {}
    scaled = ("--alpha", "1.5", "--beta", "-0.5", "--rounds", "2")
    for apart in (False, True):
        names = [name for name, wanted in OF_STRIDES.items() if wanted.get("separate_c", False) == apart]
        timed = [name for name in names if OF_STRIDES[name].get("timed") or "beta" in OF_STRIDES[name]]
        form = ("--separate-c",) if apart else ("--ld", "A+8,B+4,C+3")
        healthy = ("tiled", "blocktile_2d", "wmma", "cublaslt", *(() if apart else ("cublas",)))
        verified = [name for name in names if name not in timed]
        found |= run(folder, STRIDES, verified, "40x33x27", *form, *scaled, healthy=healthy[:2])
        found |= run(folder, STRIDES, timed, "40x33x27", *form, "--rounds", "10", healthy=healthy[:2])
        wide = run_healthy(folder, healthy, "136x264x72", *form)
        found |= {f"{name} {apart}": row for name, row in wide.items()}
    return found


def run_healthy(folder, names, sizes, *options):
    """The rows of kernels that are right, in a precision of tensor cores."""
    command = [sys.executable, "-m", "gemmbench", "run", *names, "--device", "cuda", "--sizes", sizes, *options]
    command += ["--precision", "bf16", "--layout", "nn,tt", "--beta", "-0.5", "--max-time", "0.2"]
    done = subprocess.run(
        [*command, "--export-json", "it.json"], cwd=folder, capture_output=True, text=True, timeout=300
    )
    rows = json.loads((folder / "it.json").read_text())["rows"]
    assert {row["status"] for row in rows} == {"ok"}, done.stdout
    return {row["variant"]: row for row in rows}


@pytest.mark.parametrize("name", OF_STRIDES)
def test_wrong_rows_or_a_wrong_d_are_named(strides, name):
    row, wanted = strides[name], OF_STRIDES[name]
    assert (row["status"], row["diagnosis"]) == ("wrong", wanted["diagnosis"]), row["reason"]
    assert wanted["words"] in row["reason"]


@pytest.mark.parametrize("name", HEALTHY)
def test_no_healthy_row_is_lost(rows, name):
    assert rows[name]["status"] == "ok" and rows[name]["time_s"] > 0


def test_verify_finds_what_kernels_do_to_special_values(tmp_path):
    if why := probe.why_no_gpu():
        pytest.skip(why)
    folder = FOLDER.parent / "hostile_values"
    expected = yaml.safe_load((folder / "expected.yaml").read_text())
    command = [sys.executable, "-m", "gemmbench", "verify", *expected, *HEALTHY, "--kernels", folder]
    command += ["--device", "cuda", "--sizes", "35x129x133", "--layout", "nn", "--precision", "f32"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    for name, wanted in expected.items():
        (line,) = (line for line in lines if line.startswith(f"{name}: wrong at "))
        assert f": {wanted['rule']} check: " in line and wanted["words"] in line
    assert not any(line.startswith(f"{name}: wrong at ") for name in HEALTHY for line in lines)
