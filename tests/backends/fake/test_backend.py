"""The fake device: results by NumPy, times from a script, faults on demand."""

from dataclasses import replace

import numpy as np
import pytest

from gemmbench.backends.base import Step
from gemmbench.backends.fake.backend import FakeBackend, FakeCompiler, FakeMemory
from gemmbench.backends.fake.script import FAULTS, Script, read_script
from gemmbench.backends.registry import choose_device, describe_machine, make_compilers, open_backends
from gemmbench.errors import BuildError, LaunchError, UsageError
from gemmbench.planning.problems import LAYOUTS, Problem

EXACT = Problem(2, 3, 4)


@pytest.fixture
def bound(make_plan):
    """An executable on two operand sets; returns it, its memory, its sets, and A, B and C."""

    def bind(script=None, problem=EXACT, alpha=1.0, beta=0.0, name="naive"):
        backend = FakeBackend(script or Script())
        rng = np.random.default_rng(0)
        host = {operand: rng.integers(-3, 4, problem.stored_shape(operand)).astype(np.float32) for operand in "ABC"}
        memory, sets = backend.allocate(4096), ({"A": 0, "B": 512, "C": 1024}, {"A": 2048, "B": 2560, "C": 3072})
        for at in sets:
            for operand, array in host.items():
                memory.write(at[operand], array)
        plan = make_plan(name, replace(problem, alpha=alpha, beta=beta))
        return backend.bind(name, [Step("code", plan, sets)], memory), memory, sets, host

    return bind


def result(memory, at, problem=EXACT):
    out = np.empty(problem.stored_shape("C"), np.float32)
    memory.read(at["C"], out)
    return out


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (2.0, -3.0)])
def test_it_computes_a_gemm(bound, layout, alpha, beta):
    problem = Problem(2, 3, 4, layout)
    kernel, memory, sets, host = bound(problem=problem, alpha=alpha, beta=beta)
    kernel.time(1)
    a, b = (host[name].T if turned else host[name] for name, turned in (("A", problem.trans_a), ("B", problem.trans_b)))
    assert (result(memory, sets[0], problem) == alpha * (a @ b) + beta * host["C"]).all()
    assert (result(memory, sets[1], problem) == host["C"]).all()


def test_launches_take_the_sets_in_turn_and_do_not_read_c_when_beta_is_0(bound):
    kernel, memory, sets, host = bound()
    right = host["A"] @ host["B"]
    memory.fill(sets[0]["C"], 24, 0xFF)
    kernel.time(1)
    assert (result(memory, sets[0]) == right).all() and (result(memory, sets[1]) != right).any()
    kernel.time(1)
    assert (result(memory, sets[1]) == right).all()


def test_times_come_from_the_script_window_by_window_in_turn_or_are_a_millisecond(bound):
    kernel, *_ = bound(Script(times={"naive": [1e-3, 2e-3]}, clock=1.5e9))
    windows = [kernel.time(launches) for launches in (1, 10, 1)]
    assert [(window.seconds, window.launches) for window in windows] == [(1e-3, 1), (2e-2, 10), (1e-3, 1)]
    assert {window.clock_hz for window in windows} == {1.5e9}
    kernel, *_ = bound(Script(times={"tiled": 7.0}))
    assert kernel.time(1).seconds == 1e-3


def wrong_places(bound, fault, launches=1):
    kernel, memory, sets, host = bound(Script(faults={"naive": fault}))
    for at in sets:
        memory.fill(at["C"], 24, 0xFF)
    for _ in range(launches):
        kernel.time(1)
    return np.argwhere(result(memory, sets[0]) != host["A"] @ host["B"]).tolist(), memory, sets


def test_each_fault_spoils_what_it_is_called(bound):
    everywhere = [[i, j] for i in range(2) for j in range(3)]
    assert wrong_places(bound, "unwritten")[0] == everywhere
    assert wrong_places(bound, "last_column")[0] == [[0, 2], [1, 2]]
    zero, memory, sets = wrong_places(bound, "zero")
    assert zero and (result(memory, sets[0]) == 0).all()
    places, memory, sets = wrong_places(bound, "overrun")
    assert places == [] and not memory.bytes[sets[0]["C"] + 24 : sets[0]["C"] + 28].any()
    assert wrong_places(bound, "race")[0] == []
    assert wrong_places(bound, "race", launches=7)[0] == [[0, 0]]


def test_a_crash_and_a_build_failure_are_raised(bound, make_plan):
    kernel, *_ = bound(Script(faults={"naive": "crash"}))
    with pytest.raises(LaunchError, match="crashed, as scripted"):
        kernel.time(1)
    compiler = FakeCompiler(Script(faults={"naive": "build"}))
    with pytest.raises(BuildError, match=r"cuda/naive\.cu:1: error: as scripted"):
        compiler.compile(make_plan("naive"))
    assert compiler.compile(make_plan("tiled")).build.registers == 32


def test_every_fault_is_known_and_no_other(tmp_path):
    for fault in FAULTS:
        (tmp_path / "s.yaml").write_text(f"faults: {{naive: {fault}}}")
        assert read_script(str(tmp_path / "s.yaml")).faults == {"naive": fault}
    (tmp_path / "s.yaml").write_text("faults: {naive: unwriten}")
    with pytest.raises(UsageError, match="unwriten"):
        read_script(str(tmp_path / "s.yaml"))


def test_memory_reads_what_was_written_filled_and_copied():
    memory = FakeMemory(64)
    memory.write(0, np.arange(4, dtype=np.float32).reshape(2, 2))
    memory.copy(0, 16, 16)
    memory.fill(0, 4, 0xFF)
    out = np.empty(8, np.float32)
    memory.read(0, out)
    assert np.isnan(out[0]) and out[1:].tolist() == [1, 2, 3, 0, 1, 2, 3]
    memory.free()
    assert memory.bytes.size == 0


def test_the_device_is_found_described_and_opened_by_its_name():
    machine = describe_machine(choose_device("fake"))
    assert machine.primary.name == "Fake GPU" and machine.default_baseline == "cublas"
    assert set(machine.targets) == {"fake"}
    (backend,) = open_backends(machine, ["fake"], gate=True).values()
    assert backend.device.target == machine.primary.target
    assert set(make_compilers(machine, ["fake"])) == {"fake"}
    backend.close()
