"""Runs of foreign code among healthy kernels, through the command line."""

import json
import os
import subprocess
import sys

import pytest

from gemmbench.backends.cuda.system import probe

HEALTHY = ("naive", "tiled")


def gemmbench(folder, *arguments, cache=None):
    """Run the program in a folder, with a cache of its own there or in the folder `cache`; skip without a GPU."""
    if why := probe.why_no_gpu():
        pytest.skip(why)
    environment = {**os.environ, "GEMMBENCH_CACHE_DIR": str(cache or folder / "cache")}
    command = [sys.executable, "-m", "gemmbench", *map(str, arguments), "--device", "cuda"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=540)


def run_among_healthy(folder, names, *options, cache=None):
    """The records of a run of these variants among healthy kernels, which are right, by name."""
    done = gemmbench(folder, "run", *names, *HEALTHY, *options, cache=cache)
    files = sorted((folder / "results").glob("*.jsonl"))
    assert files, done.stderr
    rows = [json.loads(line) for line in files[-1].read_text().splitlines()]
    records = {row["variant"]: row for row in rows if row["row"] == "record"}
    assert {records[name]["status"] for name in HEALTHY} == {"ok"}, done.stderr
    return records
