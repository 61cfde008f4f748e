"""Which kernels the CPU refuses, and why."""

from dataclasses import replace

import pytest

from gemmbench.backends.cpu.support import explain_unknown, find_unsupported, has_barriers, why_unsuitable
from gemmbench.planning.cpp.items import Source
from gemmbench.planning.cpp.reach import find_reached
from gemmbench.planning.manifests.variant import Code, Variant

KERNEL = Variant("k", "", 0, "kernel", ("cuda", "cpu"), ("f32",), ("nn",))


def judge(text):
    source = Source(f'# 1 "folder/file.cu"\n{text}')
    return find_unsupported(source, find_reached(source, ["mm"]))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('asm volatile("cp.async.wait_all;");', "uses inline PTX (file.cu:2), which the CPU cannot execute"),
        ("nvcuda::wmma::fragment<int> f;", "uses tensor cores (file.cu:2)"),
        ("auto block = cooperative_groups::this_thread_block();", "uses cooperative groups (file.cu:2)"),
        ("CUtensorMap* maps;", "uses tensor maps (file.cu:2)"),
        ("cuda::barrier<cuda::thread_scope_block> b;", "uses asynchronous copies or barriers (file.cu:2)"),
        ("__pipeline_commit();", "uses asynchronous copies or barriers (file.cu:2)"),
        ("__nv_fp4_e2m1 x;", "uses 4-bit or 6-bit floating point (file.cu:2)"),
        ("other<<<1, 1>>>();", "launches a kernel from a kernel (file.cu:2)"),
        ("float x = tex2D<float>(t, 1, 2);", "reads a texture (file.cu:2)"),
        ("cub::BlockReduce<float, 32> r;", "uses CUB (file.cu:2)"),
        ("curandState s;", "uses cuRAND (file.cu:2)"),
    ],
)
def test_reasons_name_the_construct_and_the_line_of_its_use(body, reason):
    assert judge(f"__global__ void mm() {{\n{body}\n}}").startswith(reason)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("__global__ __cluster_dims__(2, 1, 1) void mm() {}", "uses thread block clusters (file.cu:1)"),
        ("__device__ unsigned n; __global__ void mm() { n = 1; }", "in the __device__ variable n (file.cu:1)"),
        (
            "static __device__ __align__(16) float p[4] = {};\n__global__ void mm() { p[0] = 1; }",
            "keeps state in the __device__ variable p (file.cu:1), which the worker processes of the CPU do not share",
        ),
        (
            "namespace cg = cooperative_groups;\n__global__ void mm() { cg::sync(); }",
            "uses cooperative groups (file.cu:2)",
        ),
        (
            '__device__ void help() {\nasm("trap;"); }\n__global__ void mm() { help(); }',
            "uses inline PTX (file.cu:2)",
        ),
    ],
)
def test_what_a_kernel_reaches_counts(text, reason):
    assert reason in judge(text)


@pytest.mark.parametrize(
    "text",
    [
        '__device__ void help() { asm("trap;"); }',
        '__global__ void other() { asm("trap;"); nvcuda::f(); }',
        "namespace cg = cooperative_groups; auto grid = cg::this_grid();",
        "__device__ unsigned counter;",
        "void launch() { mm<<<1, 1>>>(); }",
        "texture<float> t; CUtensorMap map;",
    ],
)
def test_what_a_kernel_does_not_reach_is_no_reason(text):
    assert judge(f"{text} __global__ void mm() {{}}") == ""


@pytest.mark.parametrize(
    "body",
    [
        'const char* name = "asm // wmma";',
        "int plasma, asm_free, cluster_size;",
        "const int x = table[0] + half_of;",
        "use(wmma());",
    ],
)
def test_what_is_no_reason(body):
    before = "__device__ constexpr int table[2] = {1, 2}; __device__ const float half_of = 0.5f; __device__ int wmma();"
    assert judge(f"{before} __global__ void mm() {{ {body} }}") == ""


def test_what_the_toolkit_has_and_the_prelude_lacks_is_a_reason():
    error = "folder/file.cu:4:9: error: '{}' was not declared in this scope; did you mean 'x'?"
    assert explain_unknown(error.format("__fadd_ru")) == (
        "uses __fadd_ru (file.cu:4), which the CPU device does not have"
    )
    assert explain_unknown(error.format("hexp2"))
    for name in (
        "my_function",
        "__syncthread",
        "__shfl_dwon_sync",
        "half_tile",
        "make_tile",
        "atomicadd",
        "cudart_tile",
    ):
        assert explain_unknown(error.format(name)) == "", name
    assert explain_unknown("file.cu:4:9: error: expected ';'") == ""


def test_code_for_one_architecture_is_refused_but_never_a_host_function_or_a_library():
    assert "sm_90a" in why_unsuitable(replace(KERNEL, arch=("90a",)))
    for kind in ("host", "library"):
        assert why_unsuitable(replace(KERNEL, kind=kind, arch=("90a",))) == ""


def test_the_text_of_a_kernel_for_newer_gpus_is_enough_to_refuse_it():
    ptx = 'void f() { asm("cp.async.wait_all;"); }'
    assert "sm_80 or later (min_sm)" in why_unsuitable(replace(KERNEL, min_sm=80, text=ptx))
    assert why_unsuitable(replace(KERNEL, min_sm=50, text=ptx)) == ""
    assert why_unsuitable(replace(KERNEL, min_sm=80, text="int plain;")) == ""


def test_a_header_of_a_kernel_may_need_a_gpu(tmp_path):
    (tmp_path / "mine.cuh").write_text('void wait() { asm("bar;"); }')
    text, code = '#include "mine.cuh"\n#include "absent.cuh"\n', Code(str(tmp_path / "mine.cu"))
    assert "sm_80 or later" in why_unsuitable(replace(KERNEL, min_sm=80, text=text, code=code))
    assert why_unsuitable(replace(KERNEL, min_sm=50, text=text, code=code)) == ""


def test_synchronises():
    def synchronises(text):
        return has_barriers(find_reached(Source(text), ["mm"]))

    assert synchronises("__global__ void mm() { __syncthreads(); }")
    assert synchronises("__device__ void f() { __shfl_down_sync(m, v, 1); } __global__ void mm() { f(); }")
    assert synchronises("__global__ void mm() { __ballot_sync(m, v); }")
    assert not synchronises("__device__ void f() { __syncthreads(); } __global__ void mm() { int sync; }")
