"""Kernels are loaded through pycuda's SourceModule, which compiles nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemmbench.backends.cuda.driver import cubin_module_class, load_cubin
from gemmbench.backends.cuda.nvcc import NvccCompiler
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.problems import Problem

pytestmark = pytest.mark.filterwarnings("default")  # pycuda may warn as it is imported


@pytest.fixture
def plans(backend) -> list[Plan]:
    """Three plans of one launch each, in two precisions."""
    catalog, target = Catalog([data_folder("cuda")]), backend.device.target
    wanted = [("naive", "f32"), ("tiled", "f32"), ("blocktile_2d", "bf16" if target.sm >= 80 else "f16")]
    found = []
    for name, precision in wanted:
        variant = catalog.get(name)
        chosen = [(variant, list_configurations(variant, {}))]
        problem = Problem(256, 256, 256, precision_name=precision)
        found += make_plans([problem], chosen, target.kind, {target.kind: target}, lambda *_: "")
    return found


@pytest.fixture
def modules(backend, monkeypatch):
    """The SourceModules made from now on; pycuda's compiler fails where it is called."""
    import pycuda.compiler

    made, bind = [], pycuda.compiler.SourceModule._bind_module

    def note(module):
        made.append(module)
        bind(module)

    def compile(*arguments, **options):
        raise AssertionError("pycuda compiled")

    monkeypatch.setattr(pycuda.compiler.SourceModule, "_bind_module", note, raising=False)
    monkeypatch.setattr(pycuda.compiler, "compile", compile)
    monkeypatch.setattr(pycuda.compiler, "compile_plain", compile)
    return made


def test_each_loaded_plan_is_one_source_module(backend, plans, modules, monkeypatch, tmp_path):
    monkeypatch.setenv("PYCUDA_CACHE_DIR", str(tmp_path / "pycuda"))
    compiler = NvccCompiler()
    loaded = [backend.load(compiler.compile(plan), plan) for plan in plans]
    assert len(modules) == len(loaded) == 3
    assert all(isinstance(module, cubin_module_class()) for module in modules)
    assert not (tmp_path / "pycuda").exists()


def test_a_loaded_cubin_has_its_functions_and_globals(backend, tmp_path):
    import pycuda.driver

    text = '__device__ int answer = 42; extern "C" __global__ void gemm(int* out) { *out = answer; }'
    arch = str(backend.device.target.sm)
    module = load_cubin(NvccCompiler().cubin(text, arch, ("gemm",), "cuda/answer.cu").path, arch)
    _, size = module.get_global("answer")
    assert size == 4 and module.get_function("gemm").num_regs > 0
    with pytest.raises(pycuda.driver.LogicError, match="not found"):
        module.get_function("no_such_kernel")


def test_a_file_that_is_no_cubin_is_refused(backend, tmp_path):
    import pycuda.driver

    path = Path(tmp_path / "kernel.cubin")
    path.write_text("no code")
    with pytest.raises(pycuda.driver.Error):
        load_cubin(str(path), str(backend.device.target.sm))
