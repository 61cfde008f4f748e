"""Launchers compiled by nvcc and called from Python; they need no GPU, because they launch nothing."""

from __future__ import annotations

import ctypes

import pytest

from gemmbench.backends.cuda.launcher_code import Slot, list_arguments, pack_slots
from gemmbench.backends.cuda.launchers import LauncherLibrary
from gemmbench.errors import BuildError, LaunchError
from gemmbench.planning.problems import Problem

STANDARD = 'extern "C" int run(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C, void*, '
STANDARD += "cudaStream_t)"


def load(compiler, plan):
    call = plan.variant.call
    return LauncherLibrary(compiler.compile(plan).path, call.host, call.host_workspace)


def bind(library, plan, written=None):
    addresses = dict.fromkeys(("A", "B", "workspace", "stream"), 0)
    addresses["C"] = addresses["&double alpha"] = ctypes.addressof(written) if written is not None else 0
    return library.bind(pack_slots([each.fill(plan.problem, addresses) for each in list_arguments(plan)]))


def test_the_standard_arguments_arrive(warm_compiler, plan_launcher):
    body = (
        "{ const float all[] = {float(M), float(N), float(K), alpha, beta}; for (float x : all) *C++ = x; return 0; }"
    )
    plan, written = plan_launcher(STANDARD + body), (ctypes.c_float * 5)()
    bind(load(warm_compiler, plan), plan, written)()
    assert list(written) == [3, 4, 5, 1.5, -0.5]


def test_arguments_become_what_the_function_declares(warm_compiler, plan_launcher):
    text = """#include <cuda_fp16.h>
namespace mine {
void run(double* C, double* scalar, float* A, float* B, size_t elements, const double& beta, __half half, int* nothing,
         unsigned char rows) {
    const double all[] = {double(elements), beta, double(float(half)), double(nothing == nullptr), double(rows)};
    for (double x : all) *C++ = x;
    *C = C - 5 == scalar;
}
}
"""
    keys = 'args: [C, "&double(alpha)", A, B, long(M*K), beta, half(0.5), null, M]\n'
    plan, written = plan_launcher(text, keys, host="mine::run"), (ctypes.c_double * 6)()
    bind(load(warm_compiler, plan), plan, written)()
    assert list(written) == [15, -0.5, 0.5, 1, 3, 1]


def test_what_goes_wrong_in_the_function_is_told(warm_compiler, plan_launcher):
    text = f"""#include <stdexcept>
{STANDARD} {{
    if (M == 1) return cudaErrorInvalidConfiguration;
    if (M == 2) return -7;
    if (M == 3) throw std::runtime_error("no\\ntile fits");
    throw 1;
}}"""
    told = []
    for rows in (1, 2, 3, 4):
        plan = plan_launcher(text, problem=Problem(rows, 4, 5))
        with pytest.raises(LaunchError) as failed:
            bind(load(warm_compiler, plan), plan)()
        told.append(str(failed.value))
    assert told[0].startswith("run returned 9 instead of 0; CUDA calls that cudaErrorInvalidC")
    assert told[1] == "run returned -7 instead of 0"
    assert told[2].startswith("run threw: no tile fits")
    assert told[3].startswith("run threw: something that is not a std::exception")


@pytest.mark.parametrize("storage", ["row", "column"])
def test_a_host_function_returns_the_bytes_of_the_workspace(warm_compiler, plan_launcher, storage):
    text = f"""#include <stdexcept>
extern "C" size_t bytes(int M, int N, int K) {{
    if (M == 1) throw std::runtime_error("one row");
    return size_t(100000) * M * 100000 + 10 * N + K;
}}
{STANDARD} {{ return 0; }}"""
    plan = plan_launcher(text, f"storage: {storage}\nworkspace: {{host: bytes}}\n")
    library = load(warm_compiler, plan)
    sizes = [pack_slots([Slot(whole=size) for size in sizes]) for sizes in ((3, 4, 5), (1, 4, 5))]
    assert library.count_workspace(sizes[0]) == 30_000_000_045
    with pytest.raises(LaunchError, match=r"^bytes threw: one row$"):
        library.count_workspace(sizes[1])


@pytest.mark.parametrize(
    ("keys", "host", "body", "words"),
    [
        (
            "args: [A, B, C]\n",
            "run",
            "0",
            "takes another number of arguments than the manifest passes: it passes A, B, C to run;",
        ),
        (
            "args: [A, N, K, alpha, M, B, beta, C, null, stream]\n",
            "run",
            "0",
            "takes a number where the manifest passes an address: it passes A, 4, 5, alpha, 3, B, beta, C, null, str",
        ),
        ("", "run", "nothing", r'mine\.cu:9: error: identifier "nothing" is undefined'),
        ("", "start", "0", r"mine\.cu: the code has no host function 'start'; "),
    ],
)
def test_what_cannot_be_called_is_a_fault_of_the_manifest_or_of_a_line(
    warm_compiler, plan_launcher, keys, host, body, words
):
    plan = plan_launcher(f"\n{STANDARD} {{ return {body}; }}", keys, Problem(3, 4, 5), host)
    with pytest.raises(BuildError, match=words):
        warm_compiler.compile(plan)


def test_a_library_that_needs_another_one(warm_compiler, plan_launcher):
    plan = plan_launcher(f"void elsewhere();\n{STANDARD} {{ elsewhere(); return 0; }}")
    with pytest.raises(LaunchError, match=r"its shared library cannot be loaded: undefined symbol: .*elsewhere"):
        load(warm_compiler, plan)


def test_a_launcher_comes_from_the_cache_and_shares_nothing_with_another_configuration(compiler, plan_launcher):
    text = f"""__global__ void set(float* C) {{ *C = 1; }}
template <class T> int count_calls(int) {{ static T calls = 0; return int(++calls) + 10 * WIDTH; }}
int widen(int x) {{ return count_calls<long>(x); }}
{STANDARD} {{ if (K == 0) set<<<1, 1>>>(C); return widen(M); }}"""
    values = []
    for width in (1, 2):
        plan = plan_launcher(text, f"params: {{WIDTH: {width}}}\n")
        assert not compiler.is_compiled(plan)
        with pytest.raises(LaunchError) as failed:
            bind(load(compiler, plan), plan)()
        values.append(str(failed.value).split()[2])
    assert values == ["11", "21"]
    made = compiler.compile(plan)
    assert compiler.is_compiled(plan) and made.build.cached
    assert made.path.endswith(".so") and made.build.registers > 0, "the facts are those of its only kernel"
    assert ".entry _Z3setPf" in compiler.ptx(plan)
