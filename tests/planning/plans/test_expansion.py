"""From problems and variants to plans: every configuration runs, or says why not."""

from dataclasses import replace

import pytest

from gemmbench.errors import UsageError
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.manifests.variant import ALL
from gemmbench.planning.plans.configurations import check_params, count_configurations, list_configurations
from gemmbench.planning.plans.expansion import check_memory, make_plans
from gemmbench.planning.plans.plan import Plan, Skip, Target
from gemmbench.planning.plans.skip_reasons import choose_backend
from gemmbench.planning.problems import Problem

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
