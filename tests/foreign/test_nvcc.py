"""The same kernels through nvcc, which needs no GPU."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from gemmbench.backends.sources import why_no_headers
from gemmbench.errors import BuildError
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Plan, Target
from gemmbench.planning.problems import Problem

FOLDER = Path(__file__).parent
EXPECTED = yaml.safe_load((FOLDER / "expected.yaml").read_text())
COMPILING = [name for name, row in EXPECTED.items() if row["status"] in ("ok", "wrong")]
FAILING = [name for name, row in EXPECTED.items() if row["status"] == "failed"]
GPU = Target("cuda", 90, 132, 227 << 10, 50 << 20, 80 << 30)


def plan_default(variant, precision="f32"):
    configs = list_configurations(variant, {})[:1]
    problem = Problem(35, 53, 37, variant.layouts[0], precision)
    (plan,) = make_plans([problem], [(variant, configs)], "cuda", {"cuda": GPU}, lambda variant, _: "")
    assert isinstance(plan, Plan)
    return plan


@pytest.mark.parametrize("name", COMPILING)
def test_code_of_other_people_compiles_and_its_kernel_is_found(warm_compiler, read, name):
    plan = plan_default(read(name))
    build = warm_compiler.compile(plan).build
    symbols = build.symbols or plan.symbols
    assert build.registers > 0 and plan.symbols[-1].partition("<")[0].rpartition("::")[2] in symbols[-1]


@pytest.mark.parametrize("name", FAILING)
def test_a_fault_names_its_place_and_what_to_do(warm_compiler, read, name):
    with pytest.raises(BuildError) as failed:
        warm_compiler.compile(plan_default(read(name)))
    assert EXPECTED[name]["words"] in str(failed.value)
    assert "gemmbench-run-" not in str(failed.value), "messages name the files as they were written"


def test_the_kernel_of_the_plan_is_taken_among_other_instantiations(warm_compiler, read):
    plans = [plan_default(read("template"), precision) for precision in ("f32", "f64")]
    names = [warm_compiler.compile(plan).build.symbols for plan in plans]
    assert names[0] != names[1] and "Li8ELi16ELi8EfE" in names[0][0] and "Li8ELi16ELi8EdE" in names[1][0]


def test_a_change_of_any_header_is_noticed_also_of_one_that_a_changed_header_includes(compiler, tmp_path):
    kernels = tmp_path / "kernels"
    shutil.copytree(FOLDER / "kernels", kernels)
    plan = plan_default(read_variant(kernels / "template.yaml"))
    key = compiler.compile(plan).key
    assert compiler.compile(plan).build.cached
    for header in ("code/bounds.cuh", "headers/rows.cuh", "code/tiled.cuh"):
        before = (kernels / header).read_text()
        (kernels / header).write_text(before + "\n// changed\n")
        assert not compiler.is_compiled(plan_default(read_variant(kernels / "template.yaml"))), header
        (kernels / header).write_text(before)
        assert compiler.is_compiled(plan), header
    (kernels / "code" / "new.cuh").write_text("// first\n")
    header = kernels / "code" / "bounds.cuh"
    header.write_text('#include "new.cuh"\n' + header.read_text())
    again = compiler.compile(plan)
    assert again.key != key and not again.build.cached and compiler.is_compiled(plan)
    (kernels / "code" / "new.cuh").write_text("// second\n")
    assert not compiler.is_compiled(plan)


@pytest.mark.parametrize(
    ("name", "flags"), [("template", ["--expt-relaxed-constexpr", "-maxrregcount=64"]), ("column", []), ("own", [])]
)
def test_the_stand_alone_text_is_accepted_by_plain_nvcc_and_names_its_flags(warm_compiler, read, tmp_path, name, flags):
    text = warm_compiler.text(plan_default(read(name)))
    assert '#include "' not in text and "pragma once" not in text
    (tmp_path / "kernel.cu").write_text(text)
    command = [warm_compiler.path, "-cubin", "-arch=sm_90", "-o", "kernel.cubin", "kernel.cu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first = text.partition("\n")[0]
    assert first.startswith("// nvcc -cubin ") and all(flag in first for flag in flags)


def test_a_missing_package_with_headers_is_explained(tmp_path, monkeypatch):
    manifest = tmp_path / "kernel.yaml"
    (tmp_path / "kernel.cu").write_text("__global__ void k(int M, float* A, float* B, float* C) {}\n")
    manifest.write_text(
        "summary: s\norder: 1\nfile: kernel.cu\ninclude: [cutlass]\nprecisions: [f32]\nlayouts: [nn]\n"
        "symbol: k\nargs: [M, A, B, C]\ngrid: [1]\nblock: [1]\n"
    )
    monkeypatch.setattr("gemmbench.backends.sources.find_spec", lambda name: None)
    reason = why_no_headers(read_variant(manifest))
    assert reason == "needs the headers of cutlass, which are not installed: pip install --no-deps nvidia-cutlass"
