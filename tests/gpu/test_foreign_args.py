"""Arguments of other people's kernels on a GPU: column-major in every layout, scalars in device memory, all types."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gemmbench.backends.cuda.system import probe

KERNELS = Path(__file__).parents[1] / "foreign" / "kernels"


@pytest.fixture
def verify(tmp_path):
    """`gemmbench verify` on the GPU; returns what it printed, and fails if a row is not right."""
    if why := probe.why_no_gpu():
        pytest.skip(why)

    def verified(*arguments):
        command = [sys.executable, "-m", "gemmbench", "verify", *arguments, "--device", "cuda"]
        environment = {**os.environ, "GEMMBENCH_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            command, cwd=KERNELS, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return verified


def test_column_major_matrices_with_leading_dimensions_and_scalars_by_pointer(verify):
    assert " 0 " in verify("./column.yaml", "--all")


def test_a_layout_of_a_column_major_kernel_is_its_own(verify):
    verify("./column_nt.yaml")


def test_a_template_of_two_types_in_every_configuration(verify):
    verify("./template.yaml", "--all")


def test_counts_of_elements_constants_and_null(verify):
    verify("./product.yaml")


def test_a_kernel_that_reads_c(verify):
    verify("./scaled.yaml")


def test_a_path_with_local_headers(verify):
    verify("./own.cu")


def test_a_graph_of_a_kernel_with_arguments_of_its_own(tmp_path):
    if why := probe.why_no_gpu():
        pytest.skip(why)
    command = [sys.executable, "-m", "gemmbench", "compare", "./column.yaml", "./template.yaml", "--device", "cuda"]
    command += ["--sizes", "64", "--out", str(tmp_path), "--max-time", "0.2"]
    done = subprocess.run(command, cwd=KERNELS, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "./column.yaml" in done.stdout and "./template.yaml" in done.stdout
