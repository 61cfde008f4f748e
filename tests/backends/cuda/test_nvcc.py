"""The compiler, run for real where there is one; what ptxas -v prints; mangled names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gemmbench.analysis import toolkit
from gemmbench.backends.base import Build
from gemmbench.backends.cuda import backend, nvcc
from gemmbench.backends.cuda.library_variants import CUBLAS
from gemmbench.backends.cuda.nvcc import find_names, list_own
from gemmbench.errors import BuildError, DeviceError
from gemmbench.planning.plans.plan import Config, Plan
from gemmbench.planning.problems import Problem

TAGS = (
    "_Z16gemmbench_kernelILi0EXadL_ZN2ns5sgemmILi64ELi32EfEEviiPT1_PKS2_S5_fEEEvv",
    "_Z16gemmbench_kernelILi1EXadL_Z5plainPfS0_EEEvv",
)
KERNELS = (
    *TAGS,
    "_ZN2ns5sgemmILi1ELi2EfEEviiPT1_PKS1_S4_f",
    "_ZN2ns5sgemmILi64ELi32EfEEviiPT1_PKS1_S4_f",
    "_Z5plainPfS_",
    "_Z5plainPfS_i",
    "gemm",
)


@pytest.mark.parametrize(
    ("symbols", "kernels", "names"),
    [
        (("ns::sgemm<64, 32, float>", "plain"), KERNELS, (KERNELS[3], "_Z5plainPfS_")),
        (("gemm",), KERNELS, ("gemm",)),
        (("other",), KERNELS[2:], None),
        (("ns::sgemm<8, 8, float>",), KERNELS[2:], None),
    ],
)
def test_each_symbol_has_the_name_that_its_tag_carries(symbols, kernels, names):
    assert find_names(symbols, kernels) == names


def test_kernels_that_carry_names_are_not_listed():
    assert list_own(KERNELS) == list(KERNELS[2:])


SIGNATURE = (
    'extern "C" __global__ void gemm(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C)'
)
REVERSE = f"""#include <cuda_fp16.h>
{SIGNATURE}
{{
    __shared__ float tile[2 * T];
    tile[threadIdx.x] = A[threadIdx.x];
    __syncthreads();
    C[threadIdx.x] = tile[2 * T - 1 - threadIdx.x];
}}
{SIGNATURE.replace("gemm", "turn")} {{}}
"""


def test_a_cubin_with_the_build_facts_of_the_kernel_comes_from_the_cache_for_other_launches_too(
    compiler, make_text_plan
):
    plan = make_text_plan(REVERSE)
    made = compiler.compile(plan)
    assert Path(made.path).read_bytes()[:4] == b"\x7fELF"
    assert 0 < made.build.registers < 64
    assert (made.build.shared, made.build.spills, made.build.symbols) == (128, 0, ())
    assert made.build.seconds > 0 and not made.build.cached
    for launches in (plan.launches, (("turn", plan.geometry), *plan.launches)):
        again = compiler.compile(replace(plan, launches=launches))
        assert (again.key, again.path, again.build.registers) == (made.key, made.path, made.build.registers)
        assert again.build.cached


@pytest.mark.parametrize(("options", "niceness"), [({}, 10), ({"niceness": 0}, 0)])
def test_compilers_give_way_to_what_drives_the_device(compiler, make_text_plan, monkeypatch, options, niceness):
    asked = []

    def refuse(*_, niceness, largest_file):
        assert largest_file
        asked.append(niceness)
        raise BuildError("not now")

    monkeypatch.setattr(nvcc, "run_limited", refuse)
    with pytest.raises(BuildError, match="not now"):
        nvcc.NvccCompiler(**options).compile(make_text_plan(REVERSE))
    assert asked == [niceness]


def test_spills_are_counted(warm_compiler, make_text_plan):
    hungry = f"""{SIGNATURE.replace("__global__", "__global__ __launch_bounds__(1024, 2)")}
{{
    float x[64];
    #pragma unroll
    for (int i = 0; i < 64; i++) x[i] = A[threadIdx.x + i * N];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < 64; i++) C[threadIdx.x + i * N] = x[i] * x[63 - i];
}}
"""
    assert warm_compiler.compile(make_text_plan(hungry)).build.spills > 0


def test_an_error_names_the_file_and_the_line(warm_compiler, make_text_plan):
    with pytest.raises(BuildError) as failed:
        warm_compiler.compile(make_text_plan(REVERSE.replace("__syncthreads();", "nonsense();")))
    message = str(failed.value)
    assert 'cuda/tiny.cu:6: error: identifier "nonsense" is undefined' in message
    assert len(message.splitlines()) <= 11
    assert "ptxas info" not in message


@pytest.mark.parametrize(
    ("text", "how", "error"),
    [
        (SIGNATURE + '{ asm volatile("bogus.f32;"); }', {}, r"(?s)^cuda/tiny\.cu does not compile:.*bogus"),
        (REVERSE, {"arch": "31"}, r"nvcc \d+\.\d+\.\d+ does not compile for sm_31; .*CUDACXX"),
        (REVERSE, {"symbol": "sgemm"}, r"no kernel 'sgemm'; kernels here: (gemm, turn|turn, gemm)"),
    ],
)
def test_an_error_of_the_assembler_or_of_what_is_asked_for_is_explained(
    warm_compiler, make_text_plan, text, how, error
):
    with pytest.raises(BuildError, match=error):
        warm_compiler.compile(make_text_plan(text, **how))


def test_the_architecture_of_wgmma_is_accepted(compiler, make_text_plan):
    hopper_only = SIGNATURE + '{ asm volatile("wgmma.fence.sync.aligned;"); }'
    assert compiler.compile(make_text_plan(hopper_only, arch="90a")).path


def test_ptx_names_the_kernel_and_the_target(warm_compiler, make_text_plan):
    text = warm_compiler.ptx(make_text_plan(REVERSE))
    assert ".visible .entry gemm(" in text and ".target sm_90" in text


def test_sass_or_what_to_install_for_it(warm_compiler, make_text_plan):
    try:
        toolkit.find_cuobjdump()
    except DeviceError as fault:
        assert "pip install nvidia-cuda-cuobjdump" in str(fault)
        return
    assert "Function : gemm" in warm_compiler.sass(make_text_plan(REVERSE))


def test_a_library_needs_no_compiler(monkeypatch):
    monkeypatch.setattr(nvcc, "find_nvcc", lambda: pytest.fail("looked for nvcc"))
    made = nvcc.NvccCompiler().compile(Plan(Problem(8, 8, 8), CUBLAS, Config(), "cuda", "", None))
    assert made.path == "" and made.key.startswith("cublas")


def test_no_nvcc_names_the_fix(monkeypatch):
    monkeypatch.delenv("CUDACXX", raising=False)
    monkeypatch.setattr(toolkit.shutil, "which", lambda *_, **__: None)
    with pytest.raises(DeviceError, match="install the CUDA toolkit, or set CUDACXX to its compiler"):
        toolkit.find_nvcc()


def test_cudacxx_comes_first_and_must_exist_and_run(monkeypatch, fake_tool, tmp_path):
    fake_tool("mine", "print('release 9.9, V9.9.1')")
    fake_tool("broken", "sys.exit(3)")
    monkeypatch.setenv("CUDACXX", str(tmp_path / "tools" / "mine"))
    assert toolkit.nvcc_version(toolkit.find_nvcc()) == "9.9.1"
    monkeypatch.setenv("CUDACXX", str(tmp_path / "gone"))
    with pytest.raises(DeviceError, match="CUDACXX is"):
        toolkit.find_nvcc()
    with pytest.raises(DeviceError, match="does not run"):
        toolkit.nvcc_version(str(tmp_path / "tools" / "broken"))


def test_helper_kernels_compile(warm_compiler):
    assert Path(backend._compile_helpers(90)).read_bytes()[:4] == b"\x7fELF"


def test_a_python_function_is_its_own_artifact_and_needs_no_nvcc(make_variant, monkeypatch):
    def plan(text):
        variant = make_variant("mine", kind="python", text=text, path="cuda/mine.py")
        return Plan(Problem(8, 8, 8), variant, Config(), "cuda", "90", None)

    monkeypatch.setattr(nvcc, "find_nvcc", lambda: pytest.fail("nvcc is not needed"))
    compiler = nvcc.NvccCompiler()
    one, same, other = (compiler.compile(plan(text)) for text in ("x = 1", "x = 1", "x = 2"))
    assert one == same and one.key != other.key and one.path == "cuda/mine.py"
    assert compiler.is_compiled(plan("x = 1"))


SAID = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'other' for 'sm_90'
ptxas info    : Function properties for other
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
ptxas info    : Compiling entry function 'gemm' for 'sm_90'
ptxas info    : Function properties for gemm
    88 bytes stack frame, 96 bytes spill stores, 104 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 88 bytes cumulative stack size, 32768 bytes smem
ptxas info    : Compile time = 1.702 ms
"""


def test_facts_are_those_of_the_kernel_asked_for():
    assert nvcc.list_kernels(SAID) == ["other", "gemm"]
    assert nvcc.read_build_facts(SAID, "gemm") == Build(registers=128, shared=32768, spills=200, stack=88)
    assert nvcc.read_build_facts(SAID, "other") == Build(registers=8, shared=0, spills=0, stack=0)
    assert nvcc.read_build_facts(SAID, "missing") is None


def test_a_complaint_starts_at_the_first_error_or_is_told_whole():
    said = """\
cuda/x.cu(2): warning #177-D: variable "unused" was declared but never referenced

cuda/x.cu(3): error: identifier "foo" is undefined
      foo();
      ^

1 error detected in the compilation of "/tmp/kernel.cu".
"""
    assert nvcc.extract_errors(said) == [
        'cuda/x.cu:3: error: identifier "foo" is undefined',
        "      foo();",
        "      ^",
    ]
    assert nvcc.extract_errors("nvcc: cannot do that\n") == ["nvcc: cannot do that"]
