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
EXPECTED = yaml.safe_load((FOLDER / "expected.yaml").read_text())
HEALTHY = ("naive", "tiled")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The rows of all of them, run with healthy kernels among them, by name."""
    if why := probe.why_no_gpu():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("hostile")
    timed = [name for name, wanted in EXPECTED.items() if "beta" in wanted]
    at_once = [name for name in EXPECTED if name not in timed]
    verified = run(folder, at_once, "--alpha", "1.5", "--beta", "-0.5", "--rounds", "2")
    return verified | run(folder, timed, "--rounds", "10")


def run(folder, names, *options):
    command = [sys.executable, "-m", "gemmbench", "run", *names, *HEALTHY, "--kernels", FOLDER, "--device", "cuda"]
    command += ["--sizes", "35x129x133", *options, "--max-time", "0.2"]
    command += ["--compile-limit", "15", "--launch-limit", "5", "--export-json", "it.json"]
    environment = {**os.environ, "GEMMBENCH_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stderr
    rows = json.loads((folder / "it.json").read_text())["rows"]
    assert {row["status"] for row in rows if row["variant"] in HEALTHY} == {"ok"}
    return {row["variant"]: row for row in rows}


@pytest.mark.parametrize("name", EXPECTED)
def test_each_kernel_ends_in_its_row_with_its_words(rows, name):
    row, wanted = rows[name], EXPECTED[name]
    assert row["status"] == wanted["status"], row["reason"]
    assert wanted["words"] in row["reason"]
    if wanted.get("diagnosis"):
        assert row["diagnosis"] == wanted["diagnosis"], row["reason"]


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
