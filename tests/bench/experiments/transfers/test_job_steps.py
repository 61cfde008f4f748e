"""A job as steps: which bytes go where, in which order, on which stream, after what."""

import numpy as np
import pytest

from gemmbench.backends.base import Artifact, Build, OperandSet
from gemmbench.backends.fake.backend import FakeBackend
from gemmbench.backends.jobs import CopyStep
from gemmbench.bench.experiments.transfer_tasks import HostMatrices, Piece, make_job_steps
from gemmbench.bench.operands.fill import make_operands
from gemmbench.errors import OutOfMemory
from gemmbench.planning.problems import LAYOUTS, Panel, Problem, cut_into_panels

AT = OperandSet(1000, 2000, 3000)
CODE = Artifact("code", "", Build())


@pytest.fixture
def queue(make_plan):
    """The steps of a job, and the matrices they copy."""

    def make(problem, panels, streams):
        matrices = HostMatrices(FakeBackend(), problem, pinned=True)
        pieces = [
            Piece(panel, make_plan("naive", panel.make_problem(problem)), CODE)
            for panel in cut_into_panels(problem, panels)
        ]
        return matrices, make_job_steps(matrices, pieces, AT, streams)

    return make


def words(step):
    if not isinstance(step, CopyStep):
        return f"{step.stream} launch {step.plan.problem.M} {step.at.A} {step.at.B} {step.at.C}"
    way = "in" if step.inward else "out"
    after = "" if step.after is None else f" after {step.after}"
    return f"{step.stream} {way} {step.host.nbytes} {step.device}{after}"


def test_panels_take_the_streams_in_turn_and_wait_for_b_alone(queue):
    _, found = queue(Problem(160, 2, 1), 8, 2)  # A: 4 bytes a row, B: 8 bytes, C: 8 bytes a row
    assert [words(step) for step in found] == [
        "0 in 8 2000",
        "0 in 256 1000",
        "0 launch 64 1000 2000 3000",
        "0 out 512 3000",
        "1 in 256 1256 after 0",
        "1 launch 64 1256 2000 3512",
        "1 out 512 3512",
        "0 in 128 1512",
        "0 launch 32 1512 2000 4024",
        "0 out 256 4024",
    ]


def test_one_panel_is_the_plain_job(queue):
    _, found = queue(Problem(160, 2, 1), 1, 3)
    assert [words(step) for step in found] == [
        "0 in 8 2000",
        "0 in 640 1000",
        "0 launch 160 1000 2000 3000",
        "0 out 1280 3000",
    ]


def test_the_c_that_beta_multiplies_goes_in_before_the_launch_and_is_not_what_comes_out(queue):
    matrices, found = queue(Problem(2, 2, 1, beta=0.5), 1, 1)
    assert [words(step) for step in found] == [
        "0 in 8 2000",
        "0 in 8 1000",
        "0 in 16 3000",
        "0 launch 2 1000 2000 3000",
        "0 out 16 3000",
    ]
    assert np.shares_memory(found[2].host, matrices.whole("C0"))
    assert not np.shares_memory(found[4].host, matrices.whole("C0"))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_panel_holds_its_rows_of_op_a(layout):
    problem = Problem(160, 3, 5, layout)
    matrices = HostMatrices(FakeBackend(), problem, pinned=True)
    data = make_operands(problem, "uniform", 0)
    matrices.write(data)
    panel = matrices.panel("A", Panel(64, 32))
    used = data.A.T if problem.trans_a else data.A
    want = used[64:96].T if problem.trans_a else used[64:96]
    assert panel.tobytes() == want.tobytes()
    assert panel.flags.c_contiguous == (not problem.trans_a)


def test_poison_is_all_that_a_result_holds_until_something_is_copied():
    matrices = HostMatrices(FakeBackend(), Problem(3, 4, 5), pinned=False)
    matrices.poison()
    assert np.isnan(matrices.copy_result()).all() and matrices.copy_result().shape == (3, 4)


def test_what_was_had_is_given_back_when_more_is_not_to_be_had(monkeypatch):
    given, freed = [], []
    backend = FakeBackend()
    host = backend.host

    def scarce(nbytes, pinned):
        if len(given) == 2:
            raise OutOfMemory("no more")
        memory = host(nbytes, pinned)
        memory.free = lambda: freed.append(nbytes)
        given.append(nbytes)
        return memory

    monkeypatch.setattr(backend, "host", scarce)
    with pytest.raises(OutOfMemory, match="no more"):
        HostMatrices(backend, Problem(2, 3, 4), pinned=True)
    assert freed == given == [32, 48]
