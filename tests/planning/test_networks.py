"""Networks, the configs that ask for them, and the launches that compute them."""

import pytest

from gemmbench.backends.registry import list_library_variants
from gemmbench.errors import SpecError, UsageError
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog, read_variant
from gemmbench.planning.network_sweeps import (
    NetworkRowChoice,
    plan_chains,
    read_network_post,
    read_network_sweep,
)
from gemmbench.planning.networks import Network, change_batch, make_network
from gemmbench.planning.plans.plan import Skip, list_plans
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.run_request import RunRequest, make_request

POST = Network((784, 100, 100, 10), ("relu", "relu", "softmax"), 256)


@pytest.fixture
def planned(gpu, cpu):
    """The row of a variant, or its rows if there are several."""
    catalog = Catalog([data_folder("cuda")], list_library_variants())

    def plan(name, params=None, of=POST, targets=(gpu, cpu)):
        choice = NetworkRowChoice(name.removesuffix("+graph"), name.endswith("+graph"), params or {})
        rows, by_kind = [(choice, catalog.get(choice.variant))], {target.kind: target for target in targets}
        found = plan_chains(of, rows, targets[0].kind, by_kind, lambda *_: "")
        return found[0] if len(found) == 1 else found

    return plan


def test_a_network_is_counted():
    assert (POST.layers, POST.problem, POST.layer(1)) == (
        3,
        Problem(256, 10, 784),
        Problem(256, 100, 100, epilogue=("bias", "relu")),
    )
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
        (
            ["784x100", "90x10"],
            ["relu", "softmax"],
            1,
            "90x10 does not fit 784x100: layer 1 gives 100 values, but layer 2",
        ),
        (["784x100"], ["relu", "relu"], 1, "2 for 1 layers; give one for each layer"),
        (["784x100"], ["rely"], 1, "unknown 'rely' (did you mean 'relu'?); known: linear, relu, softmax"),
        (["4x4", "4x4"], ["softmax", "relu"], 1, "softmax after layer 1 of 2; only the last layer may have it"),
        (["784"], ["relu"], 1, "'784' is not a layer; write inputs x outputs, both positive, such as 784x100"),
        (["0x10"], ["relu"], 1, "'0x10' is not a layer"),
        ([], [], 1, "layers: no layers given"),
        (["4x4"], ["relu"], 0, "batch: 0 is not positive; a batch needs at least one row, such as 256"),
        (["4x4"], ["relu"], 2**31, "the most that a kernel's int can count"),
    ],
)
def test_a_faulty_network_is_refused_with_the_fix(layers, activations, batch, message):
    with pytest.raises(UsageError) as fault:
        make_network(layers, activations, batch)
    assert message in str(fault.value)


def test_another_batch_is_the_same_network():
    assert change_batch(POST, 7) == make_network(["784x100", "100x100", "100x10"], POST.activations, 7)


LINEAR = Network((8, 4), ("linear",), 2)


@pytest.mark.parametrize(
    ("name", "network", "launches"),
    [
        ("tiled", POST, ["tiled+bias+relu", "tiled+bias+relu", "tiled+bias", "softmax+softmax"]),
        ("cublaslt", POST, ["cublaslt+bias+relu", "cublaslt+bias+relu", "cublaslt+bias", "softmax+softmax"]),
        ("cublas", POST, ["cublas", "elementwise+bias+relu"] * 2 + ["cublas", "softmax+bias+softmax"]),
        ("mlp_fused", POST, ["mlp_fused"]),
        ("mlp_cluster", POST, ["mlp_cluster"]),
        ("tiled", LINEAR, ["tiled+bias"]),
        ("naive", LINEAR, ["naive", "elementwise+bias"]),
    ],
)
def test_what_a_kernel_cannot_fuse_is_a_launch_of_its_own(planned, name, network, launches):
    assert planned(name, of=network).launches == launches


def test_the_macros_say_what_is_fused(planned, expand):
    first, _, last, _ = planned("tiled").steps
    (plain,) = expand(first.variant)
    found = [(dict(step.defines)["BIAS"], dict(step.defines)["RELU"]) for step in (first, last, plain)]
    assert found == [("1", "1"), ("1", "0"), ("0", "0")]


def test_a_network_kernel_is_planned_with_the_names_of_the_network_and_is_no_gemm(planned, expand, gpu):
    (step,) = planned("mlp_cluster").steps
    assert (step.geometry.grid, step.geometry.block) == ((16 * 4, 1, 1), (256, 1, 1))
    assert step.geometry.shared < gpu.smem // 2
    assert dict(step.defines)["SIZES"] == "784, 100, 100, 10"
    (fused,) = planned("mlp_fused").steps
    assert fused.geometry.grid == (256, 1, 1)
    (skip,) = expand(fused.variant)
    assert isinstance(skip, Skip)
    assert skip.reason == "computes a whole network, not a GEMM; use gemmbench mlp mlp_fused"


WIDE = Network((784, 4000, 10), ("relu", "softmax"), 256)
DEEP = Network((784, 300, 300, 10), ("relu", "relu", "softmax"), 256)


@pytest.mark.parametrize(
    ("name", "params", "network", "reason"),
    [
        ("mlp_cluster", {}, WIDE, "require FIRST //"),
        ("mlp_cluster", {}, DEEP, "bytes of shared memory; a block may have"),
        ("blocktile_2d", {"BM": (16,), "BN": (16,)}, POST, "layer 1: require BM * BN"),
    ],
)
def test_a_network_or_a_layer_that_a_kernel_cannot_take_is_a_skip_with_the_line(planned, name, params, network, reason):
    row = planned(name, params, network)
    assert reason in row.reason and row.launches == []


def test_a_graph_needs_a_gpu(planned, cpu):
    assert planned("cublas+graph").name == "cublas+graph"
    assert "needs an NVIDIA GPU, but" in planned("tiled+graph", targets=[cpu]).reason


def test_every_configuration_is_a_row_and_plans_are_compiled_once(planned):
    rows = planned("mlp_fused", {"ROWS": (2, 4), "THREADS": (256,)})
    assert [str(row.config) for row in rows] == [f"ROWS={rows} THREADS=256 DEPTH=4" for rows in (2, 4)]
    assert len(list_plans([planned("cublas"), planned("cublas+graph")])) == 6


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
def read(tmp_path):
    """Read the config, a text in it replaced by another, with options of the command line."""

    def read(old="", new="", on_cpu=False, **options):
        path = tmp_path / "mine.yaml"
        path.write_text(CONFIG.replace(old, new))
        changes = {name: options.pop(name) for name in ("batch", "weights") if name in options}
        return read_network_sweep(make_request(str(path), **options), on_cpu, **changes)

    return read


def test_a_config_is_read_and_on_a_cpu_its_own_keys_are_in_force(read):
    sweep = read()
    assert (sweep.name, sweep.network, sweep.weights) == ("mine", Network((8, 6, 3), ("relu", "softmax"), 5), None)
    assert [(row.name, row.line) for row in sweep.rows] == [("tiled", 6), ("cublas+graph", 7)]
    assert (sweep.rows[0].params, sweep.rows[0].label, sweep.rows[0].published_ms) == ({"TILE": (8, 16)}, "tiles", 2.0)
    assert sweep.policy.cache == "cold"
    sweep = read(on_cpu=True)
    assert ([row.name for row in sweep.rows], sweep.network.batch) == (["tiled"], 4)


def test_the_command_line_has_the_last_word(read):
    sweep = read(variants=("tiled", "naive+graph"), params=("TILE=32",), batch=9, baseline="tiled", cache="hot")
    assert [(row.name, row.label) for row in sweep.rows] == [("tiled", "tiles"), ("naive+graph", "")]
    assert (sweep.rows[0].params, sweep.network.batch, sweep.baseline) == ({"TILE": (32,)}, 9, "tiled")
    assert sweep.policy.cache == "hot"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("6x3", "5x3", r"mine\.yaml:2: layers: 5x3 does not fit 8x6"),
        ("softmax", "sigmoid", r"mine\.yaml:3: activations: unknown 'sigmoid'"),
        ("batch: 5", "batch: 0", r"mine\.yaml:4: batch: 0 is not positive"),
        ("batch: 5", "batch: many", r"mine\.yaml:4: batch: should be a whole number"),
        ("baseline: cublas+graph", "baseline: {a: 1}", "baseline: should be text"),
        ("params: {", "parms: {", r"mine\.yaml:6: unknown key 'parms' \(did you mean .params.*; known: variant"),
        ("on_cpu", "weights: none.npz\non_cpu", r"mine\.yaml:9: weights: no file .*none\.npz; give a \.npz"),
    ],
)
def test_a_fault_in_a_config_names_its_line(read, old, new, message):
    with pytest.raises(SpecError, match=message):
        read(old, new)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"weights": "none.npz"}, r"weights: no file none\.npz"), ({"batch": 0}, "--batch 0: 0 is not positive")],
)
def test_a_fault_of_the_command_line_is_blamed_on_it(read, options, message):
    with pytest.raises(UsageError, match=message):
        read(**options)


def test_a_sweep_is_no_network():
    with pytest.raises(SpecError, match=r"configs/quick\.yaml.*no `layers`"):
        read_network_sweep(RunRequest(config="quick"), on_cpu=False)


@pytest.mark.parametrize("on_cpu", [False, True])
def test_the_config_of_the_post_has_its_network_and_its_rows(on_cpu):
    sweep = read_network_sweep(RunRequest(config="posts/003-neural-network"), on_cpu)
    assert sweep.network == POST
    assert sweep.weights is not None
    published = [row for row in sweep.rows if row.published_ms]
    assert [row.published_ms for row in published] == [22, 43.22, 21.25, 6.5]
    assert [row.step for row in published] == [False, True, True, True]
    assert sweep.baseline == ("openblas" if on_cpu else "cublas+graph")


def test_published_times_are_those_of_the_batch_of_the_config():
    sweep = read_network_sweep(RunRequest(config="posts/003-neural-network"), on_cpu=False, batch=512)
    assert [row.published_ms for row in sweep.rows if row.published_ms] == []
    assert sweep.rows[0].label == "CPU"


def test_the_larger_batch_of_the_post_has_the_same_rows():
    small, large = (
        read_network_sweep(RunRequest(config=f"posts/003-neural-network{which}"), on_cpu=False)
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


def test_an_epilogue_is_declared_in_the_manifest(tmp_path):
    tiled = data_folder("cuda") / "tiled.cu"
    assert read_variant(tiled).epilogue == ("bias", "relu")
    for written in ("2^-11", 2**-11):
        (tmp_path / "mine.cu").write_text(tiled.read_text().replace("[bias, relu]", f"[silu]\napprox: {written}"))
        assert read_variant(tmp_path / "mine.cu").approx == 2**-11
    for changed, message in (
        (
            "epilogue: [bias, rely]",
            r"epilogue: unknown 'rely' \(did you mean 'relu'\?\); known: bias, residual, scale, relu, ",
        ),
        ("epilogue: [bias, bias]", "epilogue: bias occurs twice; name it once"),
        ("epilogue: [bias]\napprox: 2^-11", "approx: no gelu, gelu_tanh or silu in `epilogue` could be approximated"),
        (
            "epilogue: [gelu]\napprox: 2^11",
            r"approx: '2\^11' is not between 0 and 2\^-6; write the largest error, such",
        ),
        ("epilogue: [gelu]\napprox: 0", "approx: '0' is not between 0"),
        ("computes: gems", r"computes: unknown 'gems' \(did you mean 'gemm'\?\); known: gemm, mlp"),
    ):
        (tmp_path / "mine.cu").write_text(tiled.read_text().replace("epilogue: [bias, relu]", changed))
        with pytest.raises(SpecError, match=message):
            read_variant(tmp_path / "mine.cu")
