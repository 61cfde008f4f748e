"""From problems and variants to plans: each configuration runs, or says why not; a `pick` takes its first row."""

from dataclasses import replace

import pytest

from gemmbench.errors import SpecError, UsageError
from gemmbench.planning.manifests.catalog import Catalog, read_variant
from gemmbench.planning.manifests.variant import ALL
from gemmbench.planning.plans.configurations import check_params, count_configurations, list_configurations
from gemmbench.planning.plans.expansion import check_memory, make_plans
from gemmbench.planning.plans.plan import Plan, Skip, Target
from gemmbench.planning.plans.skip_reasons import choose_backend, explain_unready
from gemmbench.planning.problems import Problem
from gemmbench.planning.search_space import find_row

GPU = Target("cuda", sm=90, sms=132, smem=1 << 16, l2=50 << 20, memory=1 << 34)
CPU = Target("cpu", sm=0, sms=2, smem=1 << 16, l2=1 << 20, memory=1 << 33, is_gpu=False, has_graphs=False)
TILED = {"params": {"T": "[16, 8, 32]"}, "grid": ["cdiv(N, T)", "cdiv(M, T)"], "block": ["T", "T"]}
CUBE = Problem(64, 64, 64)


@pytest.fixture
def plans(write_kernel):
    """Plan one kernel with these manifest keys on a GPU."""

    def plan(problem=CUBE, values=None, target=GPU, **keys):
        variant = read_variant(write_kernel(**keys))
        chosen = [(variant, list_configurations(variant, {ALL: ()} if values is None else values))]
        return make_plans([problem], chosen, target.kind, {target.kind: target}, lambda variant, device: "")

    return plan


def reason(found):
    (skip,) = found
    assert isinstance(skip, Skip)
    return skip.reason


def test_the_default_configuration_is_the_first_value_of_each(write_kernel):
    variant = read_variant(write_kernel(params={"A1": "[3, 1]", "B1": "[4, 2]"}))
    assert [str(config) for config in list_configurations(variant, {})] == ["A1=3 B1=4"]
    assert [str(config) for config in list_configurations(variant, {"B1": (2, 9)})] == ["A1=3 B1=2", "A1=3 B1=9"]
    found = [str(config) for config in list_configurations(variant, {ALL: ()})]
    assert found == ["A1=3 B1=4", "A1=3 B1=2", "A1=1 B1=4", "A1=1 B1=2"]
    assert [str(config) for config in list_configurations(variant, {ALL: (), "A1": (7,)})] == ["A1=7 B1=4", "A1=7 B1=2"]


def test_a_plan_holds_the_numbers_of_its_launch(plans):
    found = plans(Problem(100, 60, 7), {}, **TILED, shared="4 * T * T")
    (plan,) = found
    assert isinstance(plan, Plan)
    assert (plan.geometry.grid, plan.geometry.block, plan.geometry.shared) == ((4, 7, 1), (16, 16, 1), 1024)
    assert (plan.geometry.blocks, plan.geometry.threads) == (28, 256)
    assert (plan.device, plan.arch) == ("cuda", "90")


def test_the_macros_are_the_values_the_types_and_the_layout(plans):
    (plan,) = plans(Problem(8, 8, 8, "tn"), {}, **TILED, layouts="[tn]")
    expected = "T=16 TA=float TB=float TC=float TACC=float TRANS_A=1 TRANS_B=0"
    assert " ".join(f"{name}={value}" for name, value in plan.defines) == expected


def test_the_device_s_numbers_can_be_read(plans):
    (plan,) = plans(grid=["SMS", "L2 // 1048576"], shared="SMEM")
    assert (plan.geometry.grid, plan.geometry.shared) == ((132, 50, 1), 1 << 16)


def test_a_false_line_of_require_is_the_reason(plans):
    found = plans(Problem(64, 64, 24), **TILED, require=["T <= 64", "K % T == 0"])
    skips = {str(item.config): item.reason for item in found if isinstance(item, Skip)}
    assert set(skips) == {"T=16", "T=32"}
    assert skips["T=16"].startswith("require K % T == 0 (") and skips["T=16"].endswith("mine.cu:17)")
    assert [str(item.config) for item in found if isinstance(item, Plan)] == ["T=8"]


def test_a_division_that_leaves_a_remainder_is_a_skip_with_its_line(plans):
    found = reason(plans(Problem(64, 100, 64), grid=["1", "N / 16"]))
    assert found.startswith("N / 16: 100 / 16 leaves a remainder of 4 (") and found.endswith("mine.cu:9)")


def test_a_division_by_zero_is_a_skip(plans):
    assert "integer division or modulo by zero" in reason(plans(grid=["N // (K - 64)"]))


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"block": ["32", "33"]}, "a block of 1056 threads; a block may have 1 to 1024"),
        ({"block": ["0"]}, "a block of 0 threads"),
        ({"block": ["-16", "-16"]}, "a block of 256 threads; a block may have 1 to 1024"),
        ({"grid": ["0"]}, "a grid of 0 x 1 x 1 blocks exceeds the device's limits"),
        ({"grid": ["1", "65536"]}, "a grid of 1 x 65536 x 1 blocks exceeds"),
        ({"grid": ["2147483648"]}, "a grid of 2147483648 x 1 x 1 blocks exceeds"),
        ({"grid": ["1", "1", "70000"]}, "a grid of 1 x 1 x 70000 blocks exceeds"),
        ({"shared": "SMEM + 1"}, "65537 bytes of shared memory; a block may have 65536"),
        ({"shared": "-1"}, "-1 bytes of shared memory"),
    ],
)
def test_what_the_device_cannot_do_is_a_skip_with_the_line(plans, keys, words):
    found = reason(plans(**keys))
    assert found.startswith(words)
    assert found.rpartition("mine.cu:")[2].rstrip(")").isdigit()


def test_a_grid_at_the_limit_runs(plans):
    (plan,) = plans(grid=["2147483647", "65535", "65535"], block=["1024"], shared="SMEM")
    assert isinstance(plan, Plan)


def test_a_device_that_is_too_old_is_a_skip(plans):
    assert reason(plans(min_sm="100")) == "needs compute capability 10.0; the device has 9.0"
    assert isinstance(plans(min_sm="90")[0], Plan)


@pytest.mark.parametrize(
    ("arch", "sm", "expected"), [("[90a]", 90, "90a"), ("[80, 90f]", 90, "90f"), ("[80]", 80, "80")]
)
def test_code_for_one_architecture_is_compiled_under_its_own_name(plans, arch, sm, expected):
    (plan,) = plans(arch=arch, target=Target("cuda", sm, 1, 1 << 16, 0, 1 << 30))
    assert plan.arch == expected


def test_code_for_another_architecture_is_a_skip(plans):
    assert reason(plans(arch="[100a, 103a]")) == "is written for sm_100a, sm_103a only; the device is sm_90"


def test_precision_and_layout_that_a_variant_lacks_are_skips(plans):
    found = reason(plans(Problem(8, 8, 8, "nn", "tf32"), {}))
    assert found == "does not support precision tf32; supports f32"
    assert reason(plans(Problem(8, 8, 8, "tt"), {})) == "does not support layout tt; supports nn"


def test_what_a_back_end_refuses_is_a_skip_for_every_configuration(write_kernel):
    variant = read_variant(write_kernel(**TILED))
    chosen = [(variant, list_configurations(variant, {ALL: ()}))]
    found = make_plans([CUBE], chosen, "cpu", {"cpu": CPU}, lambda variant, device: f"no {variant.name} on {device}")
    assert [item.reason for item in found] == ["no mine on cpu"] * 3


def test_plans_come_problem_by_problem_and_variants_in_order(make_variant):
    variants = [make_variant("a", kind="library"), make_variant("b", kind="library")]
    chosen = [(variant, list_configurations(variant, {})) for variant in variants]
    found = make_plans([CUBE, Problem(8, 8, 8)], chosen, "fake", {"fake": GPU}, lambda *_: "")
    assert [(item.problem.size, item.variant.name) for item in found] == [
        ("64", "a"),
        ("64", "b"),
        ("8", "a"),
        ("8", "b"),
    ]


def test_each_variant_runs_where_it_can(make_variant):
    cublas = make_variant("cublas", kind="library", devices=("cuda",))
    host = make_variant("host", kind="host", devices=("cpu",))
    both = {"cuda": GPU, "cpu": CPU}
    assert choose_backend(make_variant(), "cuda", both) == "cuda"
    assert choose_backend(make_variant(), "cpu", {"cpu": CPU}) == "cpu"
    assert choose_backend(host, "cuda", both) == "cpu"
    assert choose_backend(cublas, "cpu", {"cpu": CPU}) == "cuda"
    fake = replace(GPU, runs_every_variant=True)
    assert {choose_backend(variant, "fake", {"fake": fake}) for variant in (cublas, host)} == {"fake"}


def test_a_gpu_library_on_a_cpu_is_a_skip(make_variant):
    cublas = make_variant("cublas", kind="library", devices=("cuda",))
    found = make_plans([CUBE], [(cublas, list_configurations(cublas, {}))], "cpu", {"cpu": CPU}, lambda *_: "")
    assert reason(found) == "needs an NVIDIA GPU; this run has none"
    assert found[0].device == "cuda"


def test_every_one_of_ten_thousand_configurations_is_a_plan_or_a_skip(plans):
    values = "[" + ", ".join(map(str, range(1, 11))) + "]"
    names = ("P1", "P2", "P3", "P4")
    found = plans(params=dict.fromkeys(names, values), require=["P1 * P2 <= P3 * P4"], block=["P1", "P2"])
    products = [a * b for a in range(1, 11) for b in range(1, 11)]
    allowed = sum(a <= b for a in products for b in products)
    assert len({str(item.config) for item in found}) == len(found) == 10_000
    assert sum(isinstance(item, Plan) for item in found) == allowed


def test_configurations_are_counted_by_the_lines_that_need_no_problem(write_kernel):
    variant = read_variant(write_kernel(**TILED, require=["T * T <= 256", "K % T == 0", "512 / T == 32 or T == 8"]))
    assert count_configurations(variant) == 2


def test_a_configuration_that_divides_unevenly_is_not_counted(write_kernel):
    variant = read_variant(write_kernel(**TILED, require=["48 / T > 0"]))
    assert count_configurations(variant) == 2


def test_a_parameter_that_no_chosen_variant_has_offers_the_nearest(make_variant):
    tiled, naive = make_variant("tiled", params=(("TILE", (8,)),)), make_variant("naive")
    check_params([(tiled, {"TILE": (8,)}), (naive, {"TILE": (8,), ALL: ()})])
    with pytest.raises(UsageError) as fault:
        check_params([(tiled, {"TILES": (8,)}), (naive, {"TILES": (8,)})])
    message = "no chosen variant has a parameter 'TILES' (did you mean 'TILE'?); known: TILE"
    assert str(fault.value) == message
    with pytest.raises(UsageError, match="known: none"):
        check_params([(naive, {"BM": (8,)})])


def test_a_problem_larger_than_the_smallest_memory_is_refused_before_anything_is_allocated():
    check_memory([Problem(1 << 14, 1 << 14, 1 << 14)], {"cuda": GPU, "cpu": CPU})
    with pytest.raises(UsageError) as fault:
        check_memory([CUBE, Problem(1 << 15, 1 << 15, 1 << 15)], {"cuda": GPU, "cpu": CPU})
    message = "size 32768: its operands need 12.0 GiB, but the cpu device has 8.0 GiB; choose a smaller size"
    assert str(fault.value) == message


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
