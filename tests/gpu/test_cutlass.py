"""CUTLASS as a peer on a GPU, where its headers are installed. Compiling takes a minute or two the first time."""

import json
import subprocess
import sys

import pytest

from gemmbench.backends.cuda.system import probe
from gemmbench.backends.sources import find_header_folder


@pytest.fixture
def run(tmp_path):
    """The records of a run of a peer."""
    if why := probe.why_no_gpu():
        pytest.skip(why)
    if find_header_folder("cutlass") is None:
        pytest.skip("the headers of CUTLASS are missing: pip install --no-deps nvidia-cutlass")

    def run(name, *options):
        command = [sys.executable, "-m", "gemmbench", "run", name, "cublas", "--device", "cuda", *options]
        command += ["--compile-limit", "500", "--max-time", "0.5", "--rounds", "10"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=580)
        (file,) = (tmp_path / "results").glob("*.jsonl")
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


def test_tensor_cores_in_turns_with_and_without_clusters(run):
    if not is_hopper():
        pytest.skip("needs compute capability 9.0")
    params = "--param", "PINGPONG=1", "--param", "BN=128", "--param", "CLUSTER_M=2,1"
    rows = run("cutlass_sm90", "--precision", "bf16", "--sizes", "1000x1208x520", *params)
    assert {row["config"]["CLUSTER_M"] for row in rows} == {1, 2}


@pytest.mark.parametrize("layout", ["nn", "nt"])
def test_tensor_cores_with_their_default_tile(run, layout):
    if not is_hopper():
        pytest.skip("needs compute capability 9.0")
    options = "--precision", "bf16", "--sizes", "4096", "--layout", layout, "--alpha", "1.5", "--beta", "-0.5"
    (row,) = run("cutlass_sm90", *options)
    assert min(row["samples"]) < 1e-3 and row["gated"]
