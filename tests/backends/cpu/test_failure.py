"""A wild kernel ends in an error of its plan, and in nothing else."""

import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from gemmbench.backends.cpu.backend import CpuBackend
from gemmbench.backends.cpu.translation import CpuCompiler
from gemmbench.errors import BuildError, DeviceError, LaunchError, LaunchTimeout, OutOfMemory

CRASHES = {
    "SIGSEGV": "C[(long)blockIdx.x * (1l << 24)] = 1;",
    "SIGFPE": "C[0] = int(A[0]) / int(blockIdx.x - 1);",
    "SIGABRT": "if (blockIdx.x) abort();",
    "signal 40": "raise(40);",
}
DEEP = """
__device__ int down(int n) { volatile char room[4096]; room[n % 4096] = n; return n ? down(n - 1) + room[5] : 0; }
SIGNATURE { __syncthreads(); C[threadIdx.x] = down(100); }
"""


def test_dynamic_shared_memory_beyond_what_was_asked_for(bench):
    text = "SIGNATURE { extern __shared__ float s[]; s[K] = 1; __syncthreads(); C[0] = s[K]; }"
    assert bench.run(bench.plan(text, (1, 1, 1000), shared=4096)) == 1
    with pytest.raises(LaunchError, match="SIGSEGV"):
        bench.run(bench.plan(text, (1, 1, 2000), shared=4096))


@pytest.mark.parametrize("name", CRASHES)
def test_a_crash_is_named_whichever_process_it_hits(bench, name):
    text = "#include <signal.h>\n#include <stdlib.h>\nSIGNATURE { " + CRASHES[name] + " }"
    with pytest.raises(LaunchError, match=name):
        bench.run(bench.plan(text, grid=(64,)))


def test_too_deep_a_stack_is_a_crash_not_a_neighbour_overwritten(bench):
    with pytest.raises(LaunchError, match="SIGSEGV"):
        bench.run(bench.plan(DEEP, (1, 8, 1), block=(8,)))


def test_after_a_crash_an_executable_only_says_so(bench):
    plan = bench.plan("SIGNATURE { __trap(); }")
    one = np.zeros((1, 1), np.float32)
    executable, _ = bench.bind(plan, one, one, [one])
    for words in ("crashed", "ended after an earlier error"):
        with pytest.raises(LaunchError, match=words):
            executable.time(1)


def test_a_kernel_that_does_not_end_is_stopped(bench):
    bench.backend = CpuBackend(timeout=0.3)
    with pytest.raises(LaunchTimeout, match=r"did not end within 0\.3 s"):
        bench.run(bench.plan("SIGNATURE { for (volatile int go = 1; go;); }", grid=(4,)))
    bench.backend.close()


@pytest.mark.parametrize(
    ("geometry", "fault"),
    [
        ({"block": (1025,)}, "a block has 1025 threads, but 1024 is the limit"),
        (
            {"shared": 232448},
            "a block needs 4096 static and 232448 dynamic bytes of shared memory, but 232448 is the limit",
        ),
    ],
)
def test_what_a_block_may_not_have(bench, geometry, fault):
    text = "SIGNATURE { __shared__ float s[1024]; s[K] = 1; __syncthreads(); C[0] = s[N]; }"
    with pytest.raises(LaunchError, match=fault):
        bench.run(bench.plan(text, **geometry))


def test_the_compiler_names_the_file_and_the_line(bench):
    text = "\n#include <cuda_runtime.h>\n\nSIGNATURE {\n    extern __shared__\n float s[];\n    nonsense(s);\n}"
    with pytest.raises(BuildError, match=r"^cuda/test\.cu:8:.*error: .*nonsense"):
        bench.compiler.compile(bench.plan(text))


def test_a_kernel_of_another_name_is_a_build_error(bench):
    with pytest.raises(BuildError, match=r"^cuda/test.cu: call of gemm:.*error: .*gemm"):
        bench.compiler.compile(bench.plan("__global__ void other() {}"))


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
    text = 'SIGNATURE { printf("seconds 3\\n"); C[0] = 5; }'
    assert bench.run(bench.plan(text)) == 5
    assert capfd.readouterr() == ("", "seconds 3\n")


def test_kernel_processes_end_with_the_program(bench, opened):
    plan = bench.plan("SIGNATURE { for (volatile int go = 1; go;); }", grid=(4,))
    executable = bench.compiler.compile(plan).path
    program = f"""
        import os, signal, threading
        from gemmbench.backends.cpu.kernel_process import CpuMemory
        from gemmbench.backends.cpu.kernel_process import KernelProcess
        memory = CpuMemory(4096)
        binding = f"{{memory.file}} 4096  1  4 1 1  1 1 1  0  0 0 2  1 1 1  1 0  0 0 0  4 4 4  1 0 0 0 0"
        process = KernelProcess({executable!r}, binding, [memory.file], 60)
        print(process._child.pid, flush=True)
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGKILL)).start()
        process.time(0, 1)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    kernel = Path("/proc", done.stdout.strip())
    deadline = time.monotonic() + 5
    assert done.returncode == -9 and done.stdout.strip(), done.stderr
    while lives(kernel) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not lives(kernel)


def lives(process):
    try:
        return "State:\tZ" not in (process / "status").read_text()
    except OSError:  # it ended meanwhile
        return False
