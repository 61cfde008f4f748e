"""Tools that watch a program, played by small programs on the PATH."""

import os
import time
from pathlib import Path

import pytest

from gemmbench.analysis import toolkit as tools
from gemmbench.errors import DeviceError


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


def test_what_a_program_says_and_its_code_come_back(fake_tool):
    fake_tool("tool", "print('out'); print('the end\\n', file=sys.stderr); sys.exit(7)")
    ran = tools.run_watcher(["tool"], 60.0)
    assert (ran.code, ran.out, ran.last_words) == (7, "out\n", "the end")


def test_options_in_the_environment_are_not_handed_on_but_the_cache_is(fake_tool, monkeypatch):
    fake_tool("tool", "print(sorted(name for name in os.environ if name.startswith('GEMMBENCH_')))")
    for name in ("GEMMBENCH_SANITIZE", "GEMMBENCH_SIZES", "GEMMBENCH_CACHE_DIR"):
        monkeypatch.setenv(name, "x")
    said = tools.run_watcher(["tool"], 60.0, {"GEMMBENCH_GUARDS": "0"}).out
    assert said == "['GEMMBENCH_CACHE_DIR', 'GEMMBENCH_GUARDS']\n"


def test_at_the_limit_the_tool_and_its_child_are_both_ended(tmp_path):
    child = tmp_path / "child"
    begun = time.monotonic()
    ran = tools.run_watcher(["sh", "-c", f"sleep 60 & echo $! > {child}; wait"], limit=1.0)
    assert ran.code is None and time.monotonic() - begun < 30
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
