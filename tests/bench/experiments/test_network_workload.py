"""The experiment on a network: references, parameters, rows on the fake device and on the CPU."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from gemmbench.backends import registry
from gemmbench.backends.cpu.backend import CpuBackend
from gemmbench.backends.cpu.translation import CpuCompiler
from gemmbench.backends.fake.backend import FakeBackend, FakeCompiler
from gemmbench.backends.fake.entry import describe_fake
from gemmbench.backends.fake.script import Script
from gemmbench.bench.experiments.network_workload import compute_outputs, make_inputs, network_workload
from gemmbench.bench.measured_sweep import ChainSweep, measure_sweep
from gemmbench.bench.operands.alterations import UNALTERED, draw_lines
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.operands.layouts import NetworkLayout
from gemmbench.bench.operands.network_parameters import (
    SIDE,
    Parameters,
    load_parameters,
    make_random_parameters,
    upscale_images,
)
from gemmbench.bench.operands.scratch import Scratch
from gemmbench.bench.runner import Runner
from gemmbench.bench.verify import network_reference as reference
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.errors import SpecError
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.network_sweeps import NetworkRowChoice, plan_chains, read_network_sweep
from gemmbench.planning.networks import Network
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.run_request import RunRequest

SMALL = Network((31, 20, 7, 5), ("relu", "relu", "softmax"), 13)
RANDOM = make_random_parameters(SMALL, 0)
DIGITS = data_folder("configs") / "mlp" / "digits.npz"
QUICK = Policy(rounds=2, max_time=0.05, window=1e-4)


def compute_in_float32(network, given, inputs):
    """Forward propagation as float32 does it."""
    h = inputs
    for w, b, activation in zip(given.weights, given.biases, network.activations, strict=True):
        h = h @ w + b
        h = np.maximum(h, 0) if activation == "relu" else h
    if network.activations[-1] != "softmax":
        return h
    powers = np.exp(h - h.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def drop_weight(given, layer):
    weights = [np.copy(w) for w in given.weights]
    weights[layer][3, 2] = 0
    return Parameters(tuple(weights), given.biases)


@pytest.fixture(scope="module")
def post():
    return read_network_sweep(RunRequest(config="mlp"), on_cpu=False).network


# The reference


def test_float32_is_well_inside_the_bound_and_lower_precision_outside(post):
    given, rng = make_random_parameters(post, 0), np.random.default_rng(1)
    case = reference.Case(post, given, rng.uniform(-1, 1, (256, 784)).astype(np.float32))
    check = case.judge(compute_in_float32(post, given, case.inputs))
    assert check.ok and check.error < 4

    def cut(a):  # to the 11 bits of TF32
        return ((a.view(np.uint32) + 0x1000) & ~np.uint32(0x1FFF)).view(np.float32)

    low = Parameters(tuple(map(cut, given.weights)), given.biases)
    assert not case.judge(compute_in_float32(post, low, cut(case.inputs))).ok


@pytest.mark.parametrize("precision", ["f16", "bf16"])
def test_layers_in_16_bits_are_rounded_when_they_are_stored_and_fewer_bits_are_outside_the_bound(post, precision):
    network = replace(post, precision_name=precision)
    kind = network.storage.numpy_type()
    for case in reference.verification_cases(network, make_random_parameters(network, 0), 0):
        parts = case.parameters.weights, case.parameters.biases
        given = Parameters(*(tuple(each.astype(kind) for each in part) for part in parts))
        h = case.inputs.astype(kind)
        for w, b, activation in zip(given.weights, given.biases, network.activations, strict=True):
            h = (h.astype(np.float32) @ w.astype(np.float32) + b.astype(np.float32)).astype(kind)
            h = np.maximum(h, kind.type(0)) if activation == "relu" else h
        powers = np.exp(h.astype(np.float32) - h.astype(np.float32).max(axis=1, keepdims=True))
        result = (powers / powers.sum(axis=1, keepdims=True)).astype(kind)
        check = case.judge(result)
        assert check.ok, check.message
        assert not case.judge((1.1 * result.astype(np.float32)).astype(kind)).ok


@pytest.mark.parametrize("activation", ["softmax", "linear", "relu"])
def test_integers_are_exact_and_show_a_lost_weight_of_any_layer(post, activation):
    network = Network(post.sizes, ("relu", "relu", activation), 64)
    cases = reference.exact_cases(network, 1)

    def judge(change=lambda given: given):
        return [case.judge(compute_in_float32(network, change(case.parameters), case.inputs)).ok for case in cases]

    assert judge() == [True, True]
    for layer in range(3):
        assert not all(judge(lambda given, layer=layer: drop_weight(given, layer)))
    assert reference.exact_cases(Network((64,) * 21, ("relu",) * 20, 1), 0) == []  # too large for exact sums


def test_a_wrong_result_is_described():
    case = reference.timed_case(SMALL, RANDOM, "uniform", 0)
    right = compute_in_float32(SMALL, RANDOM, case.inputs)
    assert "never written" in case.judge(np.full_like(right, np.nan)).message
    late = right.copy()
    late[12] = 0
    assert "only rows from 12 on; look at the guard on the batch" in case.judge(late).message
    assert "first Y[0][1] = 0," in case.judge(np.where(right == right[0, 1], 0, right)).message


# Parameters


def test_parameters_lie_where_the_network_says():
    packed = RANDOM.pack(SMALL)
    for place, w in zip(SMALL.weights_at, RANDOM.weights, strict=True):
        np.testing.assert_array_equal(packed[place : place + w.size].reshape(w.shape), w)
    assert np.isnan(packed).sum() == SMALL.parameters - sum(a.size for a in (*RANDOM.weights, *RANDOM.biases))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: arrays.pop("b2"), "array b2 is missing; the network needs one of 7"),
        (lambda arrays: arrays.update(W2=np.zeros((20, 8))), "W2 is 20 x 8, but the network needs 20 x 7"),
        (lambda arrays: arrays.update(W1=np.zeros((31, 20), int)), "W1 holds int64; store float32 or float16"),
        (lambda arrays: arrays.update(b2=np.full(7, np.nan)), "b2 holds values that are not finite"),
        (lambda arrays: arrays.update(W4=np.zeros((5, 5))), "it has W4, but the network has 3 layers"),
    ],
)
def test_weights_that_do_not_fit_are_refused(tmp_path, change, message):
    both = zip(RANDOM.weights, RANDOM.biases, strict=True)
    arrays = {name: a for n, (w, b) in enumerate(both, 1) for name, a in ((f"W{n}", w), (f"b{n}", b))}
    change(arrays)
    np.savez(tmp_path / "w.npz", **arrays)
    with pytest.raises(SpecError) as fault:
        load_parameters(tmp_path / "w.npz", SMALL)
    assert f"w.npz: {message}" in str(fault.value)


def test_a_file_that_is_no_npz_is_told(tmp_path):
    (tmp_path / "w.npz").write_text("no weights")
    with pytest.raises(SpecError, match=r"w\.npz: not a \.npz file of weights \(it is not an archive\); write one"):
        load_parameters(tmp_path / "w.npz", SMALL)


def test_upscaling_keeps_a_flat_image_flat_and_the_range():
    assert np.allclose(upscale_images(np.full((1, 8, 8), 8)), 0.5)
    step = upscale_images(np.repeat([[0] * 4 + [16] * 4], 8, axis=0)[None]).reshape(28, 28)
    assert (step[:, :12] == 0).all()
    assert (step[:, 16:] == 1).all()
    np.testing.assert_allclose(step + step[:, ::-1], 1, atol=1e-6)


def test_the_stored_accuracy_is_that_of_the_stored_weights_on_the_stored_digits(post):
    given = load_parameters(DIGITS, post)
    outputs = reference.propagate(post, given, given.digits.inputs).outputs
    accuracy = (outputs.argmax(axis=1) == given.digits.labels).mean()
    assert accuracy == np.load(DIGITS)["test_accuracy"] >= 0.97
    assert len(given.digits.labels) == 360
    assert DIGITS.stat().st_size < 1 << 20


# Rows on the fake device


def make_rows(names, device, network, params=None):
    target = (describe_fake() if device == "fake" else CpuBackend().device).target
    catalog = Catalog([data_folder("cuda")], registry.list_library_variants())
    choices = [NetworkRowChoice(name.removesuffix("+graph"), name.endswith("+graph"), params or {}) for name in names]
    chosen = [(choice, catalog.get(choice.variant)) for choice in choices]
    return plan_chains(network, chosen, device, {device: target}, registry.why_refused)


def measure_rows(rows, backend, compiler, given=None, policy=QUICK):
    """The records of rows; the last one is the baseline."""
    (device,) = {row.device for row in rows}
    given = given or make_random_parameters(rows[0].problem_or_network, 0)
    runner = Runner(LocalWorker({device: backend}), lambda record: None)
    return measure_sweep(runner, {device: compiler}, ChainSweep(rows, policy, rows[-1].name, parameters=given))


@pytest.fixture
def fake(few_sets, short_warm_up):
    def run(*names, network=SMALL, params=None, given=None, **script):
        script, rows = Script(**script), make_rows(names, "fake", network, params)
        return measure_rows(rows, FakeBackend(script), FakeCompiler(script), given)

    return run


def test_rows_are_verified_and_timed(fake):
    records = fake("tiled", "mlp_fused", "cublas+graph", times={"mlp_fused": 2e-6, "cublas+graph": 6e-6})
    names = ["tiled", "mlp_fused", "cublas+graph"]
    assert [(record.variant, record.status) for record in records] == [(name, "ok") for name in names]
    assert records[1].samples == [2e-6, 2e-6]
    assert (records[1].flops, records[1].problem.M, records[1].network.title) == (SMALL.flops, 13, str(SMALL))
    assert records[0].network.launches == ["tiled+bias+relu", "tiled+bias+relu", "tiled+bias", "softmax+softmax"]


@pytest.mark.parametrize(
    ("fault", "status", "message"),
    [
        ("unwritten", "wrong", "never written"),
        ("zero", "wrong", "outputs wrong"),
        ("race", "wrong", "audit check"),
        ("crash", "failed", "crashed, as scripted"),
        ("build", "failed", "error: as scripted"),
    ],
)
def test_a_bad_row_is_blamed_alone(fake, fault, status, message):
    fast = {"mlp_fused": 2e-6}  # so that the audit launches it often enough for the race to show
    bad, good = fake("mlp_fused", "cublas", times=fast, faults={"mlp_fused": fault})
    assert (bad.status, good.status) == (status, "ok")
    assert message in bad.reason


def test_a_row_is_verified_with_the_parameters_of_the_run_and_a_swept_one_measured_again(fake):
    given = make_random_parameters(SMALL, 5)
    assert any(case.parameters is given for case in reference.verification_cases(SMALL, given, 0))
    records = fake("mlp_fused", "cublas", params={"ROWS": (2, 4, 16)})
    assert [record.phase for record in records] == ["sweep"] * 4 + ["final"] * 2
    assert {record.variant for record in records[4:]} == {"mlp_fused", "cublas"}


def test_digits_are_timed_and_counted(fake, post):
    given = load_parameters(DIGITS, post)
    (record,) = fake("cublas", given=given, network=Network(post.sizes, post.activations, 100))
    assert record.network.accuracy == np.load(DIGITS)["test_accuracy"]
    assert record.data == "digits"
    assert len(reference.verification_cases(post, given, 0)) == 4


def test_operand_sets_exceed_the_cache_four_times(post):
    workload = network_workload(post, make_random_parameters(post, 0))
    count, cold = workload.count_cold_sets(50 << 20, 1 << 34)
    assert cold
    assert count * post.bytes >= 4 * (50 << 20)
    assert workload.count_cold_sets(50 << 20, 1 << 20) == (1, False)


def test_a_write_outside_the_outputs_is_seen_and_restored():
    backend = FakeBackend()
    arena = Arena(backend, NetworkLayout(SMALL), 2)
    assert arena.find_breach(1) == ""
    at = arena.starts[0]["Y"] + 4 * 13 * 5 + 1000  # in the last guard of the first set
    arena.memory.fill(at, 4, 0)
    assert "4 bytes after the end of Y changed" in arena.find_breach(0)
    assert arena.find_breach(0) == ""


def test_some_rows_of_a_batch_are_judged_with_altered_inputs_and_weights():
    case = network_workload(SMALL, RANDOM).find_case("uniform", 0)
    altered = draw_lines(np.random.default_rng(0), NetworkLayout(SMALL), np.array([0]), False).find(0)
    inputs, first = 2 * case.case.inputs.copy(), RANDOM.weights[0].copy()
    inputs[altered.rows, altered.inner] *= -1
    first[altered.lines] *= -1
    given = replace(RANDOM, weights=(first, *RANDOM.weights[1:]))
    places, other = np.array([1, 6, 12]), np.array([1, 6, 11])
    result = compute_in_float32(SMALL, given, inputs)[places]
    assert case.judge_altered(result, 2.0, places, altered).ok
    assert not case.judge_altered(result, 2.0, places, UNALTERED).ok
    assert not case.judge_altered(result, 2.0, other, altered).ok


@pytest.mark.usefixtures("few_sets")
@pytest.mark.parametrize("cache", ["cold", "hot"])
def test_rows_are_right_without_guards_where_each_array_is_an_allocation_of_its_exact_size(watch_calls, cache):
    backend, asked = FakeBackend(), []
    backend.guards = False
    watch_calls(FakeBackend, "allocate", lambda self, *sizes: asked.append(sizes))
    rows, policy = make_rows(["tiled", "mlp_fused"], "fake", SMALL), replace(QUICK, cache=cache)
    records = measure_rows(rows, backend, FakeCompiler(Script()), policy=policy)
    assert [record.status for record in records] == ["ok", "ok"]
    arrays = (13 * 31 * 4, SMALL.parameters * 4, 13 * 20 * 4, 13 * 7 * 4, 13 * 5 * 4)
    assert asked == [(*arrays * records[0].sets, arrays[-1])]


# Rows on the CPU, where the kernels really run

SHAPES = [
    (SMALL, ["cpu_naive", "tiled", "blocktile_2d", "mlp_fused"]),
    (Network((17, 1), ("linear",), 1), ["mlp_fused", "openblas"]),
    (Network((5, 33, 34, 40, 3), ("relu", "linear", "relu", "relu"), 9), ["tiled", "mlp_fused", "mlp_cluster"]),
]


@pytest.fixture
def cpu(short_warm_up):
    backend = CpuBackend()
    yield backend
    backend.close()


@pytest.mark.parametrize(("network", "names"), SHAPES, ids=str)
def test_every_row_that_runs_on_the_cpu_is_right_at_odd_sizes(cpu, few_sets, network, names):
    params = {"THREADS": (64,), "ROWS": (4,), "TILE": (8,), "BM": (32,), "BN": (32,), "BK": (8,)}
    rows = make_rows(names, "cpu", network, params)
    assert [row.name for row in rows if row.reason] == [name for name in names if name == "mlp_cluster"]
    records = measure_rows(rows, cpu, CpuCompiler())
    assert [(record.variant, record.reason) for record in records if record.status not in ("ok", "skipped")] == []


def test_the_portable_kernel_is_right_in_every_shape_of_its_block(cpu, post):
    network, compiler = Network(post.sizes, post.activations, 5), CpuCompiler()
    timed = reference.timed_case(network, make_random_parameters(network, 1), "uniform", 0)
    for rows, threads in itertools.product((2, 16), (64, 512)):
        (row,) = make_rows(["mlp_fused"], "cpu", network, {"ROWS": (rows,), "THREADS": (threads,), "DEPTH": (4,)})
        arena = Arena(cpu, NetworkLayout(network), 1)
        codes = [cpu.load(compiler.compile(step), step) for step in row.steps]
        steps = arena.make_steps(row.steps, codes, Scratch(cpu, row.steps), rotates=False)
        for case, mode in itertools.product([*reference.exact_cases(network, 0), timed], ("forward", "reverse")):
            inputs = make_inputs(network, case.parameters, case.inputs)
            arena.write(inputs, 1)
            arena.reset(inputs, 1)
            cpu.bind(row.name, steps, arena.memory, mode=mode).time(1)
            assert case.judge(arena.read()).message == "", (rows, threads, mode)
            assert arena.find_breach() == ""
        arena.free()


def test_the_network_reads_a_digit_through_the_kernel(cpu, post):
    network = Network(post.sizes, post.activations, 1)
    given = load_parameters(DIGITS, network)
    (row,) = make_rows(["mlp_fused"], "cpu", network, {"ROWS": (1,), "THREADS": (256,)})
    outputs = compute_outputs(row, cpu, CpuCompiler(), given, given.digits.inputs[3])
    expected = reference.propagate(network, given, given.digits.inputs[3:4]).outputs[0]
    np.testing.assert_allclose(outputs, expected, atol=1e-5)
    assert SIDE == 28
