"""Which kernels the CPU refuses, and why."""

from dataclasses import replace

import pytest

from gemmbench.backends.cpu.support import has_barriers, why_unsupported
from gemmbench.planning.manifests.variant import Variant

KERNEL = Variant("k", "", 0, "kernel", ("cuda", "cpu"), ("f32",), ("nn",))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('asm volatile("cp.async.wait_all;");', "inline PTX"),
        ("#include <mma.h>", "tensor cores"),
        ("nvcuda::wmma::fragment<int> f;", "tensor cores"),
        ("__global__ __cluster_dims__(2, 1, 1) void gemm() {}", "thread block clusters"),
        ("namespace cg = cooperative_groups;", "cooperative groups"),
        ("void gemm(const CUtensorMap* maps);", "tensor maps"),
        ("cuda::barrier<cuda::thread_scope_block> b;", "asynchronous copies or barriers"),
        ("__pipeline_commit();", "asynchronous copies or barriers"),
        ("#include <cuda_fp4.h>", "4-bit or 6-bit floating point"),
        ("__device__ unsigned counter;", "a __device__ variable"),
        ("static __device__ __align__(16) float partial[1024] = {};", "a __device__ variable"),
        ("__device__ int ticket{0};", "a __device__ variable"),
    ],
)
def test_reasons(text, reason):
    assert reason in why_unsupported(replace(KERNEL, text=text))


@pytest.mark.parametrize(
    "text",
    [
        "// asm, wmma and cuda::barrier are for later",
        "/* no\n asm */",
        'const char* name = "asm // wmma";',
        "char quote = '\\''; // asm",
        "int plasma, asm_free;",
        "template <int N = 4> __device__ __forceinline__ float4 load(const float* p = nullptr) { return {}; }",
        "__device__ constexpr int table[2] = {1, 2};",
        "__device__ const float half_of = 0.5f;",
        "#define BOTH __host__ __device__\nstruct Tile { float x; };",
        "struct V { __device__ V& operator=(const V&); __device__ bool operator==(const V&) const; };",
        'extern "C" __global__ void gemm() { __shared__ float As[4]; }',
    ],
)
def test_what_is_no_reason(text):
    assert why_unsupported(replace(KERNEL, text=text)) == ""


def test_code_for_one_architecture_is_refused_but_never_a_host_function_or_a_library():
    assert "sm_90a" in why_unsupported(replace(KERNEL, arch=("90a",)))
    for kind in ("host", "library"):
        assert why_unsupported(replace(KERNEL, kind=kind, text="asm();")) == ""


def test_synchronises():
    assert has_barriers("x; __syncthreads();")
    assert has_barriers("__shfl_down_sync(m, v, 1)")
    assert has_barriers("__ballot_sync(m, v)")
    assert not has_barriers("// __syncthreads();\nint sync;")
