"""A kernel's process: what it can neither forge, nor outlive, nor hold up."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from gemmbench.backends.cpu import kernel_process, translation, walls
from gemmbench.backends.cpu.backend import StepsInTurn
from gemmbench.backends.cpu.translation import read_static_shared
from gemmbench.errors import BuildError, LaunchError, LaunchTimeout

SYSTEM = "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n#include <fcntl.h>\n"
LOOP = "for (volatile int go = 1; go;);"


def constructed(body, kernel="SIGNATURE { C[0] = 5; }"):
    """A kernel whose file runs `body` before anything else."""
    kernel = kernel.replace("{", "{ (void)&early;", 1)
    return f"{SYSTEM} struct Early {{ __device__ Early() {{ {body} }} }} early;\n{kernel}"


FORGERIES = {
    "a reply": 'dprintf(fd, "seconds 1e-9\\n");',
    "a reply with a nonce of its own": 'dprintf(fd, "0123456789abcdef0123456789abcdef seconds 1e-9\\n");',
    "half a line": 'dprintf(fd, "seconds");',
    "bytes that are no text": 'write(fd, "\\xff\\xfe\\n\\n", 4);',
    "no end": 'for (int i = 0; i < 64; ++i) dprintf(fd, "%0100d", 1);',
}
FORGING = "\n".join(f"if (K == {number}) {{ {body} }}" for number, body in enumerate(FORGERIES.values(), 1))


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5], ids=FORGERIES)
def test_a_forged_reply_fails_the_kernel_in_clear_words(bench, number):
    text = SYSTEM + "SIGNATURE { for (int fd = 3; fd < 64; ++fd) { " + FORGING + " } C[0] = 5; }"
    with pytest.raises(LaunchError, match="the kernel forged a reply of its runtime, so its times do not count"):
        bench.run(bench.plan(text, (1, 1, number)))
    assert not bench.memories[0].array(0, (64,), "uint8").any()  # the operands' own descriptor is closed


def test_a_reply_that_a_static_constructor_forges_does_not_count_either(bench):
    text = constructed('for (int fd = 3; fd < 64; ++fd) dprintf(fd, "bound\\nseconds 1e-9\\n");')
    with pytest.raises(LaunchError, match="the kernel forged a reply"):
        bench.run(bench.plan(text))


def test_a_line_after_the_right_reply_fails_the_next_window(bench):
    late = 'usleep(100000); for (int fd = 3; fd < 64; ++fd) dprintf(fd, "seconds 1e-9\\n");'
    executable = bench.bind_one(bench.plan(f"{SYSTEM} SIGNATURE {{ if (!fork()) {{ {late} _exit(0); }} }}"))
    executable.time(1)
    time.sleep(0.2)
    with pytest.raises(LaunchError, match="forged"):
        executable.time(1)


SEARCH = """#include <stdio.h>
__device__ int gone_up(const char* at) {  // the search must not find its own text
    const char* pattern = "xyzzy.ns|gj";
    int i = 0;
    while (pattern[i] && at[i] + i % 2 == pattern[i]) ++i;
    return !pattern[i];
}
SIGNATURE {
    char line[400], mode[8];
    unsigned long from, to;
    FILE* maps = fopen("/proc/self/maps", "r");
    float found = 0;
    while (fgets(line, sizeof line, maps)) {
        sscanf(line, "%lx-%lx %7s", &from, &to, mode);
        if (mode[0] != 'r' || strstr(line, "[v")) continue;
        for (const char* at = (const char*)from; at + 16 < (const char*)to; ++at) found += gone_up(at);
    }
    C[blockIdx.x] = found;
}"""


@pytest.mark.parametrize("blocks", [1, 40])
def test_the_nonce_is_nowhere_in_the_memory_that_a_kernel_can_read(bench, monkeypatch, blocks):
    wrap = walls.wrap_command
    monkeypatch.setattr(walls, "wrap_command", lambda to, paths, *rest, **more: wrap(to, [*paths, "/"], *rest, **more))
    nonce = "".join(chr(ord(c) - i % 2) for i, c in enumerate("xyzzy.ns|gj")) + "0" * 20
    monkeypatch.setattr(kernel_process.secrets, "token_hex", lambda size: nonce)
    found = bench.run(bench.plan(SYSTEM + SEARCH, (1, blocks, 1), grid=(blocks,)))
    assert (found == 0).all()


@pytest.mark.parametrize(
    ("body", "fault", "words"),
    [
        (LOOP, LaunchTimeout, r"did not start within 0\.5 s"),
        ("abort();", LaunchError, "SIGABRT.* before its first launch, in a static constructor"),
        ("_exit(3);", LaunchError, "exited with code 3 before its first launch, in a static constructor"),
        ("exit(0);", LaunchError, "exited with code 0 before its first launch"),
        (
            "for (int fd = 3; fd < 64; ++fd) close(fd); sleep(100);",
            LaunchError,
            "closed the connection of its runtime",
        ),
    ],
)
def test_a_static_constructor_costs_its_own_row_and_never_the_compilation(bench, monkeypatch, body, fault, words):
    monkeypatch.setattr(kernel_process, "_LEAVE", 0.2)
    bench.reopen(timeout=0.5)
    plan = bench.plan(constructed(body))
    bench.compiler.compile(plan)
    with pytest.raises(fault, match=words):
        bench.run(plan)


def test_a_long_command_does_not_hang_on_a_kernel_that_never_reads(bench):
    bench.reopen(timeout=0.2)
    one = np.zeros((1, 1), np.float32)
    with pytest.raises(LaunchTimeout, match="did not start"):
        bench.bind(bench.plan(constructed(LOOP)), one, one, [one] * 20_000)


CHILDREN = {
    "a child": "if (!fork()) pause();",
    "a child in a process group of its own": "if (!fork()) { setpgid(0, 0); pause(); }",
    "a child of a child": "if (!fork()) { if (!fork()) pause(); _exit(0); }",
}
ENDINGS = {"an end": ("", None), "a crash": ("abort();", LaunchError), "a loop": (LOOP, LaunchTimeout)}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("child", CHILDREN)
def test_no_process_outlives_its_kernel(bench, monkeypatch, child, ending):
    monkeypatch.setattr(kernel_process, "_GLANCE", 0.05)
    body, fault = ENDINGS[ending]
    text = f"{SYSTEM} SIGNATURE {{ {CHILDREN[child]} usleep(50000); {body} C[0] = 5; }}"
    bench.reopen(timeout=5)
    executable = bench.bind_one(bench.plan(text))
    (running,) = bench.backend._running
    leader = running._child.pid
    if fault:
        if fault is LaunchTimeout:
            running._timeout = 0.2  # for the window; a busy machine needs longer to start the process
        with pytest.raises(fault):
            executable.time(1)
    else:
        executable.time(1)
        launchers = 2 * walls.has_namespaces(walls.find_launcher())
        assert len(list_members(leader)) == 2 + launchers  # or this test would show nothing
        bench.backend.close()
    assert await_end(leader)


def test_kernel_processes_end_with_the_program(bench):
    executable = bench.compiler.compile(bench.plan(f"SIGNATURE {{ {LOOP} }}", grid=(4,))).path
    program = f"""
        import os, signal, threading
        from gemmbench.backends.cpu.kernel_process import CpuMemory, KernelProcess
        memory = CpuMemory(4096)
        operands = "4 4 4 0 0 0 0 0 4 0  1  4 4 4 0 0 0 0 0 4 0  1  0 0 0 0 0 0 0 0 0 0"
        binding = f"{{memory.file}} 4096  1  4 1 1  1 1 1  0  0 0 2  1 1 1  1 0  0 0 0  {{operands}}"
        process = KernelProcess({executable!r}, binding, [memory.file], 60)
        print(process._child.pid, flush=True)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGKILL)).start()
        process.time(0, 1)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert done.returncode == -9 and done.stdout.strip(), done.stderr
    assert await_end(int(done.stdout))


def await_end(leader):
    """Whether all processes of a session end within 5 s."""
    deadline = time.monotonic() + 5
    while (left := list_members(leader)) and time.monotonic() < deadline:
        time.sleep(0.01)
    for process in left:
        os.kill(process, signal.SIGKILL)
    return not left


def list_members(session):
    """The processes of a session that have not ended."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(folder.name)) == session and "State:\tZ" not in (folder / "status").read_text():
                found.add(int(folder.name))
        except OSError:  # it ended meanwhile
            continue
    return found


def test_static_shared_memory_is_read_from_the_file_without_running_it(bench, monkeypatch, tmp_path):
    # From the user's cache, which would have the size of the kernel, too.
    assert bench.compiler._compile_runtime(translation._MEASURED)
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path))
    plan = bench.plan(constructed("abort();", "SIGNATURE { __shared__ float s[300]; s[K] = 1; C[0] = s[N]; }"))
    assert bench.compiler.compile(plan).build.shared == 1200
    (tmp_path / "other").write_bytes(b"\x7fELF\x01\x01" + bytes(100))
    with pytest.raises(BuildError, match="did not produce a 64-bit little-endian ELF executable"):
        read_static_shared(tmp_path / "other")


WALLED = walls.has_namespaces(walls.find_launcher()) and walls.has_landlock(walls.find_launcher())

WALLS = {
    "the environment": "extern char** environ; int n = 0; while (environ[n]) ++n; C[0] = n;",
    "files": 'C[0] = (open("/etc/passwd", O_RDONLY) >= 0) + (open("/proc/self/environ", O_RDONLY) >= 0) + 1;',
    "other processes": "int n = 0; for (int p = 1; p < 50000; ++p) n += !kill(p, 0); C[0] = n > 2 ? n : 1;",
}


@pytest.mark.parametrize("body", WALLS.values(), ids=WALLS)
@pytest.mark.skipif("not WALLED", reason="this system has no namespaces or no Landlock")
def test_a_kernel_sees_neither_environment_nor_files_nor_other_processes(bench, monkeypatch, body):
    monkeypatch.setenv("SECRET_TOKEN", "x")
    assert (
        bench.run(bench.plan(f"{SYSTEM}#include <signal.h>\nSIGNATURE {{ {body} }}")) == 1
    )  # the one variable is LC_ALL


def test_a_kernel_that_signals_its_parent_costs_only_its_own_row(bench):
    text = "#include <signal.h>\n" + constructed("kill(getppid(), SIGUSR1); _exit(1);")
    with pytest.raises(LaunchError):
        bench.run(bench.plan(text))


@pytest.mark.skipif("not WALLED", reason="this system has no namespaces or no Landlock")
def test_a_process_in_a_session_of_its_own_ends_with_its_kernel(bench):
    body = "if (!fork()) { setsid(); if (!fork()) pause(); pause(); } usleep(50000);"
    plan = bench.plan(f"{SYSTEM} SIGNATURE {{ {body} C[0] = 5; }}")
    path = bench.compiler.compile(plan).path
    bench.reopen(timeout=60)
    assert bench.run(plan) == 5
    bench.backend.close()
    deadline = time.monotonic() + 5
    while (left := list_running(path)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not left


def list_running(path):
    """The processes that run an executable."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "exe").readlink() == Path(path):
                found.append(folder.name)
        except OSError:  # it ended meanwhile
            continue
    return found


def test_a_window_says_how_long_it_took_by_the_clock_of_gemmbench(bench):
    window = bench.bind_one(bench.plan(f"{SYSTEM} SIGNATURE {{ usleep(20000); C[0] = 5; }}")).time(1)
    assert window.elapsed >= window.seconds >= 0.02


class FakeStep:
    """A step whose process says that a launch takes a millisecond."""

    absent = 0

    def __init__(self, waited):
        self.waited = waited

    def time(self, first, launches):
        return 1e-3 * launches


def test_the_steps_of_a_product_are_compared_with_the_clock_of_gemmbench_together():
    honest, forged, library = FakeStep(1.1e-3), FakeStep(20e-3), FakeStep(0.0)
    for steps, waited in (
        ([honest, forged], 4 * 21.1e-3),
        ([honest, library], 4 * 2.1e-3),
        ([library, library], 0.0),
        ([FakeStep(0.5e-3), FakeStep(0.5e-3)], 0.0),  # asking takes too large a part of that
    ):
        turns = StepsInTurn(steps)
        turns.time(0, 4)
        assert turns.waited == pytest.approx(waited)
