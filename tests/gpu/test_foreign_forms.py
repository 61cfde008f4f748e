"""The kernels of tests/foreign/kernels on a GPU, through the command line: each in its row, and no healthy row lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from gemmbench.backends.cuda.system import probe

FOLDER = Path(__file__).parents[1] / "foreign"
EXPECTED = yaml.safe_load((FOLDER / "expected.yaml").read_text())
ROWS = {name: {**row, **row.get("cuda", {})} for name, row in EXPECTED.items() if row["status"] != "refused"}
HEALTHY = "naive"
ONE_LAYOUT = {"column_nt": "tn"}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The rows of all of them, measured together with a healthy kernel, by name."""
    if why := probe.why_no_gpu():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("foreign")
    others = [name for name in ROWS if name not in ONE_LAYOUT]
    found = run(folder, [*others, HEALTHY], "nn", expected=1)
    for name, layout in ONE_LAYOUT.items():
        found |= {name: run(folder, [name], layout, expected=0)[name]}
    return found


def run(folder, names, layout, expected):
    command = [sys.executable, "-m", "gemmbench", "run", *names, "--kernels", FOLDER / "kernels", "--device", "cuda"]
    command += ["--sizes", "35x53x37", "--layout", layout, "--max-time", "0.2", "--rounds", "10"]
    command += ["--export-json", "it.json"]
    environment = {**os.environ, "GEMMBENCH_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == expected, done.stderr
    return {row["variant"]: row for row in json.loads((folder / "it.json").read_text())["rows"]}


@pytest.mark.parametrize("name", ROWS)
def test_each_kernel_ends_in_its_row(rows, name):
    row, wanted = rows[name], ROWS[name]
    assert row["status"] == wanted["status"], row["reason"]
    assert wanted.get("words", "") in row["reason"]
    assert row["diagnosis"] == wanted.get("diagnosis", "")


def test_a_healthy_kernel_keeps_its_row(rows):
    assert rows[HEALTHY]["status"] == "ok" and rows[HEALTHY]["time_s"] > 0


def test_the_row_of_a_kernel_that_reads_c_says_so(rows):
    assert "R" in rows["scaled"]["flags"] and "R" not in rows["template"]["flags"]
