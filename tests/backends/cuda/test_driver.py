"""Loading through SourceModule, with stubs for the parts of pycuda that it uses."""

import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

from gemmbench.backends.cuda.driver import cubin_module_class, load_cubin


class CudaModule:
    """As in pycuda 2026.1."""

    def _check_arch(self, arch):
        self.checked = arch

    def _bind_module(self):
        self.get_global = self.module.get_global
        self.get_texref = self.module.get_texref

    def get_function(self, name):
        return self.module.get_function(name)


class SourceModule(CudaModule):
    """As in pycuda 2026.1: it compiles when it is made."""

    def __init__(self, source, *arguments, **options):
        self._check_arch(options.get("arch"))
        self.module = sys.modules["pycuda.compiler"].compile(source)
        self._bind_module()


@pytest.fixture(autouse=True)
def pycuda(monkeypatch):
    """pycuda, whose compiler must not be called; `files` are the cubins that were loaded."""
    compiler, driver, files = ModuleType("pycuda.compiler"), ModuleType("pycuda.driver"), []

    def compile(*arguments, **options):
        raise AssertionError("pycuda compiled")

    def module_from_file(path):
        files.append(path)
        names = ("get_function", "get_global", "get_texref")
        return SimpleNamespace(**{name: lambda symbol, name=name: f"{name} {symbol}" for name in names})

    compiler.compile, compiler.SourceModule = compile, SourceModule
    driver.init, driver.Error, driver.module_from_file, driver.files = (
        lambda: None,
        RuntimeError,
        module_from_file,
        files,
    )
    for name, module in {"pycuda": ModuleType("pycuda"), "pycuda.compiler": compiler, "pycuda.driver": driver}.items():
        monkeypatch.setitem(sys.modules, name, module)
    cubin_module_class.cache_clear()
    yield driver
    cubin_module_class.cache_clear()


def test_a_cubin_is_a_source_module_that_pycuda_did_not_compile(pycuda):
    module = load_cubin("kernel.cubin", "90a")
    assert isinstance(module, SourceModule)
    assert pycuda.files == ["kernel.cubin"]
    assert module.checked == "sm_90a"


def test_its_functions_and_globals_are_those_of_the_cubin():
    module = load_cubin("kernel.cubin", "90")
    assert module.get_function("gemm") == "get_function gemm"
    assert module.get_global("table") == "get_global table"


def test_pycuda_s_own_class_would_compile():
    with pytest.raises(AssertionError, match="pycuda compiled"):
        SourceModule("text")


def test_without_pycuda_every_module_of_the_back_end_can_be_imported():
    code = (
        "import sys, pkgutil, importlib; sys.modules.update(dict.fromkeys(['pycuda', 'nvmath', 'cuda', 'pynvml']));"
        " import gemmbench.backends.cuda as package;"
        " names = [each.name for each in pkgutil.walk_packages(package.__path__, 'gemmbench.backends.cuda.')];"
        " print(len([importlib.import_module(name) for name in names]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 20
