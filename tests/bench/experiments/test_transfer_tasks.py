"""Which jobs are measured, and their steps: which bytes go where, in which order, on which stream."""

import numpy as np
import pytest

from gemmbench.backends.fake.backend import FakeBackend, FakeCompiler
from gemmbench.backends.fake.entry import describe_fake
from gemmbench.backends.fake.script import FakeHost, Script
from gemmbench.backends.jobs import CopyStep
from gemmbench.bench.experiments.transfer_tasks import HostMatrices, Piece, choose_plans, make_job_steps, plan_tasks
from gemmbench.bench.operands.operand_values import make_operands
from gemmbench.bench.record import RANKING
from gemmbench.errors import OutOfMemory
from gemmbench.planning.manifests.expressions import parse
from gemmbench.planning.manifests.variant import Launch
from gemmbench.planning.plans.plan import Geometry
from gemmbench.planning.problems import LAYOUTS, Panel, PanelCut, Problem, cut_into_panels
from tests.bench.conftest import CODE

AT = {"A": 1000, "B": 2000, "C": 3000}


@pytest.fixture
def queue(make_plan):
    """The steps of a job, and the matrices they copy."""

    def make(problem, panels, streams):
        matrices = HostMatrices(FakeBackend(), problem, pinned=True)
        cut = cut_into_panels(problem, panels)
        pieces = [Piece(panel, make_plan("naive", panel.make_problem(problem)), CODE) for panel in cut]
        return matrices, make_job_steps(matrices, pieces, AT, streams)

    return make


def words(step):
    if not isinstance(step, CopyStep):
        return f"{step.stream} launch {step.plan.problem.M} {step.at['A']} {step.at['B']} {step.at['C']}"
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
    copies = ["0 in 8 2000", "0 in 640 1000", "0 launch 160 1000 2000 3000", "0 out 1280 3000"]
    assert [words(step) for step in found] == copies


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
    used = data["A"].T if problem.trans_a else data["A"]
    want = used[64:96].T if problem.trans_a else used[64:96]
    assert panel.tobytes() == want.tobytes()
    assert panel.flags.c_contiguous == (not problem.trans_a)


def test_poison_is_all_that_a_result_holds_until_something_is_copied():
    matrices = HostMatrices(FakeBackend(), Problem(3, 4, 5), pinned=False)
    matrices.poison()
    assert np.isnan(matrices.copy_result()).all() and matrices.copy_result().shape == (3, 4)


def test_what_was_had_is_given_back_when_more_is_not_to_be_had(watch_calls):
    given, freed = [], []

    def be_scarce(self, nbytes, pinned):
        if len(given) == 2:
            raise OutOfMemory("no more")
        given.append(nbytes)

    watch_calls(FakeBackend, "host", be_scarce)
    watch_calls(FakeHost, "free", lambda self: freed.append(self.bytes.size))
    with pytest.raises(OutOfMemory, match="no more"):
        HostMatrices(FakeBackend(), Problem(2, 3, 4), pinned=True)
    assert freed == given == [32, 48]


SIZE = Problem(160, 64, 64)


@pytest.fixture
def row(make_record):
    """The record of a kernel of the problem, timed."""

    def make(name, seconds, tile=0, **changed):
        return make_record(name, [seconds] * 2, config={"T": tile} if tile else {}, M=160, **changed)

    return make


@pytest.fixture
def choose(make_plan):
    """Which of two configurations of `tiled`, of `cublas`, and of a smaller problem these records choose."""

    def names(*records):
        plans = [make_plan("tiled", SIZE, {"T": tile}) for tile in (8, 16)]
        plans += [make_plan("cublas", problem) for problem in (SIZE, Problem(64, 64, 64))]
        return [f"{plan.variant.name} {plan.config}".strip() for plan in choose_plans(plans, records)]

    return names


def test_the_fastest_configuration_of_every_kernel_is_chosen_in_order(choose, row):
    assert choose(row("tiled", 2, 8), row("tiled", 1, 16), row("cublas", 3)) == ["tiled T=16", "cublas"]


def test_fresh_rounds_decide_where_there_are_some(choose, row):
    assert choose(row("tiled", 2, 8), row("tiled", 1, 16), row("tiled", 3, 8, phase="final")) == ["tiled T=8"]


def test_a_short_load_does_not_count(choose, row):
    short = [row("tiled", 1, 8, phase=RANKING), row("tiled", 2, 16, phase=RANKING)]
    assert choose(*short, row("tiled", 1, 8, status="wrong"), row("tiled", 2, 16)) == ["tiled T=16"]


def test_what_is_wrong_or_was_not_timed_is_not_measured(choose, row, make_record):
    assert choose(row("tiled", 1, 8, status="wrong"), make_record("cublas", M=160)) == []


@pytest.fixture
def task(make_plan):
    """The task of a kernel whose grid is one block for each `height` rows, cut into panels."""

    def make(panels, height=32, require=(), faults=None):
        launch = Launch("gemm", (parse(1), parse(f"M / {height}")), (parse(16),), parse(0))
        rules = tuple(parse(rule) for rule in require)
        plan = make_plan("naive", SIZE, launch=launch, require=rules)
        compilers = {"fake": FakeCompiler(Script(faults=faults or {}))}
        return plan_tasks([plan], PanelCut(panels, 3), {"fake": describe_fake().target}, lambda *_: "", compilers)

    return make


def test_the_grid_of_a_panel_is_that_of_its_rows(task):
    (found,) = task(3)
    assert [piece.plan.problem.M for piece in found.panels] == [64, 64, 32]
    assert [piece.plan.geometry.grid for piece in found.panels] == [(1, 2, 1), (1, 2, 1), (1, 1, 1)]
    assert {piece.artifact for piece in (found.whole, *found.panels)} == {found.whole.artifact}
    assert isinstance(found.whole.plan.geometry, Geometry) and found.why_not == ""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"require": ["M % 64 == 0 or M == 160"]}, "32 rows: require M % 64 == 0 or M == 160 (cuda/naive.cu:"),
        ({"height": 160}, "64 rows: "),  # the grid does not come out even
    ],
)
def test_a_panel_that_the_kernel_excludes_is_the_reason_why_there_are_none(task, changes, words):
    (found,) = task(3, **changes)
    assert found.panels == () and found.why_not.startswith(f"a panel of {words}")


def test_what_does_not_compile_any_more_has_no_task(task):
    assert task(3, faults={"naive": "build"}) == []
