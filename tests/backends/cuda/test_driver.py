"""Loading cubins through stubs for the parts of pycuda that it uses, and CUDA's failures in plain words."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from gemmbench.backends.cuda.driver import cubin_module_class, load_cubin, to_plan_error, translate_errors
from gemmbench.errors import DeviceLost, LaunchError, LaunchTimeout, NotOffered, OutOfMemory


class SourceModule:
    """As in pycuda 2026.1, where it compiles when it is made."""

    def __init__(self, source, *arguments, **options):
        raise AssertionError("pycuda compiled")

    def _check_arch(self, arch):
        self.checked = arch

    def _bind_module(self):
        self.get_global = self.module.get_global
        self.get_texref = self.module.get_texref

    def get_function(self, name):
        return self.module.get_function(name)


@pytest.fixture
def loaded(stub_pycuda, monkeypatch):
    """The cubins that pycuda loaded."""
    files = []

    def module_from_file(path):
        files.append(path)
        names = ("get_function", "get_global", "get_texref")
        return SimpleNamespace(**{name: lambda symbol, name=name: f"{name} {symbol}" for name in names})

    stub_pycuda(module_from_file=module_from_file)
    monkeypatch.setitem(sys.modules, "pycuda.compiler", SimpleNamespace(SourceModule=SourceModule))
    cubin_module_class.cache_clear()
    yield files
    cubin_module_class.cache_clear()


def test_a_cubin_is_a_source_module_that_pycuda_did_not_compile(loaded):
    module = load_cubin("kernel.cubin", "90a")
    assert isinstance(module, SourceModule) and loaded == ["kernel.cubin"]
    assert module.checked == "sm_90a"
    assert (module.get_function("gemm"), module.get_global("table")) == ("get_function gemm", "get_global table")


def test_without_pycuda_every_module_of_the_back_end_can_be_imported():
    code = (
        "import sys, pkgutil, importlib; sys.modules.update(dict.fromkeys(['pycuda', 'nvmath', 'cuda', 'pynvml']));"
        " import gemmbench.backends.cuda as package;"
        " names = [each.name for each in pkgutil.walk_packages(package.__path__, 'gemmbench.backends.cuda.')];"
        " print(len([importlib.import_module(name) for name in names]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 20


ILLEGAL = "cuStreamSynchronize failed: an illegal memory access was encountered"


@pytest.mark.parametrize(
    ("said", "kind", "part"),
    [
        (ILLEGAL, DeviceLost, "CUDA_ERROR_ILLEGAL_ADDRESS: a thread accessed memory outside the operands;"),
        ("cuEventSynchronize failed: misaligned address", DeviceLost, "CUDA_ERROR_MISALIGNED_ADDRESS"),
        ("cuLaunchKernel failed: too many resources requested for launch", LaunchError, "64 registers"),
        ("cuLaunchKernel failed: invalid argument", LaunchError, "CUDA_ERROR_INVALID_VALUE: grid, block"),
        ("cuModuleGetFunction failed: named symbol not found", LaunchError, "CUDA_ERROR_NOT_FOUND"),
        ("cuStreamSynchronize failed: the launch timed out and was terminated", LaunchTimeout, "watchdog"),
        ("cuMemAlloc failed: out of memory", OutOfMemory, "out of memory"),
        ("cuStreamSynchronize failed: device-side assert triggered", DeviceLost, "CUDA_ERROR_ASSERT"),
        ("CUDA error; Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.", LaunchError, "CUDA error"),
        ("CUBLAS_STATUS_NOT_SUPPORTED (15)", NotOffered, "NOT_SUPPORTED"),
        ("cuSomething failed: never heard of", LaunchError, "never heard of"),
    ],
)
def test_each_error_of_cuda_becomes_the_error_that_fits(said, kind, part):
    error = to_plan_error(RuntimeError(said), "gemm: grid 1x1x1, 1024 threads a block, 64 registers a thread")
    assert type(error) is kind
    assert part in str(error) and "grid 1x1x1" in str(error)


def test_only_the_kinds_asked_for_are_translated():
    with (
        pytest.raises(LaunchError, match=r"illegal memory access was encountered \[gemm\]"),
        translate_errors((OSError,), "gemm"),
    ):
        raise OSError(ILLEGAL)
    with pytest.raises(KeyError), translate_errors((OSError,)):
        raise KeyError
