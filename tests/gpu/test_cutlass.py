"""CUTLASS as a peer on a GPU, where its headers are installed. Compiling takes a minute or two."""

import json
import os
import subprocess
import sys

import pytest

from gemmbench.backends.cuda.system import probe
from gemmbench.backends.header_packages import find_header_folder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The records of a run of a peer; all runs share what is compiled."""
    if why := probe.why_no_gpu():
        pytest.skip(why)
    if find_header_folder("cutlass") is None:
        pytest.skip("the headers of CUTLASS are missing: pip install --no-deps nvidia-cutlass")
    cache = tmp_path_factory.mktemp("cache")

    def run(name, *options):
        folder = tmp_path_factory.mktemp(name)
        command = [sys.executable, "-m", "gemmbench", "run", name, "cublas", "--device", "cuda", *options]
        command += ["--compile-limit", "500", "--max-time", "0.5", "--rounds", "10"]
        environment = {**os.environ, "GEMMBENCH_CACHE_DIR": str(cache)}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=580)
        (file,) = (folder / "results").glob("*.jsonl")
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        records = [row for row in rows if row["row"] == "record" and row["variant"] == name]
        assert records and {row["status"] for row in records} == {"ok"}, done.stderr
        return records

    return run


def is_hopper():
    seen = probe.find_gpu(0)
    return seen is not None and seen.sm == 90


@pytest.mark.parametrize("layout", ["nn", "tn"])
@pytest.mark.parametrize("scalars", [(), ("--alpha", "1.5", "--beta", "-0.5")])
def test_cuda_cores_at_sizes_that_no_tile_divides(run, layout, scalars):
    (row,) = run("cutlass_simt", "--sizes", "1023x1025x259", "--layout", layout, *scalars)
    assert row["registers"] > 100


def test_cuda_cores_come_near_cublas(run):
    (row,) = run("cutlass_simt", "--sizes", "4096")
    assert min(row["samples"]) > 0 and row["gated"]


@pytest.mark.parametrize("layout", ["nn", "nt"])
def test_tensor_cores_cooperative_and_in_turns(run, layout):
    if not is_hopper():
        pytest.skip("needs compute capability 9.0")
    params = "--param", "PINGPONG=0,1", "--param", "BN=128", "--param", "CLUSTER_M=2,1"
    rows = run("cutlass_sm90", "--precision", "bf16", "--sizes", "1000x1208x520", "--layout", layout, *params)
    assert {(row["config"]["PINGPONG"], row["config"]["CLUSTER_M"]) for row in rows} == {(0, 2), (0, 1), (1, 2), (1, 1)}


def test_tensor_cores_with_their_default_tile(run):
    if not is_hopper():
        pytest.skip("needs compute capability 9.0")
    (row,) = run("cutlass_sm90", "--precision", "bf16", "--sizes", "4096", "--alpha", "1.5", "--beta", "-0.5")
    assert min(row["samples"]) < 1e-3 and row["gated"]
