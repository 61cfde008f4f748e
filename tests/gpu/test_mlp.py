"""`gemmbench mlp` on a GPU: every row right, as launches and as a graph; the fused kernels in every shape."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from examples.digits.messages import Drawing
from examples.digits.server import open_server
from gemmbench.backends import registry
from gemmbench.backends.cuda.nvcc import NvccCompiler
from gemmbench.backends.cuda.system import probe
from gemmbench.bench.experiments.network_workload import compute_outputs, make_inputs
from gemmbench.bench.measured_sweep import ChainSweep, measure_sweep
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.operands.layouts import NetworkLayout
from gemmbench.bench.operands.network_parameters import load_parameters, make_random_parameters
from gemmbench.bench.operands.scratch import Scratch
from gemmbench.bench.record import Record
from gemmbench.bench.runner import Runner
from gemmbench.bench.verify import network_reference as cases
from gemmbench.bench.verify import network_reference as reference
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.network_sweeps import NetworkRowChoice, plan_chains
from gemmbench.planning.networks import Network
from gemmbench.planning.plans.plan import Chain
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.run_request import RunRequest
from gemmbench.session.machine import find_machine
from gemmbench.session.reporter import SILENT

pytestmark = pytest.mark.filterwarnings("default")

RELUS = ("relu", "relu", "softmax")
POST = Network((784, 100, 100, 10), RELUS, 256)
ODD = [
    Network((784, 100, 100, 10), RELUS, 1),
    Network((784, 100, 100, 10), RELUS, 251),
    Network((31, 20, 7, 5), RELUS, 13),
    Network((17, 1), ("linear",), 3),
    Network((9, 6), ("softmax",), 33),
    Network((5, 33, 34, 40, 3), ("relu", "linear", "relu", "relu"), 65),
    Network((785, 101, 102, 11), RELUS, 129),
]
CHAINS = ["tiled", "blocktile_2d", "naive", "cublas", "cublas+graph", "cublaslt", "cublaslt+graph", "tiled+graph"]


def planned(backend: Any, name: str, network: Network, **params: int) -> Chain:
    catalog = Catalog([data_folder("cuda")], registry.list_library_variants())
    choice = NetworkRowChoice(
        name.removesuffix("+graph"), name.endswith("+graph"), {k: (v,) for k, v in params.items()}
    )
    targets = {"cuda": backend.device.target}
    variant = catalog.get(choice.variant)
    (row,) = plan_chains(network, [(choice, variant)], "cuda", targets, registry.why_refused)
    if row.reason:
        pytest.skip(row.reason)
    return row


def check(backend: Any, row: Chain, sets: int = 1) -> None:
    """Exact on integers and within rounding, on every operand set, with nothing written elsewhere."""
    network = row.network
    assert network is not None
    checks = [
        *reference.exact_cases(network, 1),
        cases.timed_case(network, make_random_parameters(network, 2), "uniform", 3),
    ]
    codes = [backend.load(NvccCompiler().compile(step), step) for step in row.steps]
    arena, scratch = Arena(backend, NetworkLayout(network), sets), Scratch(backend, row.steps)
    try:
        for case in checks:
            inputs = make_inputs(network, case.parameters, case.inputs)
            arena.write(inputs, sets)
            steps = arena.make_steps(row.steps, codes, scratch, rotates=True)
            executable = backend.bind(row.name, steps, arena.memory, row.graph, rotation=arena.rotation)
            arena.reset(inputs, sets)
            executable.time(1)
            arena.reset(inputs, sets)
            executable.time(sets * 3)
            for index, factor in enumerate(arena.list_result_factors()):
                judged = replace(case, inputs=np.float32(factor) * case.inputs).judge(arena.read(index))
                assert judged.ok, f"{row.name} {row.config} {network}: {judged}"
                assert arena.find_breach(index) == ""
    finally:
        scratch.free()
        arena.free()


def library(name: str) -> None:
    if name.startswith("cublas") and (why := probe.why_no_library()):
        pytest.skip(why)


@pytest.mark.parametrize("name", [*CHAINS, "mlp_fused", "mlp_cluster", "mlp_cluster+graph"])
def test_a_row_computes_the_network_of_the_post(backend, name):
    library(name)
    check(backend, planned(backend, name, POST), sets=3)


@pytest.mark.parametrize("network", ODD, ids=str)
@pytest.mark.parametrize("name", ["tiled", "blocktile_2d", "cublas", "cublaslt", "mlp_fused", "mlp_cluster"])
def test_a_row_is_right_at_odd_sizes(backend, name, network):
    library(name)
    check(backend, planned(backend, name, network))


@pytest.mark.parametrize("fetch", [0, 1, 2])
@pytest.mark.parametrize(
    ("rows", "cluster", "threads", "tm", "depth"),
    [
        (16, 8, 512, 4, 10),
        (16, 8, 512, 8, 5),
        (16, 8, 256, 8, 20),
        (8, 8, 256, 4, 10),
        (8, 4, 512, 4, 20),
        (8, 8, 384, 2, 10),
        (16, 4, 512, 2, 5),
        (32, 8, 512, 8, 10),
        (4, 4, 128, 4, 10),
    ],
)
def test_the_cluster_kernel_is_right_in_every_shape(backend, fetch, rows, cluster, threads, tm, depth):
    shape = {"ROWS": rows, "CLUSTER": cluster, "THREADS": threads, "TM": tm, "DEPTH": depth, "FETCH": fetch}
    for network in (POST, ODD[1]):
        check(backend, planned(backend, "mlp_cluster", network, **shape), sets=2)


@pytest.mark.parametrize(("rows", "threads"), list(itertools.product((1, 2, 4, 8, 16), (256, 512))))
def test_the_portable_kernel_is_right_in_every_shape(backend, rows, threads):
    for network in (POST, ODD[1]):
        check(backend, planned(backend, "mlp_fused", network, ROWS=rows, THREADS=threads))


def test_the_fused_kernels_and_a_graph_read_the_digits(backend):
    given = load_parameters(data_folder("configs") / "mlp" / "digits.npz", POST)
    assert given.digits is not None
    expected = reference.propagate(POST, given, given.digits.inputs[:8]).outputs
    for name in ("mlp_fused", "mlp_cluster", "tiled+graph"):
        row = planned(backend, name, POST)
        got = [compute_outputs(row, backend, NvccCompiler(), given, one) for one in given.digits.inputs[:8]]
        np.testing.assert_allclose(np.array(got), expected, atol=1e-5)


def test_the_whole_experiment_runs(backend):
    names = ["tiled", "mlp_fused", "mlp_cluster", "tiled+graph"]
    rows = [planned(backend, name, POST) for name in names]
    given = load_parameters(data_folder("configs") / "mlp" / "digits.npz", POST)
    policy = Policy(rounds=4, max_time=0.2)
    runner: Runner[Record] = Runner(LocalWorker({"cuda": backend}), lambda record: None)
    sweep = ChainSweep(rows, policy, names[-1], parameters=given)
    records = measure_sweep(runner, {"cuda": NvccCompiler()}, sweep)
    for record in records:
        assert record.network is not None
        print(record.variant, np.median(record.samples) * 1e6, "us", record.network.accuracy, record.cache)
    assert [(record.status, record.reason) for record in records] == [("ok", "")] * 4
    assert {record.network.accuracy for record in records if record.network} == {0.975}


def test_a_drawn_digit_is_read_by_every_row_of_the_digit_page(backend):
    machine = find_machine("cuda", SILENT)
    stroke = np.array([(35.0, 30.0), (50.0, 12.0), (50.0, 88.0)])
    with open_server(RunRequest(config="mlp"), machine) as server:
        replies = [server.answer(Drawing(strokes=[stroke.tolist()])) for _ in range(3)]
    for reply in replies:
        assert reply.digit == 1
        assert [(row.name, row.fault) for row in reply.rows if row.fault or row.digit != 1] == []
        assert all(row.seconds and row.seconds < 1 for row in reply.rows)
    assert {"cublas", "cublas+graph", "mlp_cluster"} <= {row.name for row in replies[0].rows}
