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
    """The rows of one run of all of them with two healthy kernels among them, by name."""
    if why := probe.why_no_gpu():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("hostile")
    command = [sys.executable, "-m", "gemmbench", "run", *EXPECTED, *HEALTHY, "--kernels", FOLDER, "--device", "cuda"]
    command += ["--sizes", "35x129x133", "--alpha", "1.5", "--beta", "-0.5", "--rounds", "2"]
    command += ["--compile-limit", "15", "--launch-limit", "5", "--export-json", "it.json"]
    environment = {**os.environ, "GEMMBENCH_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stderr
    return {row["variant"]: row for row in json.loads((folder / "it.json").read_text())["rows"]}


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
