"""A wild kernel ends in an error of its plan, and in nothing else."""

from dataclasses import replace

import pytest

from gemmbench.backends.cpu import kernel_process
from gemmbench.backends.cpu.translation import CpuCompiler
from gemmbench.errors import BuildError, DeviceError, KernelCrash, LaunchError, LaunchTimeout, OutOfMemory

CRASHES = """
#include <signal.h>
#include <stdlib.h>
SIGNATURE {
    if (K == 1) C[(long)blockIdx.x * (1l << 24)] = 1;
    if (K == 2) C[0] = int(A[0]) / int(blockIdx.x - 1);
    if (K == 3 && blockIdx.x) abort();
    if (K == 4) raise(40);
}"""
DEEP = """
__device__ int down(int n) { volatile char room[4096]; room[n % 4096] = n; return n ? down(n - 1) + room[5] : 0; }
SIGNATURE { __syncthreads(); C[threadIdx.x] = down(100); }
"""


def test_dynamic_shared_memory_beyond_what_was_asked_for(bench):
    text = "SIGNATURE { extern __shared__ float s[]; s[K] = 1; __syncthreads(); C[0] = s[K]; }"
    assert bench.run(bench.plan(text, (1, 1, 1000), shared=4096)) == 1
    with pytest.raises(KernelCrash, match="SIGSEGV: an access to shared memory outside its 0 static and 4096 dynamic"):
        bench.run(bench.plan(text, (1, 1, 2000), shared=4096))


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("*(volatile float*)(size_t(K) - 1) = 1", "an access through a null pointer"),
        ("C[1 << 22] = 1", r"(a write \d+ bytes after the end of|an access outside A, B and) C"),
        ("C[0] = B[1 << 22]", "an access outside A, B and C"),
        ("C[-(1 << 22)] = 1", r"(a write \d+ bytes before|an access outside A, B and) C"),
        ("*(volatile float*)(1ul << 46) = 1", "an access outside its operands, shared memory or stack"),
    ],
)
def test_what_a_crash_accessed_is_named_whichever_process_it_hits(bench, statement, words):
    for block in (0, 63):
        text = f"SIGNATURE {{ if (blockIdx.x == {block}) {statement}; }}"
        with pytest.raises(KernelCrash, match=f"SIGSEGV: {words}"):
            bench.run(bench.plan(text, (1, 1, 1), grid=(64,)))


@pytest.mark.parametrize(
    ("crash", "name"),
    [(1, "SIGSEGV"), (2, "SIGFPE"), (3, "SIGABRT"), (4, "signal 40: a signal that it sent or requested")],
)
def test_a_crash_is_named_whichever_process_it_hits(bench, crash, name):
    with pytest.raises(LaunchError, match=name):
        bench.run(bench.plan(CRASHES, (1, 1, crash), grid=(64,)))


def test_too_deep_a_stack_is_a_crash_not_a_neighbour_overwritten(bench):
    with pytest.raises(LaunchError, match="SIGSEGV"):
        bench.run(bench.plan(DEEP, (1, 8, 1), block=(8,)))


def test_after_a_crash_an_executable_only_says_so(bench):
    executable = bench.bind_one(bench.plan("SIGNATURE { __trap(); }"))
    for words in ("crashed", "ended after an earlier error"):
        with pytest.raises(LaunchError, match=words):
            executable.time(1)


def test_a_kernel_that_does_not_end_is_stopped(bench):
    bench.reopen(timeout=0.3)
    with pytest.raises(LaunchTimeout, match=r"did not finish within 0\.3 s"):
        bench.run(bench.plan("SIGNATURE { for (volatile int go = 1; go;); }", grid=(4,)))


def test_a_kernel_that_takes_memory_and_does_not_end_says_how_much_it_has(bench, monkeypatch):
    monkeypatch.setattr(kernel_process, "_MUCH", 32 << 20)
    text = """
#include <signal.h>
#include <stdlib.h>
#include <string.h>
SIGNATURE {
    char* room = (char*)malloc(100 << 20);
    memset(room, 1, 100 << 20);
    C[0] = room[K];
    raise(SIGSTOP);
    C[1] = room[N];
}
"""
    executable = bench.bind_one(bench.plan(text))
    (running,) = bench.backend._running
    running._timeout = 1.0  # for the window
    with pytest.raises(
        LaunchTimeout, match=r"did not finish within 1 s, with 1\d\d MiB of memory of the 1024 MiB that"
    ):
        executable.time(1)


@pytest.mark.parametrize(
    ("geometry", "fault"),
    [
        ({"block": (1025,)}, "a block has 1025 threads, but the limit is 1024"),
        ({"shared": 232448}, "needs 4096 static and 232448 dynamic bytes of shared memory, but the limit is 232448"),
    ],
)
def test_what_a_block_may_not_have(bench, geometry, fault):
    text = "SIGNATURE { __shared__ float s[1024]; s[K] = 1; __syncthreads(); C[0] = s[N]; }"
    with pytest.raises(LaunchError, match=fault):
        bench.run(bench.plan(text, **geometry))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "\n#include <cuda_runtime.h>\n\nSIGNATURE {\n    extern __shared__\n float s[];\n    nonsense(s);\n}",
            r"^cuda/test\.cu:8:.*error: .*nonsense",
        ),
        (
            "__global__ void gemm(int M, int N, int K, float* C) {}",
            r"call of gemm:.*error: .*; without `args`, it gets \(int M, .*, TACC beta, TC\* C\)$",
        ),
        ("__global__ void other() {}", r"^no kernel gemm in cuda/test.cu; it has other; correct `symbol`"),
    ],
)
def test_the_compiler_names_the_file_and_the_line_or_the_kernel_that_is_missing(bench, text, error):
    with pytest.raises(BuildError, match=error):
        bench.compiler.compile(bench.plan(text))


def test_no_compiler(monkeypatch, bench):
    plan = bench.plan("SIGNATURE {}")
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(DeviceError, match="no-such-compiler"):
        CpuCompiler().compile(plan)
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(DeviceError, match=r"apt-get install g\+\+"):
        CpuCompiler().compile(plan)


def test_too_much_memory(bench):
    with pytest.raises(OutOfMemory, match="cannot allocate 1073741824 MiB"):
        bench.backend.allocate(1 << 50)


def test_what_a_kernel_prints_is_not_taken_for_an_answer(bench, capfd):
    """Nor does it reach the terminal."""
    bench.reopen(timeout=60)
    assert bench.run(bench.plan('SIGNATURE { printf("seconds 3\\n"); C[0] = 5; }')) == 5
    (summary,) = bench.backend.take_printed().values()
    assert summary == "printed 1 line: seconds 3" and not bench.backend.take_printed()
    assert capfd.readouterr() == ("", "")


def test_what_a_kernel_prints_is_one_escaped_line_of_a_known_length(bench, capfd):
    loop = 'for (int i = 0; i < 5000; ++i) printf("::add-mask::\\x1b]0;x\\a %0500d\\n", i);'
    bench.reopen(timeout=60)
    assert bench.run(bench.plan(f"SIGNATURE {{ {loop} C[0] = 5; }}")) == 5
    (summary,) = bench.backend.take_printed().values()
    assert summary.startswith(r"printed 5000 lines, the first: ::add-mask::\x1b]0;x\x07 000")
    assert summary.isprintable() and len(summary) < 300
    assert capfd.readouterr() == ("", "")


def test_what_the_linker_says_is_the_reason_and_not_that_it_failed(bench, monkeypatch, tmp_path):
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path))
    (tmp_path / "damaged.o").write_bytes(b"\x7fELF")
    monkeypatch.setattr(CpuCompiler, "_compile_runtime", lambda self, recipe: str(tmp_path / "damaged.o"))
    with pytest.raises(BuildError, match=r"runtime\.o: file not recognized") as caught:
        CpuCompiler().compile(bench.plan("SIGNATURE { C[0] = 1; }"))
    assert "collect2" not in str(caught.value) and "include" not in str(caught.value)


def test_a_kernel_without_the_arguments_that_its_manifest_asks_for_is_told_all_of_them(bench):
    plan = bench.plan("SIGNATURE {}")
    plan = replace(plan, variant=replace(plan.variant, epilogue=("bias", "relu"), kinds=("one", "separate_c")))
    with pytest.raises(BuildError, match=r"TC\* C, const TC\* bias, TC\* D\)$"):
        bench.compiler.compile(plan)
