"""Python functions on a GPU: those that come with the program, and hostile ones, each in its row."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from gemmbench.backends.cuda.system import probe
from tests.gpu.foreign_runs import gemmbench, run_among_healthy

FOLDER = Path(__file__).parents[1] / "foreign" / "python"
SHIPPED = ("torch_matmul", "triton_matmul")
SIZE = "35x129x133"
SHORT = 25e-6
"""Seconds. Launches of 30 us and more are no graphs."""
VERIFIED = {
    "raises": ("failed", "tests/foreign/python/raises.py:14: ValueError: no tile for 35 rows"),
    "raises_at_import": ("failed", "tests/foreign/python/raises_at_import.py:9: RuntimeError: no kernel for this"),
    "default_stream": ("failed", "launched on another stream: C changed"),
    "side_stream": ("failed", "launched on another stream: C changed"),
    "leaks": ("failed", "leaks memory of the GPU"),
    "exits": ("failed", "its process ended with exit code 3"),
    "never_returns": ("timeout", "its first calls did not finish within 20 s"),
    "writes_behind_c": ("wrong", "guard check: "),
    "writes_a": ("wrong", "changed its input A"),
    "ignores_beta": ("wrong", "beta"),
    "missing_package": ("skipped", "no_such_package is not installed: pip install no_such_package"),
    "undeclared_package": ("skipped", "Python cannot find the module no_such_package; pip install no_such_package"),
}
TIMED = {
    "raises_when_timed": ("failed", "ValueError: called too often"),
    "triton_autotuned": ("ok", ""),
    "torch_matmul": ("ok", ""),
    "triton_matmul": ("ok", ""),
}
NO_GRAPHS = {
    "waits": "waits for the GPU before it returns",
    "asks_an_event": "cannot be recorded",
    "cupy_product": "cannot be recorded",  # CuPy refuses to call cuBLAS while a stream is recorded
}
IS_SHARED = "PYTEST_XDIST_WORKER" in os.environ
"""Other tests use the GPU meanwhile, which makes some windows longer."""
LEFT_OUT = ("leaks",) if IS_SHARED else ()
"""A leak is only seen where no other process uses the GPU, and until then it takes all memory."""


def need(*packages):
    """Skip without a GPU or without one of the packages."""
    if why := probe.why_no_gpu():
        pytest.skip(why)
    for name in packages:
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


def run(folder, names, limit, *options):
    """The records of a run of these functions."""
    limits = "--max-time", "0.2", "--compile-limit", limit, "--launch-limit", "20"
    return run_among_healthy(folder, names, "--kernels", FOLDER, "--sizes", SIZE, *options, *limits)


@pytest.fixture(scope="module")
def verified(tmp_path_factory):
    """Functions that fail in their first calls or when they are verified."""
    need("torch")
    options = "--alpha", "1.5", "--beta", "-0.5", "--rounds", "2"
    names = [name for name in VERIFIED if name not in LEFT_OUT]
    return run(tmp_path_factory.mktemp("verified"), names, 20, *options)


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    """Functions that are timed, with beta 0, with which short launches become graphs."""
    need("torch", "triton", "cupy")
    return run(tmp_path_factory.mktemp("timed"), TIMED, 120, "--rounds", "10")


@pytest.fixture(scope="module")
def unrecorded(tmp_path_factory):
    """Functions that cannot be recorded, each with healthy rows beside it."""
    need("torch", "cupy")
    return {name: run(tmp_path_factory.mktemp(name), [name], 120, "--rounds", "10") for name in NO_GRAPHS}


@pytest.mark.parametrize("name", VERIFIED)
def test_a_hostile_function_ends_in_its_row_with_its_words(verified, name):
    if name in LEFT_OUT:
        pytest.skip("needs the GPU for itself: run pytest without -n")
    status, words = VERIFIED[name]
    assert verified[name]["status"] == status, verified[name].get("reason")
    assert words in verified[name]["reason"]


@pytest.mark.parametrize("name", TIMED)
def test_a_function_is_timed_or_says_why_not(timed, name):
    status, words = TIMED[name]
    assert timed[name]["status"] == status, timed[name].get("reason")
    assert words in timed[name].get("reason", "")


@pytest.mark.parametrize("name", [*SHIPPED, "triton_autotuned"])
def test_short_launches_become_graphs_behind_a_gate(timed, name):
    row = timed[name]
    if IS_SHARED and not row["graph"]:
        pytest.skip("launches were not short beside other tests: run pytest without -n")
    assert row["graph"] or min(row["samples"]) > SHORT
    assert (row.get("gated", True), row["no_graph"]) == (True, "")


@pytest.mark.parametrize("name", NO_GRAPHS)
def test_what_cannot_be_recorded_says_so_and_no_row_beside_it_is_a_graph(unrecorded, name):
    rows = unrecorded[name]
    words = [NO_GRAPHS[name], *(["a CUDA graph of two launches on each operand set would take"] if IS_SHARED else [])]
    assert rows[name]["status"] == "ok" and any(each in rows[name]["no_graph"] for each in words)
    assert not any(row.get("graph") for row in rows.values())
    assert rows[name].get("gated", True) == (name != "waits")
    assert rows[name].get("overlap_unknown", False) == (name != "waits")


def test_records_name_the_cublas_that_is_loaded(timed):
    versions = {record["libraries"]["cublas"] for record in timed.values() if record["status"] == "ok"}
    assert len(versions) == 1 and versions.pop().count(".") == 2


@pytest.mark.parametrize("name", SHIPPED)
def test_the_functions_that_come_with_the_program_are_right(tmp_path, name):
    need("torch", "triton")
    one_tile = ("--param", "BM=128") if name == "triton_matmul" else ()  # each takes seconds to compile
    sizes = "1,17,256" if one_tile else f"1,17,{SIZE},256,300x200x100"
    done = gemmbench(tmp_path, "verify", name, "--sizes", sizes, "--compile-limit", "300", *one_tile)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_tile_space_of_triton_is_right(tmp_path):
    need("torch", "triton")
    options = "--precision", "bf16", "--layout", "nn", "--sizes", SIZE, "--compile-limit", "300"
    done = gemmbench(tmp_path, "verify", "triton_matmul", *options)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_function_is_a_variant_by_its_path(tmp_path):
    need("torch")
    done = gemmbench(tmp_path, "verify", FOLDER / "waits.py", "--sizes", "64")
    assert done.returncode == 0, done.stdout + done.stderr
