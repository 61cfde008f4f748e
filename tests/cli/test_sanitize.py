"""`gemmbench verify --sanitize`, with a compute-sanitizer that is played by a small program."""

import json

import pytest

from gemmbench.analysis import toolkit as tools

CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
INVALID = (
    "========= COMPUTE-SANITIZER\n========= Invalid __global__ read of size 4 bytes\n=========     at gemm+0x1b0 in "
    "cuda/tiled.cu:25\n=========\n========= ERROR SUMMARY: 3 errors\n"
)
# Logs by a word of the command line, the first that fits.
PLAYED = """
logs = {logs!r}
words = arguments[arguments.index('gemmbench') + 1:]
calls.write(after('--tool') + ' ' + ' '.join(words) + '\\n')
log = next((log for word, log in logs.items() if word in arguments), {clean!r})
if log == 'sleep':
    time.sleep(60)
open(after('--log-file'), 'w').write(log)
sys.exit(log != {clean!r})
"""


@pytest.fixture
def sanitize(gemmbench, fake_tool, gpu):
    """Run `verify --sanitize`; returns what it said and the calls of the tool."""

    def run(*arguments, **logs):
        calls = fake_tool("compute-sanitizer", PLAYED.format(logs=logs.pop("logs", {}), clean=CLEAN))
        said = gemmbench("verify", *arguments, "--format", "tsv")
        return said, calls.read_text().splitlines() if calls.exists() else []

    return run


def rows(said):
    return [[cell.strip() for cell in line.split("\t")] for line in said.out.splitlines() if "\t" in line][1:]


def test_a_clean_variant_is_one_line_a_tool_and_one_process_a_tool(sanitize):
    said, calls = sanitize("tiled", "--sanitize")
    assert (said.code, said.err) == (0, "")
    assert rows(said) == [
        ["tiled", "all 3", "memcheck", "0", "clean"],
        ["tiled", "all 3", "racecheck", "0", "clean"],
    ]
    words = "verify tiled --sizes 33x65x17,256x256x64 --precision f32 --device cuda:1 --no-pdl"
    assert calls == [f"memcheck {words}", f"racecheck {words}"]


def test_tools_shapes_layouts_and_parameters_may_be_chosen(sanitize):
    said, (call,) = sanitize(
        *["tiled", "--sanitize", "initcheck", "--sizes", "8", "--layout", "tn", "--param", "TILE=16,32", "--seed", "4"]
    )
    assert rows(said) == [["tiled", "all 2", "initcheck", "0", "clean"]]
    assert call == (
        "initcheck verify tiled --sizes 8 --precision f32 --layout tn --seed 4 --device cuda:1 --no-pdl "
        "--param TILE=16,32"
    )


def test_an_error_is_looked_for_in_each_configuration_alone_and_told_with_its_line(sanitize):
    said, calls = sanitize(
        "tiled", "--sanitize", "memcheck", logs={"TILE=32": INVALID, "TILE=16": CLEAN, "tiled": INVALID}
    )
    assert said.code == 1
    assert sorted(rows(said)) == [
        ["tiled", "TILE=16", "memcheck", "0", "clean"],
        ["tiled", "TILE=32", "memcheck", "3", "errors"],
        ["tiled", "TILE=8", "memcheck", "3", "errors"],
    ]
    assert (
        "\ntiled TILE=32 memcheck: Invalid __global__ read of size 4 bytes at gemm+0x1b0 in cuda/tiled.cu:25"
        in said.out
    )
    assert len(calls) == 4 and calls[1].endswith("--param TILE=16")


def test_an_error_that_shows_only_with_all_configurations_together_is_kept(sanitize):
    alone = {f"TILE={size}": CLEAN for size in (8, 16, 32)}
    said, _ = sanitize("tiled", "--sanitize", "memcheck", logs={**alone, "tiled": INVALID})
    assert said.code == 1
    assert rows(said)[-1] == ["tiled", "all 3", "memcheck", "3", "errors"]


def test_one_variant_without_end_hides_no_other(sanitize):
    logs = {"naive": "sleep"}
    said, _ = sanitize(
        "naive", "mlp_fused", *"--sanitize racecheck --sanitize-limit 1 --param BX=16 --param BY=16".split(), logs=logs
    )
    assert said.code == 1
    assert [row[0] + " " + row[-1] for row in rows(said)] == ["naive timeout", "mlp_fused clean"]
    assert "naive BX=16 BY=16 racecheck: did not finish within 1 s" in said.out


def test_kernels_of_networks_run_through_mlp(sanitize):
    said, (call,) = sanitize("mlp_fused", "--sanitize", "memcheck")
    assert said.code == 0
    assert call.startswith("memcheck mlp mlp_fused --batch 33 --weights random --rounds 1 ")
    assert call.endswith("--device cuda:1 --no-pdl") and "--baseline mlp_fused" in call


def test_by_default_every_kernel_and_no_library_is_watched(sanitize, gemmbench):
    listed = json.loads(gemmbench("list", "--device", "fake", "--json").out)
    said, _ = sanitize("--sanitize", "memcheck")
    names = {row[0] for row in rows(said)}
    assert {"naive", "tiled", "mlp_fused", "mlp_cluster"} <= names <= {row["name"] for row in listed}
    assert not names & {"cublas", "cublaslt", "openblas", "cpu_naive"}


def test_a_file_that_cannot_be_read_is_left_out_and_the_others_run(sanitize, write_kernel):
    (write_kernel("good.cu").parent / "broken.cu").write_text("no manifest")
    said, calls = sanitize("--sanitize", "memcheck", "--kernels", "kernels")
    assert said.code == 2 and said.err.startswith("left out: kernels/broken.cu:1: no manifest: ")
    assert "good" in {row[0] for row in rows(said)} and len(calls) > 1


def test_what_cannot_run_is_skipped_with_its_reason_and_if_nothing_can_that_is_told(sanitize):
    said, calls = sanitize("tiled", "--sanitize", "memcheck", "--precision", "tf32")
    assert (said.code, calls) == (3, [])
    assert rows(said) == [["tiled", "-", "-", "-", "skipped"]]
    assert "tiled: skipped: does not support precision tf32" in said.out
    assert "nothing ran" in said.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sanitize", "memchek"], "--sanitize: unknown tool 'memchek' (did you mean 'memcheck'?); known: memcheck, "),
        (["--sanitize", "tiled"], "--sanitize: unknown tool 'tiled'; name VARIANTs before --sanitize; known: "),
        (["nive", "--sanitize"], "unknown variant 'nive' (did you mean 'naive'?)"),
        (["tiled", "--sanitize", "memcheck", "--param", "TIL=8"], "no chosen variant has a parameter 'TIL'"),
    ],
)
def test_bad_input_is_refused(sanitize, arguments, words):
    said, calls = sanitize(*arguments)
    assert (said.code, said.out, calls) == (2, "", [])
    assert words in said.err


def test_a_tool_that_may_not_watch_ends_the_command(sanitize):
    said, _ = sanitize("tiled", "--sanitize", logs={"tiled": "========= Device not supported.\n"})
    assert said.code == 3
    assert "compute-sanitizer cannot watch this GPU: Device not supported." in said.err


def test_a_missing_tool_is_told(gemmbench, gpu, monkeypatch):
    monkeypatch.setattr(tools, "find_tool", lambda tool, beside: None)
    said = gemmbench("verify", "tiled", "--sanitize")
    assert (said.code, said.out) == (3, "")
    assert "no compute-sanitizer found: it comes with the CUDA toolkit" in said.err


def test_without_a_gpu_there_is_nothing_to_watch(gemmbench):
    said = gemmbench("verify", "tiled", "--sanitize", "memcheck", "--device", "cpu")
    assert (said.code, said.out) == (3, "")
    assert said.err == "gemmbench: --sanitize needs an NVIDIA GPU: --device cpu is not a GPU\n"


def test_a_variant_that_dispatches_is_one_row_and_is_not_split(sanitize, write_kernel):
    write_kernel("best.cu", symbol=None, grid=None, block=None, body="", pick=["variant: tiled\n    params: {TILE: 8}"])
    said, (call,) = sanitize("best", "--kernels", "kernels", "--sanitize", "memcheck", logs={"best": INVALID})
    assert said.code == 1
    assert rows(said) == [["best", "-", "memcheck", "3", "errors"]]
    assert "--param" not in call and "--kernels kernels" in call
