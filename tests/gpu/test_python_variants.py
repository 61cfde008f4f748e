"""Python functions on a GPU: those that come with the program, and hostile ones, each in its row."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from gemmbench.backends.cuda.system import probe

FOLDER = Path(__file__).parents[1] / "foreign" / "python"
SHIPPED = ("torch_matmul", "triton_matmul")
HEALTHY = ("naive", "tiled")
SIZE = "35x129x133"
VERIFIED = {
    "raises": ("failed", "tests/foreign/python/raises.py:14: ValueError: no tile for 35 rows"),
    "raises_at_import": ("failed", "tests/foreign/python/raises_at_import.py:9: RuntimeError: no kernel for this"),
    "default_stream": ("failed", "launched on another stream: C changed"),
    "side_stream": ("failed", "launched on another stream: C changed"),
    "leaks": ("failed", "leaks memory of the GPU"),
    "exits": ("failed", "its process ended with exit code 3"),
    "never_returns": ("timeout", "its first calls did not end within 40 s"),
    "writes_behind_c": ("wrong", "guard check: "),
    "writes_a": ("wrong", "changed its input A"),
    "ignores_beta": ("wrong", "beta"),
    "missing_package": ("skipped", "no_such_package is not installed: pip install no_such_package"),
    "undeclared_package": ("skipped", "Python finds no module no_such_package; pip install no_such_package"),
}
TIMED = {
    "raises_when_timed": ("failed", "ValueError: called too often"),
    "waits": ("ok", ""),
    "asks_an_event": ("ok", ""),
    "cupy_product": ("ok", ""),
    "triton_autotuned": ("ok", ""),
    "torch_matmul": ("ok", ""),
    "triton_matmul": ("ok", ""),
}


def need(*packages):
    """Skip without a GPU or without one of the packages."""
    if why := probe.why_no_gpu():
        pytest.skip(why)
    for name in packages:
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


def gemmbench(folder, *arguments, timeout=540):
    """Run the program in a folder, with a cache of its own."""
    environment = {**os.environ, "GEMMBENCH_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, "-m", "gemmbench", *map(str, arguments), "--device", "cuda"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout)


def run(folder, names, *options, limit=40):
    """The records of a run of these functions among healthy kernels, by name."""
    limits = "--max-time", "0.2", "--compile-limit", limit, "--launch-limit", "20"
    asked = "run", *names, *HEALTHY, "--kernels", FOLDER, "--sizes", SIZE, *options, *limits
    done = gemmbench(folder, *asked)
    files = sorted((folder / "results").glob("*.jsonl"))
    assert files, done.stderr
    rows = [json.loads(line) for line in files[-1].read_text().splitlines()]
    records = {row["variant"]: row for row in rows if row["row"] == "record"}
    assert {records[name]["status"] for name in HEALTHY} == {"ok"}, done.stderr
    return records


@pytest.fixture(scope="module")
def verified(tmp_path_factory):
    """Functions that fail in their first calls or when they are verified."""
    need("torch")
    return run(tmp_path_factory.mktemp("verified"), VERIFIED, "--alpha", "1.5", "--beta", "-0.5", "--rounds", "2")


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    """Functions that are timed, with beta 0, with which short launches become graphs."""
    need("torch", "triton", "cupy")
    return run(tmp_path_factory.mktemp("timed"), TIMED, "--rounds", "10", limit=120)


@pytest.mark.parametrize("name", VERIFIED)
def test_a_hostile_function_ends_in_its_row_with_its_words(verified, name):
    status, words = VERIFIED[name]
    assert verified[name]["status"] == status, verified[name].get("reason")
    assert words in verified[name]["reason"]


@pytest.mark.parametrize("name", TIMED)
def test_a_function_is_timed_or_says_why_not(timed, name):
    status, words = TIMED[name]
    assert timed[name]["status"] == status, timed[name].get("reason")
    assert words in timed[name].get("reason", "")


@pytest.mark.parametrize("name", [*SHIPPED, "cupy_product", "triton_autotuned"])
def test_short_launches_become_graphs_behind_a_gate(timed, name):
    assert (timed[name].get("graph"), timed[name].get("gated", True), timed[name].get("no_graph", "")) == (
        True,
        True,
        "",
    )


@pytest.mark.parametrize(
    ("name", "words"), [("waits", "waits for the GPU before it returns"), ("asks_an_event", "cannot be recorded")]
)
def test_what_cannot_be_recorded_says_so_next_to_graphs(timed, name, words):
    record = timed[name]
    assert words in record["no_graph"] and record["beside_graphs"] and not record.get("graph")
    assert record.get("gated", True) == (name != "waits")


def test_records_name_the_cublas_that_is_loaded(timed):
    versions = {record["libraries"]["cublas"] for record in timed.values() if record["status"] == "ok"}
    assert len(versions) == 1 and versions.pop().count(".") == 2


@pytest.mark.parametrize("name", SHIPPED)
def test_the_functions_that_come_with_the_program_are_right(tmp_path, name):
    need("torch", "triton")
    done = gemmbench(tmp_path, "verify", name, "--sizes", f"1,17,{SIZE},256,300x200x100", "--compile-limit", "300")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_tile_space_of_triton_is_right(tmp_path):
    need("torch", "triton")
    options = "--precision", "bf16,f32", "--layout", "nn", "--sizes", SIZE, "--compile-limit", "300"
    done = gemmbench(tmp_path, "verify", "triton_matmul", *options)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_function_is_a_variant_by_its_path(tmp_path):
    need("torch")
    done = gemmbench(tmp_path, "verify", FOLDER / "waits.py", "--sizes", "64")
    assert done.returncode == 0, done.stdout + done.stderr
