"""Tools are found, watched and ended with all that they started; small programs on the PATH play them."""

import os
import sys
import time
from pathlib import Path

import pytest

from gemmbench.analysis import toolkit as tools
from gemmbench.analysis.toolkit import run_limited
from gemmbench.errors import BuildTimeout, DeviceError


def test_what_it_said_and_how_it_ended_come_back(tmp_path):
    done = run_limited([sys.executable, "-c", "import os; print(os.getcwd()); exit(3)"], 60, tmp_path)
    assert (done.returncode, done.stdout.strip()) == (3, str(tmp_path))
    with pytest.raises(OSError, match="nowhere"):
        run_limited(["/nowhere/compiler"], 1)


def test_at_the_limit_the_tool_and_its_child_are_both_ended(tmp_path):
    child = tmp_path / "child"
    with pytest.raises(BuildTimeout, match=r"did not compile within 0\.5 s"):
        run_limited(["sh", "-c", f"sleep 60 & echo $! > {child}; wait"], 0.5)
    assert tools.run_watcher(["sleep", "60"], 0.1).code is None
    deadline = time.monotonic() + 10  # a killed process may still run for a moment on a busy machine
    while _runs(int(child.read_text())) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _runs(int(child.read_text()))


def _runs(pid: int) -> bool:
    """Whether a process runs; one that has ended may still have an entry, as a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_compiler_is_nice_to_what_drives_the_device():
    wait = "import os, time\nfor _ in range(200):\n    time.sleep(0.05 * (os.nice(0) < 15))\nprint(os.nice(0))"
    done = run_limited([sys.executable, "-c", wait], 60, niceness=15)
    assert int(done.stdout) >= 15


def test_a_tool_is_found_on_the_path(fake_tool, tmp_path):
    fake_tool("ncu", "")
    assert tools.find_watcher("ncu") == str(tmp_path / "tools" / "ncu")


def test_a_missing_tool_is_named_with_the_next_step(monkeypatch):
    monkeypatch.setattr(tools, "find_tool", lambda tool, beside: None)
    with pytest.raises(
        DeviceError, match=r"no ncu found: it comes with the CUDA toolkit; install it, or add its folder"
    ):
        tools.find_watcher("ncu")


def test_nsight_compute_is_found_in_its_own_folder_the_newest_first(monkeypatch, tmp_path):
    for release in ("2024.1.0", "2025.3.1"):
        (tmp_path / release).mkdir()
        (tmp_path / release / "ncu").touch(mode=0o755)
    monkeypatch.setattr(tools, "_NSIGHT", tmp_path)
    monkeypatch.setattr(tools, "find_tool", lambda tool, beside: beside.split(os.pathsep)[0] + "/" + tool)
    assert tools.find_watcher("ncu") == f"{tmp_path}/2025.3.1/ncu"


def test_a_program_gets_the_cache_and_no_option_from_the_environment_and_its_words_come_back(fake_tool, monkeypatch):
    names = "sorted(name for name in os.environ if name.startswith('GEMMBENCH_'))"
    fake_tool("tool", f"print({names}); print('the end\\n', file=sys.stderr); sys.exit(7)")
    for name in ("GEMMBENCH_SANITIZE", "GEMMBENCH_SIZES", "GEMMBENCH_CACHE_DIR"):
        monkeypatch.setenv(name, "x")
    ran = tools.run_watcher(["tool"], 60.0, {"GEMMBENCH_GUARDS": "0"})
    assert (ran.code, ran.out) == (7, "['GEMMBENCH_CACHE_DIR', 'GEMMBENCH_GUARDS']\n")
    assert ran.last_words == "the end"
