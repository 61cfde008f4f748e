"""Kernels in files with code around them: what is compiled, and what the row says where that does not work."""

import pytest

from gemmbench.backends.cpu.translation import CpuCompiler
from gemmbench.backends.sources import SourceText
from gemmbench.errors import BuildError, Unsupported
from gemmbench.planning.cpp.signatures import Signatures

BODY = "SIGNATURE {{ C[0] = {value}; }}"
HOST = """#include <torch/extension.h>
#include "not_there.h"
static cublasLtHandle_t handle;
extern cudaDeviceProp prop;
#define CHECK(x) do { cudaError_t e = (x); if (e) exit(1); } while (0)
int main() { CHECK(cudaFree(0)); gemm<<<1, 1>>>(1, 1, 1); }
__device__ unsigned launches;
__global__ void other() { asm("trap;"); ++launches; }
"""


def kernel(value="5", before=""):
    return before + "\n" + BODY.format(value=value)


@pytest.mark.parametrize(
    ("before", "value"),
    [
        (HOST, "5"),
        ("#define M 16\n#define A 3\n#define gb 4\n#define alpha beta\n#undef alpha\n#undef A\n#undef M", "5"),
        ("#if defined(__CUDA_ARCH__) && __CUDACC_VER_MAJOR__ >= 12 && __CUDA_ARCH__ < 800\n#define V 5\n#endif", "V"),
        ("#include <math_constants.h>", "CUDART_INF_F > 1 ? 5 : 0"),
        ("__device__ __forceinline__ inline float five() { return 5; }", "five()"),
        ("#define FIVE(name) __device__ int name##_five() { return 5; }\nFIVE(my)", "my_five()"),
        ("__constant__ float never_set[4];", "5 + never_set[1]"),
        ("__constant__ float set[2] = {1, 5};", "set[1]"),
    ],
)
def test_what_stands_around_a_kernel_does_not_matter(bench, before, value):
    assert bench.run(bench.plan(kernel(value, before))) == 5


@pytest.mark.parametrize(
    "declared",
    [
        "extern __shared__ float s[];",
        "extern volatile __shared__ float s[];",
        "float extern __shared__ s[];",
        "extern __shared__ float s[], t[];",
        "extern __shared__ float s[16];",
        "extern __shared__ float s[] __align__(16);",
        "extern __shared__ alignas(16) float s[];",
        "struct Tile { float at; }; extern __shared__ Tile one; float* s = &one.at;",
        "DYNAMIC(float, s)",
    ],
)
def test_every_spelling_of_dynamic_shared_memory(bench, declared):
    before = "#define DYNAMIC(T, name) extern __shared__ T name[];\n"
    text = f"{before} SIGNATURE {{ {declared} static __shared__ int last; last = 2; s[0] = 3; C[0] = s[0] + last; }}"
    assert bench.run(bench.plan(text, shared=64)) == 5


@pytest.mark.parametrize(
    ("text", "fault", "words"),
    [
        (kernel("tex1D(1)"), Unsupported, r"^reads a texture \(test\.cu:3\), which the CPU cannot execute$"),
        (kernel("__fns(1, 2, 3)"), Unsupported, r"^uses __fns \(test\.cu:3\), which the CPU device does not have$"),
        (kernel("f()", "int f() { return 1; }"), BuildError, r"test\.cu:3:.* a function of the host \(test\.cu:1\)"),
        (kernel("TILE", '#include "a.h"'), BuildError, 'TILE.*left out, because not found: "a.h": give the folder'),
        ("SIGNATURE { float part[K]; C[0] = part[0]; }", BuildError, r"test\.cu:\d+:.*variable length array"),
    ],
)
def test_what_cannot_be_compiled_names_the_place(bench, text, fault, words):
    with pytest.raises(fault, match=words):
        bench.compiler.compile(bench.plan(text))


def test_code_in_the_cache_starts_no_compiler(bench, monkeypatch):
    plan = bench.plan(kernel("5 /* cached */"))
    made = bench.compiler.compile(plan)
    monkeypatch.setattr(CpuCompiler, "_run_checked", lambda *_: pytest.fail("a compiler ran"))
    assert bench.compiler.is_compiled(plan) and bench.compiler.compile(plan).path == made.path


def test_the_preprocessor_serves_other_readers(bench):
    text = "#define KERNEL(T) __global__ void mm_##T(int n, T* x)\n#include <gone.h>\nKERNEL(float) {}"
    found = bench.compiler.preprocess(SourceText((), ("#define N 3",), f'#line 1 "a.cu"\n{text}'), ["N + 1"])
    (mine,) = Signatures(found.source).kernels
    assert (mine.name, mine.place, found.words, found.missing) == ("mm_float", ("a.cu", 3), ("3 + 1",), ("<gone.h>",))


def test_the_condition_that_leaves_a_kernel_out_is_named(bench):
    text = "#ifndef GUARD_H\n#define GUARD_H\n#ifdef __CUDACC__\n#ifdef GPU\n" + kernel() + "\n#endif\n#endif\n#endif"
    with pytest.raises(BuildError) as fault:
        bench.compiler.compile(bench.plan(text))
    assert "; gemm is left out by `#ifdef GPU` (test.cu:4): say `define: {GPU: 1}`" in str(fault.value)
