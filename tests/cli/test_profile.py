"""`gemmbench profile`, with an ncu that is played by a small program."""

import pytest

from gemmbench.analysis import toolkit as tools

TABLE = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device",'
    '"CC","gpu__time_duration.sum","sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed",'
    '"smsp__issue_active.avg.pct_of_peak_sustained_elapsed"\n'
    '"","","","","","","","","","","","ns","%","%"\n'
    '"0","1","python","127.0.0.1","gemm","1","7","(256, 1, 1)","(32, 32, 1)","0","9.0","2,684,510","91.5","96"\n'
)
PLAYED = """
calls.write(' '.join(arguments[arguments.index('gemmbench') + 1:]))
open(after('--log-file'), 'w').write({log!r})
"""


@pytest.fixture
def profile(gemmbench, fake_tool, gpu):
    """Run `profile`; returns what it said and the command that ncu watched."""

    def run(*arguments, log=TABLE):
        calls = fake_tool("ncu", PLAYED.format(log=log))
        said = gemmbench("profile", *arguments)
        return said, calls.read_text() if calls.exists() else ""

    return run


def test_the_counters_and_what_bounds_the_kernel(profile):
    said, call = profile("tiled", "--param", "TILE=32", "--format", "tsv")
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0].startswith("tiled TILE=32, ") and "4096" in lines[0]
    assert lines[2] == "gemm: grid (32, 32, 1), block (256, 1, 1)"
    assert any(line.split("\t")[0].strip() == "duration" and line.endswith("2.685 ms") for line in lines)
    assert "Bound by FFMA issue: the FMA pipe is busy 92 % of the time" in said.text
    assert call == (
        "one-launch tiled --sizes 4096x4096x4096 --precision f32 --layout nn --param TILE=32 --device cuda:1"
    )


def test_a_library_is_profiled_too_with_every_kernel_it_launches(profile):
    second = TABLE.splitlines()[2].replace('"gemm"', '"splitKreduce_kernel"')
    said, call = profile("cublas", "--sizes", "64x32x16", "--precision", "bf16", "--layout", "tn", log=TABLE + second)
    assert said.code == 0
    assert said.out.count("Bound by") == 2 and "splitKreduce_kernel: grid" in said.out
    assert call == "one-launch cublas --sizes 64x32x16 --precision bf16 --layout tn --device cuda:1"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tiled", "--sizes", "64,128"], "profile needs one launch, but there are 2"),
        (["tiled", "--param", "TILE=16,32"], "profile needs one launch, but there are 2"),
        (["tiled", "--precision", "tf32"], "tiled cannot run here: does not support precision tf32"),
        (["tiled", "--param", "X=1"], "none of the chosen kernels has a parameter 'X'"),
        (["tiled", "--sizes", "200000"], "its operands need 447.0 GiB"),
        (["mlp_fused"], "mlp_fused cannot run here: computes a whole network"),
        (["nive"], "unknown kernel 'nive' (did you mean 'naive'"),
    ],
)
def test_bad_input_is_refused_before_ncu_runs(profile, arguments, words):
    said, call = profile(*arguments)
    assert (said.code, said.out, call) == (2, "", "")
    assert words in said.err


def test_without_the_right_to_count_the_next_step_is_told(profile):
    said, _ = profile("tiled", log="==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access\n")
    assert said.code == 3
    assert "ERR_NVGPUCTRPERM" in said.err and "run as root" in said.err


def test_a_missing_ncu_is_told(gemmbench, gpu, monkeypatch):
    monkeypatch.setattr(tools, "find_tool", lambda tool, beside: None)
    said = gemmbench("profile", "tiled")
    assert (said.code, said.out) == (3, "")
    assert said.err.startswith("gemmbench: no ncu found: it comes with the CUDA toolkit")


def test_without_a_gpu_there_is_nothing_to_profile(gemmbench):
    said = gemmbench("profile", "tiled", "--device", "cpu")
    assert (said.code, said.out) == (3, "")
    assert said.err == "gemmbench: profile needs an NVIDIA GPU: --device cpu is not a GPU\n"


def test_what_a_variant_picks_is_profiled_by_its_name_and_told(profile, write_kernel):
    write_kernel("best.cu", symbol=None, grid=None, block=None, body="", pick=["variant: tiled\n    params: {TILE: 8}"])
    said, call = profile("best", "--kernels", "kernels", "--sizes", "64")
    assert said.out.startswith("best tiled: TILE=8, ")
    assert call == "one-launch best --sizes 64x64x64 --precision f32 --layout nn --kernels kernels --device cuda:1"
