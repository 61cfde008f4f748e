"""The CUDA back end on a real GPU, on plans made by hand."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gemmbench.backends.base import Rotation, Step
from gemmbench.backends.cuda.gate import Gate
from gemmbench.backends.cuda.library_variants import CUBLAS, CUBLAS_DEFAULT, CUBLAS_PEDANTIC, CUBLASLT
from gemmbench.backends.cuda.nvcc import NvccCompiler
from gemmbench.backends.cuda.system import probe
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.operands.layouts import GemmLayout
from gemmbench.bench.operands.scratch import Scratch
from gemmbench.errors import LaunchError, NotOffered, OutOfMemory
from gemmbench.planning.manifests.expressions import parse
from gemmbench.planning.manifests.variant import Launch, Variant
from gemmbench.planning.plans.plan import Config, Geometry, Plan
from gemmbench.planning.problems import LAYOUTS, Problem

pytestmark = pytest.mark.filterwarnings("default")  # pycuda and nvmath may warn as they are imported

HEAD = 'extern "C" __global__ void gemm(int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C)'
NAIVE = (
    HEAD
    + """
{
    const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= M || j >= N) return;
    TACC sum = 0;
    for (int k = 0; k < K; k++)
        sum += (TRANS_A ? A[k * M + i] : A[i * K + k]) * (TRANS_B ? B[j * K + k] : B[k * N + j]);
    C[i * N + j] = beta == 0 ? alpha * sum : alpha * sum + beta * C[i * N + j];
}
"""
)
EMPTY = HEAD + "{}"
COUNT = HEAD + "{ float* calls = const_cast<float*>(B); C[0] = calls[0] += 1; }"
FIND = HEAD + "{ const float it = A[0] * B[0]; if (C[0] == it) const_cast<float*>(B)[1] += 1; C[0] = it; }"
SHARED = HEAD + "{ extern __shared__ float s[]; s[threadIdx.x + 16000] = 7; C[threadIdx.x] = s[threadIdx.x + 16000]; }"

ODD = (33, 65, 17)  # M, N, K


def kernel_plan(backend: Any, text: str, problem: Problem, block=(16, 16, 1), shared: int = 0) -> Plan:
    one = (parse(1),)
    launch = Launch("gemm", one, one, parse(shared))
    precisions, layouts = ("f32",), LAYOUTS
    variant = Variant(
        "test", "", 1, "kernel", ("cuda",), precisions, layouts, launch=launch, path="cuda/test.cu", text=text
    )
    grid = (-(-problem.N // block[0]), -(-problem.M // block[1]), 1)
    sm = str(backend.device.target.sm)
    return Plan(problem, variant, Config(), "cuda", sm, Geometry(grid, block, shared))


def library_plan(variant: Variant, problem: Problem, **values: int) -> Plan:
    return Plan(problem, variant, Config(tuple(values.items())), "cuda", "", None)


class Bound:
    """A plan bound to operand sets in one allocation, each operand at a multiple of 256 bytes."""

    def __init__(self, backend: Any, plan: Plan, sets: int = 1, shared_b: bool = False):
        self.problem = plan.problem
        room = {name: -(-self.problem.operand_bytes(name) // 256) * 256 for name in "ABC"}
        size = sum(room.values())
        self.memory = backend.allocate(sets * size)
        starts = [index * size for index in range(sets)]
        b = [0 if shared_b else start for start in starts]
        self.sets = [
            {"A": start + room["B"], "B": b_start, "C": start + room["B"] + room["A"]}
            for start, b_start in zip(starts, b, strict=True)
        ]
        loaded = backend.load(NvccCompiler().compile(plan), plan)
        self.steps = [Step(loaded, plan, tuple(self.sets))]
        self.run = backend.bind(plan.variant.name, self.steps, self.memory)

    def write(self, name: str, array: np.ndarray, index: int = 0) -> None:
        self.memory.write(self.sets[index][name], np.ascontiguousarray(array))

    def result(self, index: int = 0) -> np.ndarray:
        out = np.empty(self.problem.stored_shape("C"), np.float32)
        self.memory.read(self.sets[index]["C"], out)
        return out


def product(backend: Any, plan: Plan, A: np.ndarray, B: np.ndarray, C: np.ndarray) -> np.ndarray:
    """What the plan makes of the operands."""
    bound = Bound(backend, plan)
    for name, array in zip("ABC", (A, B, C), strict=True):
        bound.write(name, array)
    bound.run.time(1)
    result = bound.result()
    bound.memory.free()
    return result


def operands(problem: Problem, integers: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(7)
    draw = (lambda shape: random.integers(-3, 4, shape)) if integers else (lambda shape: random.uniform(-1, 1, shape))
    A, B, C = (draw(problem.stored_shape(name)).astype(np.float32) for name in "ABC")
    return A, B, C if problem.beta else np.full_like(C, np.nan)


def reference(problem: Problem, A: np.ndarray, B: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The result in float64, and |alpha| |A| |B| + |beta| |C|."""
    wide_a, wide_b = A.astype(np.float64), B.astype(np.float64)
    a, b = wide_a.T if problem.trans_a else wide_a, wide_b.T if problem.trans_b else wide_b
    exact, size = problem.alpha * (a @ b), abs(problem.alpha) * (abs(a) @ abs(b))
    if problem.beta:
        exact, size = exact + problem.beta * C, size + abs(problem.beta * C)
    return exact, size


def test_the_device_is_described(backend):
    device, seen = backend.device, probe.find_gpu(0)
    assert seen is not None
    assert (device.name, device.target.sm) == (seen.name, seen.sm)
    assert 0.5e9 < device.clock_hz < 4e9
    assert device.bandwidth > 1e10
    assert device.target.sms > 0
    assert device.target.smem >= 48 * 1024
    assert device.target.l2 > 0
    assert {"driver", "cuda", "pycuda", "gate"} <= device.software.keys()
    print(device)


def test_memory_round_trip_copy_and_fill(backend):
    memory = backend.allocate(4096)
    sent, got = np.arange(512, dtype=np.uint32), np.zeros(512, np.uint32)
    memory.write(1024, sent)
    memory.copy(1024, 0, 2048)
    memory.fill(2040, 8, 0xAB)
    memory.read(0, got)
    np.testing.assert_array_equal(got[:510], sent[:510])
    assert (got[510:] == 0xABABABAB).all()
    with pytest.raises(ValueError, match="are outside an allocation of 4096"):
        memory.write(4090, sent)
    memory.free()


@pytest.mark.parametrize("nbytes", [1, 15, 16, 17, 4095, 1 << 23])
def test_two_ranges_are_compared_to_the_last_byte(backend, nbytes):
    memory, other = backend.allocate(1 << 25), 1 << 24
    memory.fill(0, 1 << 25, 0xA5)
    memory.fill(nbytes, 1, 0)
    memory.fill(other + nbytes, 1, 1)
    assert memory.equal(0, other, nbytes)
    for place in {0, nbytes // 2, nbytes - 1}:
        memory.fill(other + place, 1, 0xA4)
        assert not memory.equal(0, other, nbytes)
        memory.fill(other + place, 1, 0xA5)
    assert memory.equal(0, other, nbytes)
    memory.free()


@pytest.mark.parametrize("beta", [0.0, 3.0])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_naive_kernel_is_exact_on_integers(backend, layout, beta):
    problem = Problem(*ODD, layout, alpha=2.0, beta=beta)
    A, B, C = operands(problem, integers=True)
    got = product(backend, kernel_plan(backend, NAIVE, problem), A, B, C)
    np.testing.assert_array_equal(got, reference(problem, A, B, C)[0])


def test_launches_rotate_through_the_sets_in_order(backend):
    bound = Bound(backend, kernel_plan(backend, COUNT, Problem(1, 1, 1), block=(1, 1, 1)), sets=3, shared_b=True)
    bound.write("B", np.zeros(1, np.float32))
    bound.run.time(1)
    assert bound.result(0) == 1
    bound.run.time(4)
    assert [float(bound.result(index)[0, 0]) for index in range(3)] == [4, 5, 3]


def test_the_floor_of_a_launch_is_printed(backend):
    bound = Bound(backend, kernel_plan(backend, EMPTY, Problem(1, 1, 1), block=(32, 1, 1)))
    bound.run.time(1)
    held = min(bound.run.time(512).seconds for _ in range(10)) / 512
    print(f"empty kernel, gate {backend.device.software['gate']}: {held * 1e6:.2f} us")
    assert 0 < held < 1e-3


def test_the_clock_is_seen(backend):
    bound = Bound(backend, kernel_plan(backend, NAIVE, Problem(512, 512, 512)))
    bound.memory.fill(0, bound.memory.nbytes, 0)
    bound.run.time(1)
    window = bound.run.time(32)
    print(f"{window.clock_hz / 1e9:.3f} GHz over {window.seconds * 1e3:.2f} ms")
    assert 0.2e9 < window.clock_hz < 3e9
    assert window.clock_hz < 1.02 * backend.device.clock_hz


def library(backend: Any) -> None:
    if why := probe.why_no_library():
        pytest.skip(why)


@pytest.mark.parametrize("variant", [CUBLAS, CUBLASLT], ids=lambda variant: variant.name)
@pytest.mark.parametrize("precision", ["f32", "tf32"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (0.5, -0.75)])
def test_a_library_stays_within_the_bound(backend, variant, precision, layout, alpha, beta):
    library(backend)
    problem = Problem(132, 260, 516, layout, precision, alpha, beta)
    A, B, C = operands(problem, integers=False)
    config = {"ALGO": 0} if variant is CUBLASLT else {}
    got = product(backend, library_plan(variant, problem, **config), A, B, C)
    exact, size = reference(problem, A, B, C)
    unit = 2.0**-24 if precision == "f32" else 2.0**-12
    assert (abs(got - exact) <= 16 * unit * size + 2.0**-23 * abs(exact)).all()


@pytest.mark.parametrize("variant", [CUBLAS, CUBLASLT], ids=lambda variant: variant.name)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_library_is_exact_on_integers_of_odd_sizes(backend, variant, layout):
    library(backend)
    problem = Problem(*ODD, layout, alpha=2.0, beta=3.0)
    A, B, C = operands(problem, integers=True)
    config = {"ALGO": 0} if variant is CUBLASLT else {}
    got = product(backend, library_plan(variant, problem, **config), A, B, C)
    np.testing.assert_array_equal(got, reference(problem, A, B, C)[0])


def test_cublas_in_f32_is_not_tf32(backend):
    library(backend)
    errors = {}
    for precision in ("f32", "tf32"):
        problem = Problem(256, 256, 1024, precision_name=precision)
        A, B, C = operands(problem, integers=False)
        exact, size = reference(problem, A, B, C)
        errors[precision] = (abs(product(backend, library_plan(CUBLAS, problem), A, B, C) - exact) / size).max()
    print(errors)
    assert errors["f32"] < 16 * 2.0**-24 < errors["tf32"]


def test_cublas_names_the_faster_math_of_a_shape_whatever_its_scalars(backend):
    library(backend)
    problems = [Problem(128, 512, 256, beta=beta) for beta in (0.0, 2.0)]
    choices = {Bound(backend, library_plan(CUBLAS, problem), sets=2).run.choice for problem in problems}
    print(choices)
    assert len(choices) == 1 and choices <= {"default math", "pedantic math"}


@pytest.mark.parametrize("variant", [CUBLAS_DEFAULT, CUBLAS_PEDANTIC], ids=lambda variant: variant.name)
def test_each_math_is_exact_on_integers_and_is_no_choice(backend, variant):
    library(backend)
    problem = Problem(*ODD, alpha=2.0, beta=3.0)
    A, B, C = operands(problem, integers=True)
    np.testing.assert_array_equal(
        product(backend, library_plan(variant, problem), A, B, C), reference(problem, A, B, C)[0]
    )
    assert Bound(backend, library_plan(variant, problem)).run.choice == ""


def test_a_library_may_use_a_larger_workspace(backend):
    library(backend)
    problem = Problem(64, 64, 4096)
    A, B, C = operands(problem, integers=True)
    for variant, config in ((CUBLAS, {}), (CUBLASLT, {"ALGO": 0})):
        plan = replace(library_plan(variant, problem, **config), workspace=96 << 20)
        np.testing.assert_array_equal(product(backend, plan, A, B, C), reference(problem, A, B, C)[0])


def test_the_card_and_the_loaded_libraries_are_identified(backend):
    device = backend.device
    assert device.uuid.startswith("GPU-") and device.vbios and device.software["driver"]
    print(device.uuid, device.vbios, device.software)
    if not probe.why_no_library():
        assert device.software["cublas"][0].isdigit() and device.software["cublaslt"][0].isdigit()


def test_every_algorithm_offered_is_right_and_the_rest_is_not_offered(backend):
    library(backend)
    problem = Problem(256, 512, 384)
    A, B, C = operands(problem, integers=True)
    offered = 0
    for rank in range(8):
        try:
            got = product(backend, library_plan(CUBLASLT, problem, ALGO=rank), A, B, C)
        except NotOffered as reason:
            assert f"offers only {offered} algorithms" in str(reason)
            break
        offered += 1
        np.testing.assert_array_equal(got, reference(problem, A, B, C)[0])
    print(f"cublasLt offers {offered} algorithms")
    assert offered


def short_gate(backend: Any) -> Gate:
    if backend._gate is None:
        pytest.skip(f"the gate is {backend.device.software['gate']}")
    return Gate(backend._gate._kernel, backend._stream, limit=0.02)


def test_a_gate_that_is_never_opened_ends_by_itself(backend):
    gate = short_gate(backend)
    gate.close()
    backend._stream.synchronize()
    assert gate.expired
    gate.close()
    gate.open()
    backend._stream.synchronize()
    assert not gate.expired


def test_a_window_whose_gate_gave_up_is_measured_again_and_marked(backend):
    bound = Bound(backend, kernel_plan(backend, COUNT, Problem(1, 1, 1), block=(1, 1, 1)))
    bound.write("B", np.zeros(1, np.float32))
    bound.run._gate = gate = short_gate(backend)
    bound.run.time(1)
    gate.open = lambda: None
    window = bound.run.time(4)
    assert not window.gated
    assert bound.result() == 1 + 4 + 4


def test_shared_memory_beyond_48_kib_is_asked_for(backend):
    plan = kernel_plan(backend, SHARED, Problem(1, 32, 1), block=(32, 1, 1), shared=17000 * 4)
    bound = Bound(backend, plan)
    bound.run.time(1)
    assert (bound.result() == 7).all()


def test_too_much_shared_memory_is_told(backend):
    plan = kernel_plan(backend, SHARED, Problem(1, 32, 1), block=(32, 1, 1), shared=1 << 20)
    with pytest.raises(LaunchError, match=r"a block needs 1,\d+,\d+ bytes of shared memory, but this GPU has"):
        Bound(backend, plan)


def test_too_many_threads_are_told(backend):
    bound = Bound(backend, kernel_plan(backend, EMPTY, Problem(1, 1, 1), block=(2048, 1, 1)))
    with pytest.raises(LaunchError, match=r"CUDA_ERROR_INVALID_VALUE.*2048 threads per block"):
        bound.run.time(1)
    Bound(backend, kernel_plan(backend, EMPTY, Problem(1, 1, 1))).run.time(1)


def test_an_absurd_allocation_does_not_fit(backend):
    with pytest.raises(OutOfMemory, match="cannot allocate"):
        backend.allocate(1 << 50)


CRASH = f"""
from gemmbench.backends.base import Rotation, Step
from gemmbench.backends.cuda.backend import CudaBackend
from gemmbench.backends.cuda.nvcc import NvccCompiler
from gemmbench.errors import LaunchError
from gemmbench.planning.manifests.expressions import parse
from gemmbench.planning.plans.plan import Config, Geometry, Plan
from gemmbench.planning.problems import Problem
from gemmbench.planning.manifests.variant import Launch, Variant

backend = CudaBackend()
launch = Launch("gemm", (parse(1),), (parse(1),), parse(0))
text = '''{HEAD} {{ *(volatile float*)16 = 1; }}'''
fields = dict(launch=launch, path="cuda/crash.cu", text=text)
variant = Variant("crash", "", 1, "kernel", ("cuda",), ("f32",), ("nn",), **fields)
geometry = Geometry((1, 1, 1), (1, 1, 1), 0)
plan = Plan(Problem(1, 1, 1), variant, Config(), "cuda", str(backend.device.target.sm), geometry)
loaded, memory = backend.load(NvccCompiler().compile(plan), plan), backend.allocate(1024)
try:
    backend.bind("crash", [Step(loaded, plan, ({{"A": 0, "B": 256, "C": 512}},))], memory).time(1)
except LaunchError as fault:
    print("told:", fault)
backend.close()
"""


def test_an_illegal_address_is_told_and_the_process_ends_in_order(backend):
    done = subprocess.run([sys.executable, "-c", CRASH], capture_output=True, text=True, check=False)
    assert "told: CUDA_ERROR_ILLEGAL_ADDRESS" in done.stdout, done.stderr
    assert done.returncode == 0, done.stderr


def test_a_product_is_timed_alone_on_the_next_set_and_without_its_graph(backend):
    bound = Bound(backend, kernel_plan(backend, COUNT, Problem(16, 16, 16)), sets=3, shared_b=True)
    bound.write("B", np.zeros(bound.problem.stored_shape("B"), np.float32))
    run = backend.bind("count", bound.steps, bound.memory, turns=2)
    run.time(6)
    before = [bound.result(index)[0, 0] for index in range(3)]
    seconds = [run.time_alone() for _ in range(3)]
    assert [bound.result(index)[0, 0] for index in range(3)] == [max(before) + launch for launch in (1, 2, 3)]
    assert all(0 < each < 1 for each in [*seconds, backend.empty.time_alone()])
    print(f"alone {1e6 * min(seconds):.2f} us, an empty kernel {1e6 * backend.empty.time_alone():.2f} us")
    bound.memory.free()


@pytest.mark.parametrize(("sets", "turns", "graphs"), [(1, 64, 1), (3, 2, 5), (7, 1, 40)])
def test_a_graph_of_turns_launches_on_every_set_in_turn(backend, sets, turns, graphs):
    bound = Bound(backend, kernel_plan(backend, COUNT, Problem(1, 1, 1), block=(1, 1, 1)), sets=sets, shared_b=True)
    steps, rotation = bound.steps, Rotation(sets)
    run = backend.bind("test", steps, bound.memory, rotation=rotation, turns=turns)
    bound.write("B", np.zeros(1, np.float32))
    run.time(1)  # without a gate
    bound.write("B", np.zeros(1, np.float32))
    launches = sets * turns * graphs
    assert run.time(launches - sets * turns + 1).launches == launches
    assert [int(bound.result(index)[0, 0]) for index in range(sets)] == list(range(launches - sets + 1, launches + 1))
    rotation.position = 1 % sets
    run.time(1)
    assert rotation.position == 0
    led = sets - 1 if sets > 1 else 0  # launches on the sets before the first, not timed
    assert int(bound.result(sets - 1)[0, 0]) == launches + led + sets * turns


@pytest.mark.parametrize("sets", [2, 3, 7])
def test_no_launch_finds_its_own_result_in_graphs_and_between_them_and_the_arena_knows_where_results_are(backend, sets):
    problem = Problem(1, 1, 2)
    plan = kernel_plan(backend, FIND, problem, block=(1, 1, 1))
    arena, loaded = Arena(backend, GemmLayout(problem), sets), [backend.load(NvccCompiler().compile(plan), plan)]
    inputs = {"A": np.ones((1, 2), np.float32), "B": np.array([[1], [0]], np.float32)}
    arena.prepare(inputs)
    steps = arena.make_steps([plan], loaded, Scratch(backend, [plan]), rotates=True)
    graph, plain = (backend.bind("test", steps, arena.memory, rotation=arena.rotation, turns=turns) for turns in (2, 0))
    graph.time(1)
    arena.prepare(inputs)
    arena.prepare_outputs(inputs)
    arena.rotation.position = 0
    windows = [(plain.time, 1), (graph.time, 1), (graph.time, 5 * sets), (plain.time, sets + 1), (graph.time, 1)]
    for time, launches in [*windows, (graph.time_exactly, 2), (plain.time, 1), (graph.time_exactly, 3 * sets)]:
        done = time(launches).launches
        assert done == launches or (time == graph.time and done % (4 * sets) == 0)
        for index, output in arena.list_last_results(done):
            assert arena.read(output)[0, 0] == arena.factors[index]
    found = np.empty(2, np.float32)
    for index in range(sets):
        arena.memory.read(arena.starts[index]["B"], found)
        assert found[1] == 0
    arena.rotation.go_back(1)
    plain.time(1)  # now a launch does find its own result
    arena.memory.read(arena.starts[arena.list_last_results(1)[0][0]]["B"], found)
    assert found[1] == 1
    arena.free()


@pytest.mark.parametrize("variant", [CUBLAS, CUBLASLT], ids=["cublas", "cublaslt"])
def test_a_library_is_recorded_too(backend, variant):
    problem = Problem(64, 64, 64)
    values = {"ALGO": 0} if variant is CUBLASLT else {}
    bound = Bound(backend, library_plan(variant, problem, **values), sets=2)
    rng = np.random.default_rng(0)
    A, B = (rng.integers(-2, 3, (64, 64)).astype(np.float32) for _ in range(2))
    for index in range(2):
        bound.write("A", A, index)
        bound.write("B", B, index)
    run = backend.bind("test", bound.steps, bound.memory, turns=4)
    assert run.time(1).launches == 8
    for index in range(2):
        np.testing.assert_array_equal(bound.result(index), A @ B)
