"""Bad input: the message names the place, the fault and the next step; exit code 2 or 3; no traceback."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gemmbench.backends.cuda.system import probe
from gemmbench.planning.sweeps import planned_sweep

ROOT = Path(__file__).resolve().parents[2]
FAST = ["--sizes", "16", "--rounds", "2", "--cache", "hot"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "tield"], "unknown kernel 'tield' (did you mean 'tiled'"),
        (["run", "--baseline", "cubals"], "unknown kernel 'cubals' (did you mean 'cublas'"),
        (
            ["compare", "naive", "tield"],
            "unknown kernel 'tield' (did you mean 'tiled'",
        ),
        (["run", "-c", "quik"], "unknown config 'quik' (did you mean 'quick'?); "),
        (["run", "-c", "no/such.yaml"], "no such file: no/such.yaml; write its path"),
        (
            ["run", "tiled", "--param", "TILES=8"],
            "none of the chosen kernels has a parameter 'TILES' (did you mean 'TILE'?); known: TILE",
        ),
        (["run", "naive", "--param", "BX"], "cannot parse --param 'BX'; write --param BM=64,128 or --param all"),
        (["run", "--precision", "f31"], "unknown precision 'f31' (did you mean 'f32'?); known: f32, tf32"),
        (["run", "--layout", ""], "layouts: empty name in ''; give at least one"),
        (["run", "--layout", "nnn"], "unknown layout 'nnn' (did you mean 'nn'?); known: nn, nt, tn, tt"),
        (
            ["run", "--sizes", "1k"],
            "'1k' is not a size; write 1024, 1024x768x512, 512:4096:512, 64*512 or 512+0+33x768x512",
        ),
        (["run", "--sizes", "16,0"], "size '0': 0 is not positive; a matrix needs at least one row and column"),
        (["run", "--sizes", "-16"], "size '-16': -16 is not positive"),
        (["run", "--sizes", "9999999999"], "size '9999999999': 9999999999 is too large; the largest"),
        (
            ["run", "--sizes", "16,40000"],
            "size 40000: its operands need 17.9 GiB, but the fake device has 1.0 GiB; choose a smaller size",
        ),
        (["run", "--rounds", "0"], "rounds: 0 is below 1; give at least 1"),
        (["run", "--max-time", "0"], "max_time: 0.0 s leaves no time; give a positive number of seconds"),
        (["run", "--seed", "-1"], "seed: -1 is negative; give 0 or more"),
        (["run", "--alpha", "nan"], "alpha"),
        (["run", "--beta", "inf"], "beta"),
        (["run", "--kernels", "nowhere"], "no folder of kernels at nowhere; give --kernels a folder with .cu files"),
        (["verify", "nive"], "unknown kernel 'nive' (did you mean 'naive'"),
        (["verify", "naive", "--sizes", "0"], "size '0': 0 is not positive"),
        (["verify", "naive", "--layout", "nx"], "unknown layout 'nx'"),
        (["verify", "naive", "--precision", "f31"], "unknown precision 'f31' (did you mean 'f32'?)"),
        (["verify", "naive", "--sizes", "100000"], "size 100000: its operands need 149.0 GiB, but the fake device has"),
        (["verify", "naive", "--seed", "-5"], "seed: -5 is negative"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(refused, arguments, message):
    sizes = [] if "--sizes" in arguments else ["--sizes", "16"]
    assert refused(*arguments, "--device", "fake", *sizes).startswith(message)


def test_an_unknown_command_is_answered_with_the_nearest(gemmbench):
    said = gemmbench("verfy", "tiled")
    assert said.code == 2 and "No such command 'verfy' (did you mean 'verify'?)" in said.err


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("cudo", "unknown device 'cudo' (did you mean 'cuda'?); choose auto, cuda, cuda:N or cpu"),
        ("cpu:1", "unknown device 'cpu:1' (did you mean 'cpu'?); choose auto, cuda, cuda:N or cpu"),
        ("cuda:", "unknown device 'cuda:' (did you mean 'cuda'?)"),
        ("cuda:one", "unknown device 'cuda:one'"),
        ("cuda:²", "unknown device 'cuda:²'"),
        ("", "unknown device ''"),
        ("fake:none.yaml", "none.yaml: cannot be read: No such file or directory"),
    ],
)
def test_an_unknown_device_offers_the_nearest(refused, device, message):
    assert refused("run", "naive", "--device", device, *FAST).startswith(message)


def test_an_output_folder_that_cannot_be_written_is_named(refused, tmp_path):
    (tmp_path / "taken").write_text("")
    message = refused("run", "naive", "--out", "taken/here", "--device", "fake", *FAST)
    assert message.startswith("cannot write results to taken/here/") and message.endswith("; choose another --out")


def test_an_export_that_cannot_be_written_loses_no_results(gemmbench, tmp_path, saved):
    (tmp_path / "taken").write_text("")
    said = gemmbench("run", "naive", "--export-csv", "taken/x.csv", "--device", "fake", *FAST)
    assert said.code == 2 and "% of cublas" in said.out
    assert said.err.startswith(f"results: results/{saved()[0].name} and ")
    assert "cannot write taken/x.csv: " in said.err and said.err.endswith("; choose another path\n")
    assert len(saved()[1]) == 2


@pytest.mark.parametrize(
    "arguments", ["run --cache warm", "run --data noise", "run --rounds x", "run --format word", "rum"]
)
def test_click_refuses_what_is_no_option_of_its(gemmbench, arguments):
    said = gemmbench(*arguments.split())
    assert (said.code, said.out) == (2, "") and "Error: " in said.err


def test_cuda_that_is_not_there_ends_with_3_and_says_why(refused, monkeypatch):
    monkeypatch.setattr(probe, "why_no_gpu", lambda: "no NVIDIA driver")
    for device in ("cuda", "cuda:1"):
        message = refused("run", "naive", "--device", device, *FAST, code=3)
        assert message == f"device {device} cannot be used: no NVIDIA driver; see gemmbench doctor, or use --device cpu"


def test_nvcc_that_is_missing_ends_with_3_and_says_where_from(refused, monkeypatch):
    monkeypatch.setenv("CUDACXX", "/no/such/nvcc")
    assert "/no/such/nvcc" in refused("inspect", "naive", "--arch", "90", code=3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tield"], "unknown kernel 'tield' (did you mean 'tiled'"),
        (["openblas"], "openblas is not a .cu file, so nvcc has nothing to compile"),
        (["naive", "--arch", "hopper"], "unknown architecture 'hopper' in --arch; write a compute capability"),
        (["naive", "--arch", "sm_9"], "unknown architecture 'sm_9' in --arch"),
        (["naive", "--sizes", "x"], "'x' is not a size"),
        (["tiled", "--param", "TILES=8"], "none of the chosen kernels has a parameter 'TILES'"),
    ],
)
def test_inspect_refuses_what_it_cannot_look_into(refused, monkeypatch, arguments, words):
    monkeypatch.setenv("CUDACXX", sys.executable)
    assert words in refused("inspect", *arguments)


def test_a_cache_that_cannot_be_written_ends_with_3_and_the_variable(refused, tmp_path, monkeypatch):
    (tmp_path / "taken").touch()
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path / "taken"))
    message = refused("run", "naive", "--device", "cpu", "--sizes", "8", *FAST, code=3)
    assert message.startswith(f"cannot write compiled code to {tmp_path}/taken: ")
    assert message.endswith("; set GEMMBENCH_CACHE_DIR to another folder")


def test_a_range_of_very_many_sizes_is_refused_before_it_fills_the_memory():
    command = "gemmbench run naive --device fake --sizes 1:2147483647:1 --dry-run"
    call = ["bash", "-c", f"ulimit -v 1000000; exec {sys.executable} -m {command}"]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "1:2147483647:1" in done.stderr and "Traceback" not in done.stderr


LONG = "9" * 5000
TOO_LONG = "a number of 5,000 digits is too long; it may have at most 18"
CONFIGS = {
    "axes": ("naive", f"axes: {{M: {[*range(1, 3163)]}, N: {[*range(1, 3163)]}, K: [8]}}", "9,998,244"),
    "ranges": ("naive", f"sizes: {['1:9999:1'] * 160}", "1,599,840"),
    "configurations": ("blocktile_2d: all", "sizes: ['1:9999:1']\nlayouts: [nn, nt, tn, tt]", "4,359,564"),
    "variants": (", ".join(["naive"] * 200), "sizes: ['1:9999:1']", "1,999,800"),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_millions_of_plans_are_counted_and_refused(refused, tmp_path, name):
    variants, keys, count = CONFIGS[name]
    (tmp_path / "huge.yaml").write_text(f"variants: [{variants}]\n{keys}\n")
    said = refused("run", "-c", "huge.yaml", "--device", "fake")
    assert said.startswith(count) and "plans are too many; at most 100,000 are allowed; choose fewer sizes" in said


@pytest.mark.parametrize("arguments", [["run", "naive"], ["verify"], ["compare", "naive", "tiled"]])
def test_so_are_those_of_options(refused, arguments):
    sizes = ",".join(["1:10000:1"] * 101)
    assert "plans are too many; at most 100,000" in refused(*arguments, "--device", "fake", "--sizes", sizes)


def test_plans_whose_expressions_take_long_are_refused(refused, monkeypatch):
    monkeypatch.setattr(planned_sweep, "MOST_SECONDS", 0.0)
    said = refused("run", "tiled", "--device", "fake", "--sizes", "64", "--dry-run")
    assert re.match(r"\S+: planning takes more than \S+ s; choose fewer sizes or values of parameters", said)


def test_many_plans_are_made_one_after_the_other(gemmbench):
    said = gemmbench("run", "naive", "--sizes", "1:2000:1", "--dry-run", "--device", "fake")
    assert said.code == 0 and "4000 rows would run; the first 1,000 are listed." in said.out
    assert len(said.out.splitlines()) < 1010


@pytest.mark.parametrize(
    "option", [["--param", f"TILE={LONG}"], ["--alpha", LONG], ["--beta", LONG], ["--seed", LONG], ["--rounds", LONG]]
)
def test_a_number_of_thousands_of_digits_is_refused(gemmbench, option):
    said = gemmbench("run", "tiled", "--device", "fake", *option)
    assert said.code == 2 and TOO_LONG in said.err and len(said.err) < 500


@pytest.mark.parametrize("key", ["alpha: ", "sizes: [1]\nmeasure:\n  seed: ", "params:\n  TILE: "])
def test_so_is_one_of_a_config(refused, tmp_path, key):
    (tmp_path / "long.yaml").write_text(f"variants: [tiled]\n{key}{LONG}\n")
    assert refused("run", "-c", "long.yaml", "--device", "fake").endswith(TOO_LONG)


def test_so_is_one_of_a_manifest(refused, write_kernel):
    write_kernel("mine.cu", order=LONG)
    said = refused("run", "mine", "--kernels", "kernels", "--device", "fake")
    assert said == f"kernels/mine.cu:3: number: {TOO_LONG}"
