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


def plan_default(path, precision="f32"):
    variant = read_variant(path)
    layout = variant.layouts[0]
    configs = list_configurations(variant, {})[:1]
    problem = Problem(35, 53, 37, layout, precision)
    (plan,) = make_plans([problem], [(variant, configs)], "cuda", {"cuda": GPU}, lambda variant, _: "")
    assert isinstance(plan, Plan)
    return plan


@pytest.mark.parametrize("name", COMPILING)
def test_code_of_other_people_compiles_and_its_kernel_is_found(compiler, name):
    plan = plan_default(FOLDER / "kernels" / f"{name}.yaml" if name != "own" else FOLDER / "kernels" / "own.cu")
    build = compiler.compile(plan).build
    symbols = build.symbols or plan.symbols
    assert build.registers > 0 and plan.symbols[-1].partition("<")[0].rpartition("::")[2] in symbols[-1]


@pytest.mark.parametrize("name", FAILING)
def test_a_fault_names_its_place_and_what_to_do(compiler, name):
    with pytest.raises(BuildError) as failed:
        compiler.compile(plan_default(FOLDER / "kernels" / f"{name}.yaml"))
    assert EXPECTED[name]["words"] in str(failed.value)
    assert "gemmbench-run-" not in str(failed.value), "messages name the files as they were written"


def test_the_kernel_of_the_plan_is_taken_among_other_instantiations(compiler):
    f32, f64 = (plan_default(FOLDER / "kernels" / "template.yaml", precision) for precision in ("f32", "f64"))
    names = [compiler.compile(plan).build.symbols for plan in (f32, f64)]
    assert names[0] != names[1] and "Li8ELi16ELi8EfE" in names[0][0] and "Li8ELi16ELi8EdE" in names[1][0]


def test_a_changed_header_is_compiled_again(compiler, tmp_path):
    shutil.copytree(FOLDER / "kernels", tmp_path / "kernels")
    manifest = tmp_path / "kernels" / "template.yaml"
    keys = [compiler.compile(plan_default(manifest)).key]
    assert compiler.is_compiled(plan_default(manifest))
    assert compiler.compile(plan_default(manifest)).build.cached
    for header in ("code/bounds.cuh", "headers/rows.cuh", "code/tiled.cuh"):
        changed = tmp_path / "kernels" / header
        changed.write_text(changed.read_text() + "\n// changed\n")
        plan = plan_default(manifest)
        assert not compiler.is_compiled(plan), header
        again = compiler.compile(plan)
        assert again.key not in keys and not again.build.cached
        keys.append(again.key)


def test_a_header_that_a_changed_header_includes_counts_too(compiler, tmp_path):
    shutil.copytree(FOLDER / "kernels", tmp_path / "kernels")
    manifest, header = tmp_path / "kernels" / "template.yaml", tmp_path / "kernels" / "code" / "bounds.cuh"
    compiler.compile(plan_default(manifest))
    (header.parent / "new.cuh").write_text("// first\n")
    header.write_text('#include "new.cuh"\n' + header.read_text())
    compiler.compile(plan_default(manifest))
    (header.parent / "new.cuh").write_text("// second\n")
    assert not compiler.is_compiled(plan_default(manifest))


@pytest.mark.parametrize("name", ["template.yaml", "column.yaml", "own.cu"])
def test_the_stand_alone_text_is_accepted_by_plain_nvcc(compiler, tmp_path, name):
    text = compiler.text(plan_default(FOLDER / "kernels" / name))
    assert '#include "' not in text and "pragma once" not in text
    alone = tmp_path / "alone" / "kernel.cu"
    alone.parent.mkdir()
    alone.write_text(text)
    command = [compiler.path, "-cubin", "-arch=sm_90", "-o", "kernel.cubin", alone.name]
    done = subprocess.run(command, cwd=alone.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert text.startswith("// nvcc -cubin ")


def test_flags_and_the_limit_of_registers_reach_nvcc(compiler, tmp_path):
    text = compiler.text(plan_default(FOLDER / "kernels" / "template.yaml"))
    first = text.partition("\n")[0]
    assert "--expt-relaxed-constexpr" in first and "-maxrregcount=64" in first


def test_a_missing_package_with_headers_is_explained(tmp_path, monkeypatch):
    manifest = tmp_path / "kernel.yaml"
    (tmp_path / "kernel.cu").write_text("__global__ void k(int M, float* A, float* B, float* C) {}\n")
    manifest.write_text(
        "summary: s\norder: 1\nfile: kernel.cu\ninclude: [cutlass]\nprecisions: [f32]\nlayouts: [nn]\n"
        "symbol: k\nargs: [M, A, B, C]\ngrid: [1]\nblock: [1]\n"
    )
    monkeypatch.setattr("gemmbench.backends.sources.find_spec", lambda name: None)
    reason = why_no_headers(read_variant(manifest))
    assert reason == ("needs the headers of cutlass, which are not installed: pip install --no-deps nvidia-cutlass")
