"""The walls around kernels and C++ compilers: what is behind them, and what happens at the limits."""

import os
import subprocess
import threading
from pathlib import Path

import pytest

from gemmbench.backends.cpu import kernel_process, services, walls
from gemmbench.backends.cpu.translation import CpuCompiler
from gemmbench.errors import BuildError, BuildTimeout, LaunchError

SYSTEM = "#include <stdlib.h>\n#include <sys/mman.h>\n#include <unistd.h>\n"
LAUNCHER = walls.find_launcher()

needs_walls = pytest.mark.skipif(
    not (walls.has_namespaces(LAUNCHER) and walls.has_landlock(LAUNCHER)),
    reason="this system has no namespaces or no Landlock",
)


def run_behind(script, *readable, writable=(), limits=None):
    """Run a shell script behind walls."""
    command = walls.wrap_command(["/bin/sh", "-c", script], readable, writable, limits)
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd="/")


@needs_walls
def test_a_program_reads_and_writes_only_what_it_was_given(tmp_path):
    given, secret = tmp_path / "given", tmp_path / "secret"
    given.mkdir()
    secret.write_text("x", encoding="utf-8")
    done = run_behind(f"echo y > {given}/file && cat {given}/file; cat {secret}; echo z > {secret}", writable=[given])
    assert done.stdout == "y\n" and done.stderr.count("Permission denied") == 2
    assert secret.read_text(encoding="utf-8") == "x"


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -SEGV $$", -11), ("kill -ABRT $$", -6)])
def test_the_launcher_ends_as_its_program_ends(script, code):
    assert run_behind(script).returncode == code


def test_a_program_that_cannot_be_started_is_named():
    done = subprocess.run(walls.wrap_command(["/nowhere/program"]), capture_output=True, text=True)
    assert done.returncode == walls.NO_PROGRAM and "cannot start /nowhere/program: No such file" in done.stderr


@needs_walls
def test_no_program_runs_where_a_wall_cannot_be_built():
    layers = [LAUNCHER, "files", "read=/", "--"] * 17  # Landlock takes 16
    done = subprocess.run([*layers, "echo", "it runs"], capture_output=True, text=True)
    assert done.returncode == walls.NO_WALLS and "landlock_restrict_self" in done.stderr and not done.stdout


def test_the_launcher_and_its_program_end_with_the_thread_that_started_them():
    command = walls.wrap_command(["/bin/sh", "-c", "echo ready; read nothing"])
    started = []

    def start():
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        started[0].stdout.readline()

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    with started[0] as process:
        assert process.wait(10) == -9


def test_a_launcher_whose_parent_has_ended_starts_nothing():
    done = subprocess.run([LAUNCHER, "parent=1", "--", "echo", "it runs"], capture_output=True, text=True)
    assert done.returncode == walls.NO_WALLS and not done.stdout


@needs_walls
def test_doctor_tries_the_walls_and_says_which_hold(monkeypatch):
    assert walls.find_reach() == set()
    shown = {check.subject: check for check in services._check_walls()}
    assert [check.status for check in shown.values()] == ["ok"] * 3
    monkeypatch.setattr(walls, "has_namespaces", lambda launcher: False)
    assert "processes" in walls.find_reach()  # Landlock keeps signals in, but processes may be left behind
    monkeypatch.setattr(walls, "has_landlock", lambda launcher: False)
    assert walls.find_reach() == set(walls.REACHABLE)
    shown = {check.subject: check for check in services._check_walls()}
    assert [check.status for check in shown.values()] == ["warning"] * 3
    assert "a kernel can read and write your files" in shown["walls: files"].message


@pytest.mark.parametrize(
    "body",
    [
        "size_t n = 3ul << 30; volatile char* p = (char*)malloc(n); for (size_t i = 0; i < n; i += 4096) p[i] = 1;",
        "size_t n = 3ul << 30; volatile char* p = new char[n]; for (size_t i = 0; i < n; i += 4096) p[i] = 1;",
        "char* p = (char*)mmap(0, 3ul << 30, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0); for (;; p += 4096) *p = 1;",
    ],
    ids=["malloc", "new", "mmap"],
)
def test_a_kernel_that_takes_3_gb_more_than_it_needs_fails(bench, body):
    with pytest.raises(LaunchError, match="1024 MiB"):
        bench.run(bench.plan(f"{SYSTEM}SIGNATURE {{ {body} C[0] = 5; }}"))


@pytest.mark.parametrize("value", ["", " = {1}"], ids=["zeros", "in the file"])
def test_a_static_array_beyond_the_limit_fails_soon(bench, monkeypatch, tmp_path, value):
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path))
    text = f"static float big[400000000]{value};\nSIGNATURE {{ C[0] = big[K]; big[N] = 1; }}"
    with pytest.raises(BuildError, match=r"static arrays take 15\d\d MiB of memory|[Ff]ile too large"):
        CpuCompiler(60).compile(bench.plan(text))
    assert sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()) < 1 << 20


@needs_walls
def test_a_kernel_has_a_limit_of_processes_also_if_root_runs_it(bench, monkeypatch):
    monkeypatch.setattr(kernel_process, "_MOST_PROCESSES", 20)
    body = (
        "int n = 0; for (pid_t p = 1; n < 40 && p > 0; n += p > 0) if (!(p = fork())) { pause(); _exit(0); } C[0] = n;"
    )
    assert 0 < bench.run(bench.plan(f"{SYSTEM}SIGNATURE {{ {body} }}")) < 20


@needs_walls
def test_a_compiler_sees_neither_variables_nor_files_nor_other_processes(bench, monkeypatch, tmp_path):
    """A compiler that looks around and says what it sees as an error."""
    secret = tmp_path / "secret"
    secret.write_text("treasure", encoding="utf-8")
    program = tmp_path / "tools" / "cxx"
    program.parent.mkdir()
    program.write_text(
        f"""#!/bin/sh
case "$*" in *launcher.cpp*) exec g++ "$@";; *-E*) exec g++ "$@";; esac
echo "error: [$DATABASE_URL$SECRET_TOKEN] [$(cat {secret})] [$(echo x > {secret} || echo refused)]" >&2
echo "error: [$(kill -0 {os.getpid()} && echo signals)]" >&2
exit 1
""",
        encoding="utf-8",
    )
    program.chmod(0o755)
    monkeypatch.setenv("CXX", str(program))
    monkeypatch.setenv("DATABASE_URL", "x")
    monkeypatch.setenv("SECRET_TOKEN", "x")
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(BuildError) as caught:
        CpuCompiler().compile(bench.plan("SIGNATURE { C[0] = 5; }"))
    assert "error: [] [] [refused]" in str(caught.value) and "error: []" in str(caught.value).splitlines()[-1]
    assert secret.read_text(encoding="utf-8") == "treasure"


@needs_walls
def test_a_text_includes_no_file_outside_its_folders(bench, tmp_path):
    secret = tmp_path / "id_rsa"
    secret.write_text("not C++ treasure", encoding="utf-8")
    text = f'#define FILE_NAME "{secret}"\n#include FILE_NAME\nSIGNATURE {{ C[0] = 5; }}'
    with pytest.raises(BuildError) as caught:
        CpuCompiler().compile(bench.plan(text))
    assert "treasure" not in str(caught.value)


@pytest.mark.parametrize("stream", ["", ">&2"], ids=["standard output", "standard error"])
def test_a_compiler_that_prints_for_ever_meets_the_limit_and_fills_no_memory(monkeypatch, tmp_path, stream):
    program = tmp_path / "cxx"
    program.write_text(
        f"#!/bin/sh\ncase $* in *launcher.cpp*) exec g++ $@;; esac\nyes error {stream}\n", encoding="utf-8"
    )
    program.chmod(0o755)
    monkeypatch.setenv("CXX", str(program))
    walls.find_launcher()
    with pytest.raises(BuildTimeout):
        _ = CpuCompiler(1).version


def test_the_walls_start_from_many_threads_at_once():
    """Nothing runs between fork and exec that could wait for a lock of another thread."""
    codes: list[int] = []
    threads = [threading.Thread(target=lambda: codes.append(run_behind("exit 3").returncode)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert codes == [3] * 16
    sources = Path(services.__file__).parent.glob("*.py")
    assert not any("preexec_fn" in source.read_text(encoding="utf-8") for source in sources)
