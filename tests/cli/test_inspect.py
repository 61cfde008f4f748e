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
def tools(tmp_path, gemmbench, monkeypatch):
    """Scripts in the place of nvcc and cuobjdump; the first argument of `inspect` is a kernel of these tests."""
    for name, text in (("nvcc", NVCC), ("cuobjdump", f"#!/bin/sh\ncat '{LISTING}'\n")):
        script = tmp_path / "tools" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(text)
        script.chmod(0o755)
    monkeypatch.setenv("CUDACXX", str(tmp_path / "tools" / "nvcc"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'tools'}:/usr/bin:/bin")
    return lambda *arguments: gemmbench(
        "inspect", "mine", "--kernels", "kernels", "--arch", "90", "--format", "tsv", *arguments
    )


@pytest.fixture(autouse=True)
def cache(gemmbench, tmp_path, monkeypatch):
    """A cache of its own: gemmbench takes the variables of the shell away."""
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path / "cache"))


def cell(said, name):
    (found,) = (line.split("\t")[1].strip() for line in said.out.splitlines() if line.split("\t")[0].strip() == name)
    return found


def test_the_mix_stands_below_the_table(tools, write_kernel):
    write_kernel()
    said = tools("--sass-mix")
    assert (said.code, said.err) == (0, "")
    assert "stack bytes" in said.out.splitlines()[0] and re.search(r"\t +24\t", said.out.splitlines()[1])
    assert cell(said, "FFMA") == "64 (61.5 %)"
    assert cell(said, "load to use, least") == "7"
    assert cell(said, "bound (TFLOPS)") == "41.17"
    assert "of 66.91 TFLOPS: of 104 instructions 64 (61.5 %) are FFMA" in said.out
    assert "Bound: the share of FFMA" in said.out


def test_without_the_option_nothing_is_disassembled(tools, write_kernel, tmp_path):
    write_kernel()
    (tmp_path / "tools" / "cuobjdump").write_text("#!/bin/sh\nexit 7\n")
    said = tools()
    assert said.code == 0 and "FFMA" not in said.out


def test_clock_and_multiprocessors_make_the_peak(tools, write_kernel):
    write_kernel()
    said = tools("--sass-mix", "--sms", "66", "--clock", "0.99")
    assert "of 16.73 TFLOPS" in said.out


def test_a_loop_that_keeps_its_limits_ends_in_0(tools, write_kernel):
    write_kernel(sass=["100 * ffma >= 60 * instructions", "spills == 0"])
    assert tools("--sass-mix").code == 0


def test_a_broken_limit_ends_in_1_and_says_which(tools, write_kernel):
    write_kernel(sass=["spills == 0", "100 * ffma >= 92 * instructions"])
    said = tools("--sass-mix")
    assert said.code == 1
    (line,) = said.err.splitlines()
    assert line.startswith("sass limit broken: mine") and line.endswith("ffma is 64, instructions is 104")
    assert tools().code == 0


def test_code_on_stdout_leaves_no_room_for_it(tools, write_kernel):
    write_kernel()
    said = tools("--sass-mix", "--sass", "-")
    assert said.code == 2 and "name a file for the code" in said.err


def test_machine_code_of_old_architectures_is_refused(tools, write_kernel):
    write_kernel()
    said = tools("--sass-mix", "--arch", "61")
    assert said.code == 2 and "--sass-mix reads machine code from sm_70 on; sm_61 is older" in said.err


@pytest.mark.parametrize("arch", ["sm_90a", "compute_90a", "90a"])
def test_an_architecture_may_be_written_as_nvcc_does(tools, write_kernel, arch):
    write_kernel()
    said = tools("--arch", arch)
    assert said.code == 0 and "sm_90a, 132 SMs" in said.out


@pytest.mark.parametrize(("option", "value"), [("--sms", "0"), ("--clock", "-1"), ("--clock", "0")])
def test_a_gpu_without_multiprocessors_or_clock_is_refused(tools, write_kernel, option, value):
    write_kernel()
    said = tools(option, value)
    assert said.code == 2 and option in said.err and "is not in the range" in said.err


@pytest.mark.parametrize(("arch", "planned"), [("80", 124), ("86", 80), ("90", 148), ("120", 80)])
def test_an_architecture_has_the_shared_memory_of_its_blocks(tools, gemmbench, arch, planned):
    """164 KiB less 1 on sm_80, 100 less 1 on sm_86 and sm_120, 228 less 1 on sm_90: what fits is planned, no more."""
    said = gemmbench("inspect", "sgemm_cp_async", "--param", "all", "--arch", arch, "--format", "tsv")
    assert said.code == 0
    assert len(said.out.partition("\n\n")[0].splitlines()[1:]) == planned
