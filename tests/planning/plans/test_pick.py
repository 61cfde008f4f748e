"""Variants that dispatch: the first row that holds and can run is planned under their name."""

import pytest

from gemmbench.errors import SpecError
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.configurations import count_configurations, list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Plan, Skip, Target
from gemmbench.planning.plans.skip_reasons import explain_unready
from gemmbench.planning.problems import Problem
from gemmbench.planning.search_space import find_row

GPU = Target("cuda", sm=90, sms=132, smem=1 << 16, l2=50 << 20, memory=1 << 34)
CPU = Target("cpu", sm=0, sms=2, smem=1 << 16, l2=1 << 20, memory=1 << 33, is_gpu=False, has_graphs=False)
BARE = {"symbol": None, "grid": None, "block": None, "body": ""}
SMALL = "variant: small\n    when: M * N <= 64 * 64\n    params: {BM: 8}"
OF_SMALL = "\n  small:\n    blocks: cdiv(M, BM)\n    time: start + each * blocks"
OF_LARGE = "\n  large:\n    time: M // (K - 5) + start"
EIGHT = "variant: small\n    when: N < 100\n    params: {BM: 8}\n    costs: {start: 10, each: 1}"
SIXTEEN = "variant: small\n    params: {BM: 16}\n    costs: {start: 7, each: 3}"
LARGE = "variant: large\n    costs: {start: 20}"


@pytest.fixture
def kernels(write_kernel, tmp_path):
    """A catalog of `small` (BM 16 or 8), `large` (for even K on sm_90) and `best`, which has these rows."""

    def make(*rows, **large):
        write_kernel("small.cu", params={"BM": "[16, 8]"}, order="1")
        write_kernel("large.cu", **{"require": ["K % 2 == 0"], "min_sm": "90", "order": "2", **large})
        write_kernel("best.cu", **BARE, order="7", pick=list(rows))
        return Catalog([tmp_path / "kernels"])

    return make


@pytest.fixture
def competing(kernels, write_kernel):
    """A catalog as `kernels` makes it, whose `best` has estimates of `small` and `large`."""

    def make(*rows, **large):
        catalog = kernels(SMALL, **large)
        estimates = OF_SMALL + OF_LARGE * any("large" in row and "costs" in row for row in rows)
        write_kernel("best.cu", **BARE, order="7", estimates=estimates, pick=list(rows))
        return catalog

    return make


def plan(catalog, problem, target=GPU, refuses=lambda *_: ""):
    variant = catalog.get("best")
    chosen = [(variant, list_configurations(variant, {}))]
    (found,) = make_plans([problem], chosen, target.kind, {target.kind: target}, refuses)
    return found


def test_the_first_row_that_holds_is_planned_under_the_name_of_the_row(kernels):
    catalog = kernels(SMALL, "variant: large\n    when: N > 1", "variant: small")
    small, large, rest = (plan(catalog, Problem(*shape)) for shape in ((64, 64, 3), (65, 64, 4), (5000, 1, 8)))
    assert [str(found.config) for found in (small, large, rest)] == ["small: BM=8", "large", "small: BM=16"]
    assert {(found.variant.name, found.variant.order) for found in (small, large, rest)} == {("best", 7)}
    assert small.variant.path.endswith("small.cu") and large.variant.path.endswith("large.cu")
    assert dict(small.defines)["BM"] == "8"


def test_a_row_that_cannot_run_gives_way_to_the_next(kernels):
    catalog = kernels("variant: large\n    when: M > 0", "variant: small")
    assert str(plan(catalog, Problem(8, 8, 8)).config) == "large"
    assert str(plan(catalog, Problem(8, 8, 7)).config) == "small: BM=16"
    old = Target("cuda", sm=80, sms=1, smem=1 << 16, l2=0, memory=1 << 30)
    assert str(plan(catalog, Problem(8, 8, 8), old).config) == "small: BM=16"
    refused = plan(catalog, Problem(8, 8, 8), CPU, lambda variant, _: "no" if variant.name == "large" else "")
    assert str(refused.config) == "small: BM=16"


def test_no_row_is_a_skip_and_so_is_a_last_row_that_is_excluded(kernels):
    catalog = kernels(SMALL, "variant: large\n    when: M > 100")
    none, excluded = plan(catalog, Problem(80, 80, 8)), plan(catalog, Problem(200, 200, 7))
    assert isinstance(none, Skip) and none.reason.startswith("no row of its `pick` matches this problem (")
    assert isinstance(excluded, Skip) and excluded.reason.startswith("large: require K % 2 == 0 (")
    assert excluded.variant.name == "best"


def test_a_condition_without_a_value_is_passed_over(kernels):
    catalog = kernels("variant: large\n    when: M / 3 > 1", "variant: small")
    assert str(plan(catalog, Problem(8, 8, 8)).config) == "small: BM=16"
    assert str(plan(catalog, Problem(9, 8, 8)).config) == "large"


def test_its_own_precisions_and_layouts_come_first(kernels):
    catalog = kernels("variant: small")
    assert plan(catalog, Problem(8, 8, 8, "tn")).reason == "does not support layout tn; supports nn"


def test_one_that_dispatches_can_be_picked_itself(kernels, write_kernel):
    catalog = kernels("variant: inner")
    write_kernel("inner.cu", **BARE, pick=["variant: small\n    params: {BM: 8}"])
    catalog = Catalog([catalog._files["best"].parent])
    found = plan(catalog, Problem(8, 8, 8))
    assert (found.variant.name, str(found.config)) == ("best", "small: BM=8")


def test_a_picked_plan_is_cut_into_panels_of_the_same_kernel(kernels):
    whole = plan(kernels(SMALL, "variant: large"), Problem(64, 64, 8))
    chosen = [(whole.variant, [whole.config])]
    panel = make_plans([Problem(9000, 64, 8)], chosen, "cuda", {"cuda": GPU}, lambda *_: "")[0]
    assert isinstance(panel, Plan)
    assert (panel.variant, panel.config) == (whole.variant, whole.config)


def test_it_is_ready_where_any_of_its_rows_is(kernels):
    best = kernels("variant: large\n    when: M > 1", "variant: small").get("best")
    assert explain_unready(best, "cpu", CPU, lambda variant, _: "no" if variant.name == "large" else "") == ""
    assert explain_unready(best, "cpu", CPU, lambda variant, _: "" if variant.name == "best" else f"no {variant.name}")
    assert explain_unready(best, "cuda", None, lambda *_: "") == "needs an NVIDIA GPU; this run has none"
    assert count_configurations(best) == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("variant: smal", "pick: 'smal' is not a kernel (did you mean 'small'?)"),
        ("variant: best", "pick: circular: best -> best; pick another variant"),
        ("variant: cublas", "pick: 'cublas' is a library; only kernels can be picked"),
        ("variant: host", "pick: 'host' is not a .cu file that computes a GEMM; pick another"),
        ("variant: small\n    params: {BN: 8}", "pick: small has no parameter 'BN' (did you mean 'BM'?); known: BM"),
        ("variant: large\n    params: {BN: 8}", "pick: large has no parameter 'BN'; known: none"),
    ],
)
def test_a_row_that_names_what_it_cannot_have_is_told_with_its_line(
    kernels, write_kernel, make_variant, line_of, row, message
):
    kernels(row)
    host = 'extern "C" void gemm(int M, int N) {}'
    folder = write_kernel("host.cpp", grid=None, block=None, body=host).parent
    library = make_variant("cublas", kind="library", devices=("cuda",), text="", path="")
    with pytest.raises(SpecError) as fault:
        Catalog([folder], [library]).get("best")
    path = folder / "best.cu"
    assert (fault.value.line, fault.value.fault) == (line_of(path, "- variant"), message)
    assert fault.value.location.endswith("best.cu")


def test_a_longer_circle_is_told_whole(kernels, write_kernel):
    kernels("variant: other")
    folder = write_kernel("other.cu", **BARE, pick=["variant: best"]).parent
    with pytest.raises(SpecError, match=r"other\.cu:\d+: pick: circular: best -> other -> best"):
        Catalog([folder]).get("best")


def test_a_launcher_can_be_picked(kernels, write_kernel):
    write_kernel("launched.cu", symbol=None, grid=None, block=None, host="run", order="3")
    catalog = kernels("variant: launched\n    when: N > 1", "variant: small")
    found = plan(catalog, Problem(64, 64, 64))
    assert (found.variant.name, found.config.picked, found.variant.call.host) == ("best", "launched", "run")
    assert plan(catalog, Problem(5000, 1, 8)).config.picked == "small"


@pytest.mark.parametrize(
    ("shape", "picked"),
    [((16, 8, 8), "small: BM=16"), ((32, 8, 8), "small: BM=16"), ((160, 8, 8), "small: BM=8")],
    ids=["12 and 10", "14 and 13", "30 and 37"],
)
def test_of_neighbouring_rows_with_costs_the_fastest_is_planned(competing, shape, picked):
    catalog = competing(EIGHT, SIXTEEN, "variant: large")
    assert str(plan(catalog, Problem(*shape)).config) == picked


def test_a_row_with_costs_whose_condition_fails_does_not_compete(competing):
    catalog = competing(EIGHT, SIXTEEN, "variant: large")
    assert str(plan(catalog, Problem(160, 100, 8)).config) == "small: BM=16"


def test_rows_with_costs_compete_only_with_their_neighbours(competing):
    catalog = competing("variant: large\n    when: M > 100", EIGHT, "variant: small\n    when: K == 1", SIXTEEN, LARGE)
    assert str(plan(catalog, Problem(160, 8, 8)).config) == "large"
    assert str(plan(catalog, Problem(16, 8, 8)).config) == "small: BM=8"


def test_where_the_fastest_cannot_run_the_next_in_time_is_tried(competing):
    rows = (LARGE.replace("20", "0"), SIXTEEN, EIGHT)
    assert str(plan(competing(*rows), Problem(32, 8, 8)).config) == "large"
    assert str(plan(competing(*rows), Problem(160, 8, 7)).config) == "small: BM=8"


def test_a_row_whose_estimate_has_no_value_is_passed_over(competing):
    catalog = competing(LARGE, SIXTEEN, EIGHT, require=["K > 0"])
    assert str(plan(catalog, Problem(160, 8, 5)).config) == "small: BM=8"


def test_the_row_of_a_problem_is_the_fastest_that_can_run(competing):
    variant = competing(EIGHT, SIXTEEN, LARGE).get("best")
    found = [find_row(Problem(m, 8, 8), variant, "cuda", {"cuda": GPU}, lambda *_: "") for m in (16, 160)]
    assert found == [1, 0]
