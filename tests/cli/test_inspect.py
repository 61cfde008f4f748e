"""`gemmbench inspect --sass-mix`, with a compiler and a disassembler that answer from files."""

import re
from pathlib import Path

import pytest

LISTING = Path(__file__).resolve().parents[1] / "analysis" / "listings" / "warptile.txt"
NVCC = """#!/bin/sh
test "$1" = --version && { echo "release 13.0, V13.0.88"; exit; }
while test "$1" != -o; do shift; done
echo code > "$2"
cat >&2 <<'END'
ptxas info    : Compiling entry function 'gemm' for 'sm_90'
ptxas info    : Function properties for gemm
    24 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 2048 bytes smem
END
"""


@pytest.fixture
def tools(tmp_path, gemmbench, write_kernel, monkeypatch):
    """Scripts in the place of nvcc and cuobjdump, and a cache of their own; `inspect` looks at mine.cu."""
    write_kernel()
    for name, text in (("nvcc", NVCC), ("cuobjdump", f"#!/bin/sh\ncat '{LISTING}'\n")):
        script = tmp_path / "tools" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(text)
        script.chmod(0o755)
    monkeypatch.setenv("CUDACXX", str(tmp_path / "tools" / "nvcc"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'tools'}:/usr/bin:/bin")
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path / "cache"))
    call = ["inspect", "mine", "--kernels", "kernels", "--arch", "90", "--format", "tsv"]
    return lambda *arguments: gemmbench(*call, *arguments)


def cell(said, name):
    (found,) = (line.split("\t")[1].strip() for line in said.out.splitlines() if line.split("\t")[0].strip() == name)
    return found


def test_the_mix_stands_below_the_table(tools):
    said = tools("--sass-mix")
    assert said.code == 0
    assert "stack bytes" in said.out.splitlines()[0] and "\t24\t" in said.out.splitlines()[1]
    assert cell(said, "FFMA") == "64 (61.5 %)"
    assert cell(said, "load to use, least") == "7"
    assert cell(said, "bound (TFLOPS)") == "41.17"
    assert "of 66.91 TFLOPS: of 104 instructions 64 (61.5 %) are FFMA" in said.text
    assert "Bound: the share of FFMA" in said.text


def test_without_the_option_nothing_is_disassembled(tools, tmp_path):
    (tmp_path / "tools" / "cuobjdump").write_text("#!/bin/sh\nexit 7\n")
    said = tools()
    assert said.code == 0 and "FFMA" not in said.out


def test_clock_and_multiprocessors_make_the_peak(tools):
    said = tools("--sass-mix", "--sms", "66", "--clock", "0.99")
    assert "of 16.73 TFLOPS" in said.text


def test_a_broken_limit_ends_in_1_and_says_which(tools, write_kernel):
    write_kernel(sass=["100 * ffma >= 60 * instructions", "spills == 0"])
    assert tools("--sass-mix").code == 0
    write_kernel(sass=["spills == 0", "100 * ffma >= 92 * instructions"])
    said = tools("--sass-mix")
    assert said.code == 1
    (line,) = (line for line in said.err.splitlines() if "sass limit" in line)
    assert line.startswith("sass limit exceeded: mine") and line.endswith("ffma is 64, instructions is 104")
    assert tools().code == 0


def test_code_on_stdout_sends_the_tables_to_stderr(tools):
    said = tools("--sass-mix", "--sass", "-")
    assert said.code == 0 and "Function : gemm" in said.out
    assert "ffma" in said.err.lower() and "registers" in said.err and "registers" not in said.out
    assert tools("--sass", "-", "--ptx", "-").code == 2


def test_machine_code_of_old_architectures_is_refused(tools):
    said = tools("--sass-mix", "--arch", "61")
    assert said.code == 2 and "--sass-mix reads machine code from sm_70 on, and sm_61 is older" in said.err


@pytest.mark.parametrize("arch", ["sm_90a", "compute_90a", "90a"])
def test_an_architecture_may_be_written_as_nvcc_does(tools, arch):
    said = tools("--arch", arch)
    assert said.code == 0 and "sm_90a, 132 SMs" in said.text


@pytest.mark.parametrize(("option", "value"), [("--sms", "0"), ("--clock", "-1"), ("--clock", "0")])
def test_a_gpu_without_multiprocessors_or_clock_is_refused(tools, option, value):
    said = tools(option, value)
    assert said.code == 2 and option in said.err and "is not in the range" in said.err


@pytest.mark.parametrize(("arch", "largest"), [("80", 163), ("86", 99), ("90", 227), ("120", 99)])
def test_an_architecture_has_the_shared_memory_of_its_blocks(tools, write_kernel, arch, largest):
    """164 KiB less 1 on sm_80, 100 less 1 on sm_86 and sm_120, 228 less 1 on sm_90: what fits is planned, no more."""
    write_kernel(params={"KIB": [99, 100, 163, 164, 227, 228]}, shared="1024 * KIB")
    said = tools("--param", "all", "--arch", arch)
    planned = re.findall(r"^.*\tKIB=(\d+)\b", said.out, re.MULTILINE)
    assert list(map(int, planned)) == [kib for kib in (99, 100, 163, 164, 227, 228) if kib <= largest]
