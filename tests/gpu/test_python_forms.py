"""Python functions as people write them, on a GPU: each key of the manifest, hostile twins, no manifest."""

import json
import shutil
from importlib import import_module
from pathlib import Path

import pytest

from tests.gpu.foreign_runs import gemmbench, run_among_healthy
from tests.gpu.test_python_variants import IS_SHARED, need

FOLDER = Path(__file__).parents[1] / "foreign" / "python"
EXAMPLES = Path(__file__).parents[2] / "examples" / "python"
WRITTEN = Path(__file__).parents[1] / "foreign" / "python_as_written"
SIZE = "35x129x133"
TIMED = "385x449x517"
"""Large enough for a window to need dozens of operand sets instead of thousands, and short enough for graphs."""
HONEST = (
    "returns_result",
    "returns_transposed_memory",
    "returns_from_cupy",
    "returns_alpha_beta",
    "default_stream_declared",
    "joins_its_stream",
    "prepares_b",
    "views_of_operands",
    "takes_batches",
    "looks_at_clocks",
    "remembers_workspaces",
    "computes_in_a_subclass",
    "numba_product",
)
PACKAGES = {"returns_from_cupy": "cupy", "numba_product": "numba"}
"""What a function imports, if not PyTorch."""
NO_GRAPHS = {
    "default_stream_declared": "launches on the default stream, which cannot be recorded as a CUDA graph",
    "prepares_b": "prepares B before launches",
}
APART = (*NO_GRAPHS, "joins_its_stream", *PACKAGES)
"""Functions that are timed in a run of their own, because no row is a graph where one cannot be recorded."""
NOTHING = "computed nothing: it returned an earlier result, or memory that it did not write"
HOSTILE = {
    "returns_first_result": ("failed", NOTHING),
    "remembers_addresses": ("failed", NOTHING),
    "returns_one_buffer": ("failed", "returned the same memory for several launches"),
    "returns_from_side_stream": (
        "failed",
        "launched on another stream: its result was there while the stream was held",
    ),
    "setup_computes_product": ("wrong", ""),
    "setup_raises": ("failed", "setup_raises.py:16: ValueError: cannot pack "),
    "returns_part_of_a": ("failed", "returned the memory of its argument A; allocate the result"),
    "returns_unwritten": ("wrong", "never written"),
    "returns_lazy": ("failed", "Lazy; return a torch.Tensor"),
    "returns_wrong_type": ("failed", "returned an array of float16; C is float32"),
    "returns_wrong_shape": ("failed", "returned an array of "),
    "returns_on_host": ("failed", "returned an array on cpu; return it on the GPU of A and B"),
    "patches_clock": ("failed", "patches_clock.py replaces Event.time_since of code that measures and compares"),
    "patches_comparison": ("failed", "replaces numpy.array_equal of code that measures and compares"),
    "patches_copy": ("failed", ""),  # it computes nothing in its call, and it replaces what reads its result
    "computes_in_thread": (
        "failed",
        "launched on another stream: its result was there while the stream was held",
    ),
    "computes_in_half": ("wrong", ""),
    "stops_computing": ("wrong", ""),
    "keys_results_by_samples": ("wrong", ""),
    "returns_zeros": ("wrong", ""),
    "returns_nothing": ("failed", "returned nothing; return a torch.Tensor"),
}


def run(folder, names):
    limits = "--max-time", "0.2", "--compile-limit", "120", "--launch-limit", "20"
    return run_among_healthy(folder, names, "--kernels", FOLDER, "--sizes", TIMED, "--rounds", "10", *limits)


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """Functions that are right, by name."""
    need("torch", "cupy", "numba")
    recorded = [name for name in HONEST if name not in APART]
    return run(tmp_path_factory.mktemp("recorded"), recorded) | run(tmp_path_factory.mktemp("apart"), list(APART))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Functions whose results cannot be trusted."""
    need("torch")
    return run(tmp_path_factory.mktemp("hostile"), list(HOSTILE))


@pytest.mark.parametrize("name", HONEST)
def test_a_function_that_is_right_is_ok_and_names_its_packages(honest, name):
    row = honest[name]
    if "module 'numpy' has no attribute" in row["reason"]:
        pytest.skip(f"this {PACKAGES[name]} needs an older NumPy")
    assert row["status"] == "ok", row["reason"]
    assert row["libraries"][PACKAGES.get(name, "torch")].count(".") >= 1


@pytest.mark.parametrize("name", [name for name in HONEST if name not in APART])
def test_what_is_returned_is_recorded_as_a_graph(honest, name):
    row = honest[name]
    if IS_SHARED and not row["graph"]:
        pytest.skip("launches were not short beside other tests: run pytest without -n")
    assert (row["graph"], row["no_graph"]) == (True, "")


@pytest.mark.parametrize("name", NO_GRAPHS)
def test_a_function_that_cannot_be_recorded_says_why_and_is_behind_the_gate(honest, name):
    row = honest[name]
    assert not row.get("graph") and NO_GRAPHS[name] in row["no_graph"]
    assert row.get("gated", True)


def test_the_time_of_setup_is_in_its_row_alone(honest):
    assert honest["prepares_b"]["setup_seconds"] > 0
    assert not any(row.get("setup_seconds") for name, row in honest.items() if name != "prepares_b")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_function_ends_in_its_row_with_its_cause(hostile, name):
    status, words = HOSTILE[name]
    assert hostile[name]["status"] == status, hostile[name]["reason"]
    assert words in hostile[name]["reason"]


@pytest.mark.parametrize("name", [name for name in HONEST if name != "takes_batches"])
def test_a_function_is_right_at_every_usual_size(tmp_path, name):
    need(PACKAGES.get(name, "torch"))
    done = gemmbench(tmp_path, "verify", FOLDER / f"{name}.py", "--sizes", f"1,17,{SIZE},300x200x100")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_function_that_takes_batches_gets_all_products_at_once(tmp_path):
    need("torch")
    done = gemmbench(tmp_path, "verify", FOLDER / "takes_batches.py", "--sizes", f"{SIZE},3*{SIZE}")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "sizes", "precision"),
    [
        (FOLDER / "takes_groups.py", "64+0+40+1x128x96", "f32"),
        ("torch_grouped_mm", "64+0+40+1x128x96", "bf16"),
        ("torch_scaled_mm", "64x128x96,2048", "e4m3,e4m3_fast"),
    ],
)
def test_a_function_of_groups_or_scales_is_right(tmp_path, name, sizes, precision):
    need("torch")
    if name == "torch_grouped_mm" and not hasattr(import_module("torch"), "_grouped_mm"):
        pytest.skip("this PyTorch has no _grouped_mm")
    done = gemmbench(tmp_path, "verify", name, "--sizes", sizes, "--precision", precision)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "sizes", "packages"),
    [
        ("gluon_matmul.py", "256,520x264x72,4096", ("torch", "triton")),
        ("cupy_wmma.py", "256,384x512x96", ("cupy",)),
        ("kernelbench.yaml", "256,384x512x96", ("torch",)),
        ("kernelbench.py", "4096", ("torch",)),
        ("quack_gemm.py", "256,520x264x72,4096,3*256x128x64,128+0+40x256x128", ("torch", "quack")),
        ("deep_gemm_bf16.py", "256,520x264x128,4096,128+0+256x256x128", ("torch", "deep_gemm")),
    ],
)
def test_an_example_is_right(tmp_path, monkeypatch, name, sizes, packages):
    need(*(each for each in packages if not (EXAMPLES / "packages" / each).is_dir()))
    if name.startswith("kernelbench") and shutil.which("ninja") is None:
        pytest.skip("load_inline needs ninja")
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "extensions"))
    untuned = ["--param", "TUNED=0"] if name == "quack_gemm.py" else []
    done = gemmbench(tmp_path, "verify", EXAMPLES / name, "--sizes", sizes, "--compile-limit", "400", *untuned)
    assert done.returncode == 0 and "skipped:" not in done.stdout, done.stdout + done.stderr


def test_parameters_of_a_python_kernel_are_searched_and_wrong_ones_do_not_win(tmp_path, monkeypatch):
    need("torch", "triton")
    monkeypatch.setenv("GEMMBENCH_DATA_DIR", str(tmp_path / "data"))
    limits = "--max-time", "0.2", "--compile-limit", "120"
    done = gemmbench(tmp_path, "tune", FOLDER / "tuned_tiles.py", "--sizes", "512", *limits)
    assert done.returncode in (0, 1) and "Tried 12 of 12 configurations" in done.stdout, done.stdout + done.stderr
    (path,) = (tmp_path / "results").glob("*.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    tried = [row for row in rows if row["row"] == "record" and row["config"]]
    outcomes = {(row["config"]["SHORT"], row["status"]) for row in tried}
    assert outcomes == {(0, "ok"), (1, "wrong")}, [(row["config"], row["status"], row["reason"]) for row in tried]
    assert "SHORT=0" in done.stdout.partition(": best ")[2].splitlines()[0], done.stdout


def test_a_pass_follows_a_function_that_writes_c_on_its_stream(tmp_path):
    need("torch")
    epilogue = "--sizes", SIZE, "--epilogue", "bias,relu"
    done = gemmbench(tmp_path, "verify", FOLDER / "takes_batches.py", *epilogue)
    assert done.returncode == 0, done.stdout + done.stderr
    timed = "--sizes", TIMED, "--epilogue", "bias,relu", "--max-time", "0.2"
    done = gemmbench(tmp_path, "run", FOLDER / "takes_batches.py", "tiled", *timed)
    assert done.returncode == 0, done.stdout + done.stderr
    done = gemmbench(tmp_path, "verify", FOLDER / "returns_result.py", *epilogue)
    assert "returns its result, so no pass can apply --epilogue to C" in done.stdout


def test_a_function_without_batches_is_called_for_each_product(tmp_path):
    need("torch")
    done = gemmbench(tmp_path, "verify", FOLDER / "returns_result.py", "--sizes", f"3*{SIZE}")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "packages"),
    [
        ("model_new", ("torch",)),
        ("submission", ("torch",)),
        ("submission_in_place", ("torch",)),
        ("triton_function", ("torch", "triton")),
    ],
)
def test_a_file_as_it_was_written_gets_a_verdict_in_one_command(tmp_path, monkeypatch, name, packages):
    need(*packages)
    if name == "model_new" and shutil.which("ninja") is None:
        pytest.skip("load_inline needs ninja")
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "extensions"))
    done = gemmbench(tmp_path, "verify", WRITTEN / f"{name}.py", "--compile-limit", "400")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "has no manifest; it is called as" in done.stderr


def test_a_file_as_it_was_written_is_timed(tmp_path):
    need("torch")
    command = "run", WRITTEN / "submission.py", "--sizes", "256", "--precision", "f16", "--rounds", "4"
    done = gemmbench(tmp_path, *command, "--max-time", "0.2")
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (tmp_path / "results").glob("*.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["status"] for row in rows if row["row"] == "record" and row["variant"].endswith("submission.py")] == [
        "ok"
    ]
