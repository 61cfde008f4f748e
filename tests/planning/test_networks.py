"""Networks, the configs that ask for them, and the launches that compute them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemmbench.backends.registry import list_library_variants, why_refused
from gemmbench.errors import SpecError, UsageError
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog, read_variant
from gemmbench.planning.network_sweeps import (
    NetworkOverrides,
    NetworkRowChoice,
    plan_chains,
    read_network_post,
    read_network_sweep,
    read_passes,
)
from gemmbench.planning.networks import Network, change_batch, make_network
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Config, Plan, Skip, Target, list_plans
from gemmbench.planning.problems import Problem

POST = Network((784, 100, 100, 10), ("relu", "relu", "softmax"), 256)
GPU = Target("cuda", sm=90, sms=132, smem=227 << 10, l2=50 << 20, memory=1 << 36)
CPU = Target("cpu", sm=0, sms=2, smem=227 << 10, l2=1 << 20, memory=1 << 36, is_gpu=False, has_graphs=False)


def planned(name: str, params: dict[str, tuple[int, ...]] | None = None, of: Network = POST, targets=None):
    catalog = Catalog([data_folder("cuda")], list_library_variants())
    choice = NetworkRowChoice(name.removesuffix("+graph"), name.endswith("+graph"), params or {})
    targets = targets or {"cuda": GPU, "cpu": CPU}
    primary = next(iter(targets))
    found = plan_chains(of, [(choice, catalog.get(choice.variant))], read_passes(), primary, targets, lambda *_: "")
    return found[0] if len(found) == 1 else found


def test_a_network_is_counted():
    assert (POST.layers, POST.problem, POST.layer(1)) == (3, Problem(256, 10, 784), Problem(256, 100, 100))
    assert POST.flops == 2 * 256 * (784 * 100 + 100 * 100 + 100 * 10)
    assert str(POST) == "784-100-100-10, relu relu softmax, batch 256"


def test_every_parameter_array_begins_at_a_multiple_of_256_bytes_and_none_overlap():
    places = sorted([*POST.weights_at, *POST.biases_at])
    assert [place % 64 for place in places] == [0] * 6
    sizes = [784 * 100, 100, 100 * 100, 100, 100 * 10, 10]
    ends = [place + size for place, size in zip(places, sizes, strict=True)]
    assert all(end <= place for end, place in zip(ends, [*places[1:], POST.parameters], strict=True))
    assert dict(POST.macros)["WEIGHTS_AT"] == "0, 78528, 88704"
    assert POST.names["REST"] == POST.parameters - POST.biases_at[0]


@pytest.mark.parametrize(
    ("layers", "activations", "batch", "message"),
    [
        (["784x100", "90x10"], ["relu", "softmax"], 1, "90x10 does not fit 784x100: layer 1 gives 100 values, layer 2"),
        (["784x100"], ["relu", "relu"], 1, "2 for 1 layers; give one for each layer"),
        (["784x100"], ["rely"], 1, "unknown 'rely' (did you mean 'relu'?); known: linear, relu, softmax"),
        (["4x4", "4x4"], ["softmax", "relu"], 1, "softmax after layer 1 of 2; only the last layer may have it"),
        (["784"], ["relu"], 1, "'784' is not a layer; write inputs x outputs, both positive, such as 784x100"),
        (["0x10"], ["relu"], 1, "'0x10' is not a layer"),
        ([], [], 1, "layers: no layers given"),
        (["4x4"], ["relu"], 0, "batch: 0 is not positive; a batch needs at least one row, such as 256"),
        (["4x4"], ["relu"], 2**31, "the most a kernel's int can count"),
    ],
)
def test_a_network_that_is_none_is_refused_with_the_fix(layers, activations, batch, message):
    with pytest.raises(UsageError) as fault:
        make_network(layers, activations, batch)
    assert message in str(fault.value)


def test_another_batch_is_the_same_network():
    assert change_batch(POST, 7) == make_network(["784x100", "100x100", "100x10"], POST.activations, 7)


# The launches of a row


@pytest.mark.parametrize(
    ("name", "launches"),
    [
        ("tiled", ["tiled+bias+relu", "tiled+bias+relu", "tiled+bias", "softmax+softmax"]),
        ("cublaslt", ["cublaslt+bias+relu", "cublaslt+bias+relu", "cublaslt+bias", "softmax+softmax"]),
        ("cublas", ["cublas", "activation+bias+relu"] * 2 + ["cublas", "softmax+bias+softmax"]),
        ("mlp_fused", ["mlp_fused"]),
        ("mlp_cluster", ["mlp_cluster"]),
    ],
)
def test_what_a_kernel_cannot_fuse_is_a_launch_of_its_own(name, launches):
    assert planned(name).launches == launches


def test_a_linear_layer_needs_a_bias_alone():
    linear = Network((8, 4), ("linear",), 2)
    assert planned("tiled", of=linear).launches == ["tiled+bias"]
    assert planned("naive", of=linear).launches == ["naive", "activation+bias"]


def test_the_macros_say_what_is_fused():
    first, last = planned("tiled").steps[0], planned("tiled").steps[2]
    assert dict(first.defines) | {"BIAS": "1", "RELU": "1"} == dict(first.defines)
    assert dict(last.defines) | {"BIAS": "1", "RELU": "0"} == dict(last.defines)
    plain = make_plans([Problem(8, 8, 8)], [(first.variant, [first.config])], "cuda", {"cuda": GPU}, why_refused)[0]
    assert isinstance(plain, Plan)
    assert dict(plain.defines) | {"BIAS": "0", "RELU": "0"} == dict(plain.defines)


def test_a_network_kernel_is_planned_with_the_names_of_the_network():
    (step,) = planned("mlp_cluster").steps
    assert step.geometry is not None
    assert (step.geometry.grid, step.geometry.block) == ((16 * 4, 1, 1), (256, 1, 1))
    assert step.geometry.shared < GPU.smem // 2
    assert dict(step.defines)["SIZES"] == "784, 100, 100, 10"
    assert planned("mlp_fused").steps[0].geometry.grid == (256, 1, 1)


def test_a_network_too_wide_for_a_kernel_is_a_skip_with_the_line():
    wide = Network((784, 4000, 10), ("relu", "softmax"), 256)
    assert "require FIRST //" in planned("mlp_cluster", of=wide).reason
    deep = Network((784, 300, 300, 10), ("relu", "relu", "softmax"), 256)
    assert "bytes of shared memory; a block may have" in planned("mlp_cluster", of=deep).reason


def test_a_layer_that_a_kernel_cannot_take_is_named():
    row = planned("blocktile_2d", {"BM": (16,), "BN": (16,)})
    assert row.reason.startswith("layer 1: require BM * BN")
    assert row.launches == []


def test_a_graph_needs_a_gpu():
    assert planned("cublas+graph").name == "cublas+graph"
    assert "needs an NVIDIA GPU" in planned("tiled+graph", targets={"cpu": CPU}).reason


def test_every_configuration_is_a_row_and_plans_are_compiled_once():
    rows = planned("mlp_fused", {"ROWS": (2, 4), "THREADS": (256,)})
    assert [str(row.config) for row in rows] == [f"ROWS={rows} THREADS=256 DEPTH=4" for rows in (2, 4)]
    assert len(list_plans([planned("cublas"), planned("cublas+graph")])) == 6


def test_a_network_kernel_is_no_gemm():
    variant = read_variant(data_folder("cuda") / "mlp" / "mlp_fused.cu")
    (skip,) = make_plans([Problem(8, 8, 8)], [(variant, [Config()])], "cuda", {"cuda": GPU}, lambda *_: "")
    assert isinstance(skip, Skip)
    assert skip.reason == "computes a whole network, not a GEMM; use gemmbench mlp mlp_fused"


# Configs

CONFIG = """
layers: [8x6, 6x3]
activations: [relu, softmax]
batch: 5
rows:
  - {variant: tiled, params: {TILE: [8, 16]}, label: tiles, published_ms: 2}
  - cublas+graph
baseline: cublas+graph
on_cpu:
  rows: [tiled]
  batch: 4
"""


@pytest.fixture
def config(tmp_path: Path):
    def write(text: str = CONFIG, **changed: str) -> str:
        path = tmp_path / "mine.yaml"
        lines = [f"{line.split(':')[0]}: {changed[key]}" if (key := line.split(":")[0]) in changed else line
                 for line in text.splitlines()]  # fmt: skip
        path.write_text("\n".join(lines))
        return str(path)

    return write


def test_a_config_is_read(config):
    sweep = read_network_sweep(config(), NetworkOverrides(), on_cpu=False)
    assert (sweep.name, sweep.network, sweep.weights) == ("mine", Network((8, 6, 3), ("relu", "softmax"), 5), None)
    assert [(row.name, row.line) for row in sweep.rows] == [("tiled", 6), ("cublas+graph", 7)]
    assert (sweep.rows[0].params, sweep.rows[0].label, sweep.rows[0].published_ms) == ({"TILE": (8, 16)}, "tiles", 2.0)
    assert sweep.policy.cache == "cold"


def test_on_a_cpu_its_own_keys_are_in_force(config):
    sweep = read_network_sweep(config(), NetworkOverrides(), on_cpu=True)
    assert ([row.name for row in sweep.rows], sweep.network.batch) == (["tiled"], 4)


def test_the_command_line_has_the_last_word(config):
    options = NetworkOverrides(
        variants=("tiled", "naive+graph"), params=("TILE=32",), batch=9, baseline="tiled", cache="hot"
    )
    sweep = read_network_sweep(config(), options, on_cpu=False)
    assert [(row.name, row.label) for row in sweep.rows] == [("tiled", "tiles"), ("naive+graph", "")]
    assert (sweep.rows[0].params, sweep.network.batch, sweep.baseline) == ({"TILE": (32,)}, 9, "tiled")
    assert sweep.policy.cache == "hot"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"layers": "[8x6, 5x3]"}, "mine.yaml:2: layers: 5x3 does not fit 8x6"),
        ({"activations": "[relu, sigmoid]"}, "mine.yaml:3: activations: unknown 'sigmoid'"),
        ({"batch": "0"}, "mine.yaml:4: batch: 0 is not positive"),
        ({"batch": "many"}, "mine.yaml:4: batch: Expected `int`"),
        ({"baseline": "{a: 1}"}, "baseline: Expected `str`"),
    ],
)
def test_a_fault_in_a_config_names_its_line(config, changed, message):
    with pytest.raises(SpecError) as fault:
        read_network_sweep(config(**changed), NetworkOverrides(), on_cpu=False)
    assert message in str(fault.value)


def test_an_unknown_key_of_a_row_is_told_with_the_keys_of_a_row(config):
    with pytest.raises(SpecError, match=r"mine\.yaml:6: unknown key 'parms' \(did you mean .params.*; known: variant"):
        read_network_sweep(config(CONFIG.replace("params: {TILE", "parms: {TILE")), NetworkOverrides(), on_cpu=False)


def test_a_missing_weights_file_is_told(config):
    with pytest.raises(SpecError, match=r"mine\.yaml:\d+: weights: no file .*none\.npz; name a \.npz"):
        read_network_sweep(config(CONFIG + "weights: none.npz\n"), NetworkOverrides(), on_cpu=False)
    with pytest.raises(UsageError, match=r"weights: no file none\.npz"):
        read_network_sweep(config(), NetworkOverrides(weights="none.npz"), on_cpu=False)


def test_a_batch_of_the_command_line_is_blamed_on_it(config):
    with pytest.raises(UsageError, match="--batch 0: 0 is not positive"):
        read_network_sweep(config(), NetworkOverrides(batch=0), on_cpu=False)


def test_a_sweep_is_no_network():
    with pytest.raises(SpecError, match=r"configs/quick\.yaml.*no `layers`"):
        read_network_sweep("quick", NetworkOverrides(), on_cpu=False)


@pytest.mark.parametrize("on_cpu", [False, True])
def test_the_config_of_the_post_has_its_network_and_its_rows(on_cpu):
    sweep = read_network_sweep("posts/003-neural-network", NetworkOverrides(), on_cpu)
    assert sweep.network == POST
    assert sweep.weights is not None
    published = [row for row in sweep.rows if row.published_ms]
    assert [row.published_ms for row in published] == [22, 43.22, 21.25, 6.5]
    assert [row.step for row in published] == [False, True, True, True]
    assert sweep.baseline == ("openblas" if on_cpu else "cublas+graph")


def test_published_times_are_those_of_the_batch_of_the_config():
    sweep = read_network_sweep("posts/003-neural-network", NetworkOverrides(batch=512), on_cpu=False)
    assert [row.published_ms for row in sweep.rows if row.published_ms] == []
    assert sweep.rows[0].label == "CPU"


def test_the_larger_batch_of_the_post_has_the_same_rows():
    small, large = (
        read_network_sweep(f"posts/003-neural-network{which}", NetworkOverrides(), on_cpu=False)
        for which in ("", "-large")
    )
    assert [(row.name, row.label, row.params, row.step) for row in small.rows] == [
        (row.name, row.label, row.params, row.step) for row in large.rows
    ]
    assert large.network.batch == 64 * small.network.batch


def test_a_network_may_name_its_post():
    post = read_network_post("posts/003-neural-network")
    assert (post.config, post.rows) == ("posts/003-neural-network", ())
    assert read_network_post("mlp") is None


# Manifests


def test_an_epilogue_is_declared_in_the_manifest(tmp_path):
    text = (data_folder("cuda") / "tiled.cu").read_text()
    assert read_variant(data_folder("cuda") / "tiled.cu").epilogue == ("bias", "relu")
    (tmp_path / "a.cu").write_text(text.replace("[bias, relu]", "[bias, rely]"))
    with pytest.raises(
        SpecError, match=r"epilogue: unknown 'rely' \(did you mean 'relu'\?\); known: bias, relu, softmax"
    ):
        read_variant(tmp_path / "a.cu")
    (tmp_path / "b.cu").write_text(text.replace("epilogue: [bias, relu]", "computes: gems"))
    with pytest.raises(SpecError, match=r"computes: unknown 'gems' \(did you mean 'gemm'\?\); known: gemm, mlp"):
        read_variant(tmp_path / "b.cu")
