"""The hostile kernels of tests/hostile on a GPU, through the command line: each in its row, and no healthy row lost."""

import json
import os
import subprocess
import sys
from itertools import groupby

import pytest
import yaml

from gemmbench.backends.cuda.system import probe
from tests.hostile_cases import PROBLEMS, TESTS, list_cases

FOLDER, INT8, STRIDES = (TESTS / name for name in ("hostile", "hostile_int8", "hostile_strides"))
EXPECTED, OF_INT8, OF_STRIDES = (
    yaml.safe_load((folder / "expected.yaml").read_text()) for folder in (FOLDER, INT8, STRIDES)
)
CASES = {folder: list_cases(folder, "cuda") for folder in PROBLEMS}
HEALTHY, SCALED = ("naive", "tiled"), ("tiled_scales",)
VERIFIED, TIMED = ("--alpha", "1.5", "--beta", "-0.5", "--rounds", "2"), ("--rounds", "10")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The rows of all of them, run with healthy kernels among them, by name."""
    folder = open_folder(tmp_path_factory)
    timed = [name for name, wanted in EXPECTED.items() if "beta" in wanted]
    at_once, sizes = [name for name in EXPECTED if name not in timed], ("--sizes", "35x129x133")
    return run(folder, FOLDER, at_once, *sizes, *VERIFIED) | run(folder, FOLDER, timed, *sizes, *TIMED)


@pytest.fixture(scope="module")
def wrong_kinds(tmp_path_factory):
    """The rows of those that multiply many at once, apply an epilogue or have scales, by name."""
    folder, found = open_folder(tmp_path_factory), {}
    for kernels, cases in CASES.items():
        for problem, alike in groupby(sorted(cases, key=lambda case: str(case.problem)), lambda case: case.problem):
            epilogue = ("--epilogue", ",".join(problem.epilogue)) if problem.epilogue else ()
            options = ("--sizes", problem.shape.size, *epilogue, *(VERIFIED if problem.scaled else TIMED))
            options += ("--precision", problem.precision_name, "--layout", problem.layout)
            healthy = SCALED if problem.precision.scales else HEALTHY
            found |= run(folder, TESTS / kernels, [case.name for case in alike], *options, healthy=healthy)
    return found


@pytest.fixture(scope="module")
def integers(tmp_path_factory):
    """The rows of those that multiply integers."""
    options = ("--sizes", "35x29x2051", "--precision", "int8", "--rounds", "2")
    return run(open_folder(tmp_path_factory), INT8, OF_INT8, *options)


def open_folder(tmp_path_factory):
    if why := probe.why_no_gpu():
        pytest.skip(why)
    return tmp_path_factory.mktemp("hostile")


def run(folder, kernels, names, *options, healthy=HEALTHY):
    command = [sys.executable, "-m", "gemmbench", "run", *names, *healthy, "--kernels", kernels, "--device", "cuda"]
    command += [*options, "--max-time", "0.2"]
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


@pytest.mark.parametrize("case", [case for cases in CASES.values() for case in cases], ids=str)
def test_a_wrong_batch_or_epilogue_says_what_is_wrong_in_it(wrong_kinds, case):
    row = wrong_kinds[case.name]
    case.check_row(row["status"], row["diagnosis"], row["reason"])


@pytest.mark.parametrize("name", OF_INT8)
def test_wrong_integers_say_in_what_they_were_summed(integers, name):
    row, wanted = integers[name], OF_INT8[name]
    assert (row["status"], row["diagnosis"]) == ("wrong", wanted["diagnosis"]), row["reason"]
    assert wanted["words"] in row["reason"]


@pytest.fixture(scope="module")
def strides(tmp_path_factory):
    """The rows of those that take rows with padding or a D apart from C."""
    folder, found = open_folder(tmp_path_factory), {}
    scaled = ("--alpha", "1.5", "--beta", "-0.5", "--rounds", "2")
    for apart in (False, True):
        names = [name for name, wanted in OF_STRIDES.items() if wanted.get("separate_c", False) == apart]
        timed = [name for name in names if OF_STRIDES[name].get("timed") or "beta" in OF_STRIDES[name]]
        form = ("--separate-c",) if apart else ("--ld", "A+8,B+4,C+3")
        healthy = ("tiled", "blocktile_2d", "wmma", "cublaslt", *(() if apart else ("cublas",)))
        verified, sizes = [name for name in names if name not in timed], ("--sizes", "40x33x27")
        found |= run(folder, STRIDES, verified, *sizes, *form, *scaled, healthy=healthy[:2])
        found |= run(folder, STRIDES, timed, *sizes, *form, "--rounds", "10", healthy=healthy[:2])
        wide = run_healthy(folder, healthy, "136x264x72", *form)
        found |= {f"{name} {apart}": row for name, row in wide.items()}
    return found


def run_healthy(folder, names, sizes, *options):
    """The rows of kernels that are right, in a precision of tensor cores."""
    command = [sys.executable, "-m", "gemmbench", "run", *names, "--device", "cuda", "--sizes", sizes, *options]
    command += ["--precision", "bf16", "--layout", "nn,tt", "--beta", "-0.5", "--max-time", "0.2"]
    command += ["--baseline", "cublaslt"]
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


@pytest.mark.parametrize("steps", [[], ["bias", "relu"]])
def test_verify_finds_what_kernels_do_to_special_values(tmp_path, steps):
    if why := probe.why_no_gpu():
        pytest.skip(why)
    folder = TESTS / "hostile_values"
    written = yaml.safe_load((folder / "expected.yaml").read_text())
    expected = {name: wanted for name, wanted in written.items() if wanted.get("epilogue", []) == steps}
    command = [sys.executable, "-m", "gemmbench", "verify", *expected, *HEALTHY, "--kernels", folder]
    command += ["--device", "cuda", "--sizes", "35x129x133", "--layout", "nn", "--precision", "f32"]
    command += ["--epilogue", ",".join(steps)] if steps else []
    wide = {**os.environ, "COLUMNS": "500"}
    done = subprocess.run(command, cwd=tmp_path, env=wide, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert len(expected) > 1
    for name, wanted in expected.items():
        (line,) = (line for line in lines if line.startswith(f"{name}: wrong at "))
        assert f": {wanted['rule']} check: " in line and wanted["words"] in line
    assert not any(line.startswith(f"{name}: wrong at ") for name in HEALTHY for line in lines)
