"""A C++ compiler that hangs, is killed or makes nothing: the reason says so."""

import pytest

from gemmbench.backends.cpu.translation import CpuCompiler
from gemmbench.errors import BuildError, BuildTimeout


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exit 0", "reported success but did not produce"),
        ("kill -9 $$", "ended by SIGKILL"),
        ("exit 3", "exit code 3 and printed nothing"),
    ],
)
def test_a_compiler_that_fails_is_named(bench, monkeypatch, tmp_path, script, words):
    program = tmp_path / "cxx"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("CXX", str(program))
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(BuildError, match=words):
        CpuCompiler().compile(bench.plan("SIGNATURE { C[0] = 5; }"))


def test_a_compiler_that_hangs_at_version_meets_the_limit(monkeypatch, tmp_path):
    program = tmp_path / "cxx"
    program.write_text("#!/bin/sh\nsleep 100\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("CXX", str(program))
    with pytest.raises(BuildTimeout):
        _ = CpuCompiler(0.3).version
