"""From problems and variants to plans: each configuration runs, or says why not; a `pick` takes its first row."""

from dataclasses import replace

import pytest

from gemmbench.backends.cuda.library_variants import CUBLASLT
from gemmbench.errors import SpecError, UsageError
from gemmbench.planning.manifests.catalog import Catalog, read_variant
from gemmbench.planning.manifests.variant import ALL
from gemmbench.planning.plans.configurations import check_params, count_configurations, list_configurations
from gemmbench.planning.plans.expansion import check_memory, collect_names, estimate_time, evaluate_costs, make_plans
from gemmbench.planning.plans.plan import Plan, Skip, make_chain
from gemmbench.planning.plans.skip_reasons import choose_backend, explain_unready
from gemmbench.planning.problems import Problem
from gemmbench.planning.search_space import find_row

TILED = {"params": {"T": "[16, 8, 32]"}, "grid": ["cdiv(N, T)", "cdiv(M, T)"], "block": ["T", "T"]}
CUBE = Problem(64, 64, 64)


@pytest.fixture
def plans(write_kernel, expand, gpu):
    """Plan one kernel with these manifest keys on a GPU, in all configurations."""

    def plan(problem=CUBE, values=None, target=gpu, **keys):
        return expand(read_variant(write_kernel(**keys)), problem, {ALL: ()} if values is None else values, target)

    return plan


def reason(found):
    (skip,) = found
    assert isinstance(skip, Skip)
    return skip.reason


def test_the_default_configuration_is_the_first_value_of_each(write_kernel):
    variant = read_variant(write_kernel(params={"A1": "[3, 1]", "B1": "[4, 2]"}))

    def texts(values):
        return [str(config) for config in list_configurations(variant, values)]

    assert texts({}) == ["A1=3 B1=4"]
    assert texts({"B1": (2, 9)}) == ["A1=3 B1=2", "A1=3 B1=9"]
    assert texts({ALL: ()}) == ["A1=3 B1=4", "A1=3 B1=2", "A1=1 B1=4", "A1=1 B1=2"]
    assert texts({ALL: (), "A1": (7,)}) == ["A1=7 B1=4", "A1=7 B1=2"]


def test_a_plan_holds_the_numbers_of_its_launch(plans):
    (plan,) = plans(Problem(100, 60, 7), {}, **TILED, shared="4 * T * T")
    assert isinstance(plan, Plan)
    assert (plan.geometry.grid, plan.geometry.block, plan.geometry.shared) == ((4, 7, 1), (16, 16, 1), 1024)
    assert (plan.geometry.blocks, plan.geometry.threads) == (28, 256)
    assert (plan.device, plan.arch) == ("cuda", "90")


def test_groups_are_launched_one_by_one_where_a_variant_takes_one_product(plans):
    groups = Problem(21, 60, 7, "nt", groups=(0, 16, 4, 1), epilogue=("bias", "gelu"))
    (plan,) = plans(groups, {}, **TILED, layouts="[nn, nt]", epilogue="[bias]")
    chain = make_chain(plan)
    assert chain.problem == groups and chain.launched_per_product and chain.passed == ("gelu",)
    launched = [(each.group, each.is_pass, each.problem.M) for each in chain.steps]
    assert launched == [(1, False, 16), (1, True, 16), (2, False, 4), (2, True, 4), (3, False, 1), (3, True, 1)]
    assert [each.geometry.grid for each in chain.steps if not each.is_pass] == [(4, 1, 1)] * 3
    assert not any("GROUPS" in dict(each.defines) for each in chain.steps)


def test_a_group_that_a_rule_refuses_is_named(plans):
    (skip,) = plans(Problem(21, 60, 7, groups=(16, 0, 5)), {}, **TILED, require=["M % 16 == 0"])
    assert skip.reason.startswith("group 2, 5 rows: require M % 16 == 0 (")
    assert skip.problem.groups == (16, 0, 5)


def test_the_cpu_device_launches_few_groups_one_by_one(plans, cpu):
    many = Problem(65, 60, 7, groups=(1,) * 65)
    assert len(plans(many, {}, **TILED)[0].parts) == 65
    why = reason(plans(many, {}, target=cpu, **TILED))
    assert why == "would need a process for each of its 65 groups, and may have 64; its `kinds` has no `groups`"


def test_a_kernel_of_groups_alone_takes_nothing_else(plans):
    only = {**TILED, "kinds": "[groups]"}
    assert isinstance(plans(Problem(21, 60, 7, groups=(16, 5)), {}, **only)[0], Plan)
    for problem, given in ((Problem(21, 60, 7), "this is one product"), (Problem(4, 4, 4, count=2), "this is a batch")):
        words = f"takes only groups (`kinds`), but {given}; choose a size such as 8+0+4x64x64"
        assert reason(plans(problem, {}, **only)) == words
    batches = plans(Problem(21, 60, 7, groups=(16, 5)), {}, **TILED, kinds="[many]")
    assert reason(batches) == "takes only batches (`kinds`), but these are groups; choose a size such as 8*64"


def test_the_macros_are_the_values_the_types_and_the_layout(plans):
    (plan,) = plans(Problem(8, 8, 8, "tn"), {}, **TILED, layouts="[tn]")
    expected = "T=16 TA=float TB=float TC=float TACC=float TRANS_A=1 TRANS_B=0"
    assert " ".join(f"{name}={value}" for name, value in plan.defines) == expected


def test_the_device_s_numbers_can_be_read(plans):
    (plan,) = plans(grid=["SMS", "L2 // 1048576"], shared="SMEM")
    assert (plan.geometry.grid, plan.geometry.shared) == ((132, 50, 1), 227 << 10)


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


GROUPED = ["M", "N", "K", "alpha", "A", "B", "beta", "C", "offsets", "groups"]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"block": ["32", "33"]}, "a block of 1056 threads; a block may have 1 to 1024"),
        ({"block": ["0"]}, "a block of 0 threads"),
        ({"block": ["-16", "-16"]}, "a block of 256 threads; a block may have 1 to 1024"),
        ({"grid": ["0"]}, "a grid of 0 x 1 x 1 blocks computes nothing"),
        ({"grid": ["1", "-2"]}, "a grid of 1 x -2 x 1 blocks computes nothing"),
        ({"grid": ["1", "1", "M - 64"]}, "a grid of 1 x 1 x 0 blocks computes nothing: `M - 64` is 0 ("),
        (
            {"grid": ["1", "1", "groups"], "kinds": "[one, groups]", "args": GROUPED},
            "a grid of 1 x 1 x 0 blocks computes nothing: `groups` is 0, because one product has no groups; write max(",
        ),
        ({"grid": ["1", "65536"]}, "a grid of 1 x 65536 x 1 blocks exceeds"),
        ({"grid": ["2147483648"]}, "a grid of 2147483648 x 1 x 1 blocks exceeds"),
        ({"grid": ["1", "1", "70000"]}, "a grid of 1 x 1 x 70000 blocks exceeds"),
        ({"shared": "SMEM + 1"}, "232449 bytes of shared memory; a block may have 232448"),
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


@pytest.mark.parametrize(
    ("problem", "keys", "expected"),
    [
        (CUBE, {"min_sm": "100"}, "needs compute capability 10.0, but the device has 9.0"),
        (CUBE, {"arch": "[100a, 103a]"}, "is written only for sm_100a, sm_103a, but the device is sm_90"),
        (Problem(8, 8, 8, "nn", "tf32"), {}, "does not support precision tf32; supports f32"),
        (Problem(8, 8, 8, "tt"), {}, "does not support layout tt; supports nn"),
        (
            Problem(8, 8, 8, "nn", "int8", epilogue=("bias", "gelu")),
            {"precisions": "[int8]"},
            "gelu gives fractions, but C of int8 is int32; choose --epilogue from bias, residual, relu",
        ),
        (
            Problem(8, 8, 8, "nn", "int8", beta=-0.5),
            {"precisions": "[int8]"},
            "beta is -0.5, but int8 multiplies integers; choose a whole number, such as --beta 1",
        ),
        (Problem(8, 8, 8, ld=("A+8",)), {}, "takes no rows with padding (A+8); its `kinds` has no `padded`"),
        (
            Problem(8, 8, 8, separate_c=True),
            {},
            "writes its result to C and takes no D; its `kinds` has no `separate_c`",
        ),
    ],
)
def test_what_a_variant_lacks_is_a_skip(plans, problem, keys, expected):
    assert reason(plans(problem, **keys)) == expected
    assert isinstance(plans(min_sm="90")[0], Plan)


@pytest.mark.parametrize(("alpha", "beta", "is_offered"), [(1, 0, True), (1, 1, True), (2, 0, False), (1, -1, False)])
def test_a_library_multiplies_integers_by_0_and_1_only_and_fuses_nothing(expand, gpu, alpha, beta, is_offered):
    (found,) = expand(CUBLASLT, Problem(8, 8, 8, "nt", "int8", alpha, beta, epilogue=("bias",)), {}, gpu)
    if is_offered:
        assert (found.fused, [each.fused for each in found.passes]) == ((), [("bias",)])
    else:
        assert found.reason == "multiplies int8 only by an alpha and a beta of 0 or 1; choose --alpha 1 --beta 0"


@pytest.mark.parametrize(
    ("arch", "sm", "expected"), [("[90a]", 90, "90a"), ("[80, 90f]", 90, "90f"), ("[80]", 80, "80")]
)
def test_code_for_one_architecture_is_compiled_under_its_own_name(plans, gpu, arch, sm, expected):
    (plan,) = plans(arch=arch, target=replace(gpu, sm=sm))
    assert plan.arch == expected


def test_what_a_back_end_refuses_is_a_skip_for_every_configuration(write_kernel, expand, cpu):
    found = expand(
        read_variant(write_kernel(**TILED)), CUBE, {ALL: ()}, cpu, lambda variant, on: f"{variant.name} {on}"
    )
    assert [item.reason for item in found] == ["mine cpu"] * 3


def test_plans_come_problem_by_problem_and_variants_in_order(make_variant, gpu):
    variants = [make_variant("a", kind="library"), make_variant("b", kind="library")]
    chosen = [(variant, list_configurations(variant, {})) for variant in variants]
    found = make_plans([CUBE, Problem(8, 8, 8)], chosen, "fake", {"fake": gpu}, lambda *_: "")
    assert [item.problem.size + item.variant.name for item in found] == ["64a", "64b", "8a", "8b"]


def test_each_variant_runs_where_it_can(make_variant, expand, gpu, cpu):
    cublas = make_variant("cublas", kind="library", devices=("cuda",))
    host = make_variant("host", kind="host", devices=("cpu",))
    both = {"cuda": gpu, "cpu": cpu}
    assert choose_backend(make_variant(), "cuda", both) == "cuda"
    assert choose_backend(make_variant(), "cpu", {"cpu": cpu}) == "cpu"
    assert choose_backend(host, "cuda", both) == "cpu"
    assert choose_backend(cublas, "cpu", {"cpu": cpu}) == "cuda"
    found = expand(cublas, target=cpu)
    assert (reason(found), found[0].device) == ("needs an NVIDIA GPU, but this run has none", "cuda")
    fake = replace(gpu, runs_every_variant=True)
    assert {choose_backend(variant, "fake", {"fake": fake}) for variant in (cublas, host)} == {"fake"}


def test_every_one_of_ten_thousand_configurations_is_a_plan_or_a_skip(plans):
    values = "[" + ", ".join(map(str, range(1, 11))) + "]"
    names = ("P1", "P2", "P3", "P4")
    found = plans(params=dict.fromkeys(names, values), require=["P1 * P2 <= P3 * P4"], block=["P1", "P2"])
    products = [a * b for a in range(1, 11) for b in range(1, 11)]
    allowed = sum(a <= b for a in products for b in products)
    assert len({str(item.config) for item in found}) == len(found) == 10_000
    assert sum(isinstance(item, Plan) for item in found) == allowed


def test_configurations_are_counted_by_the_lines_that_need_no_problem(write_kernel):
    for rules, count in (
        (["T * T <= 256", "K % T == 0", "512 / T == 32 or T == 8"], 2),
        (["48 / T > 0"], 2),  # one that divides unevenly is not counted
    ):
        assert count_configurations(read_variant(write_kernel(**TILED, require=rules))) == count


def test_a_parameter_that_no_chosen_variant_has_offers_the_nearest(make_variant):
    tiled, naive = make_variant("tiled", params=(("TILE", (8,)),)), make_variant("naive")
    check_params([(tiled, {"TILE": (8,)}), (naive, {"TILE": (8,), ALL: ()})])
    with pytest.raises(UsageError) as fault:
        check_params([(tiled, {"TILES": (8,)}), (naive, {"TILES": (8,)})])
    message = "none of the chosen kernels has a parameter 'TILES' (did you mean 'TILE'?); known: TILE"
    assert str(fault.value) == message
    with pytest.raises(UsageError, match="known: none"):
        check_params([(naive, {"BM": (8,)})])


def test_a_problem_larger_than_the_smallest_memory_is_refused_before_anything_is_allocated(gpu, cpu):
    check_memory([Problem(1 << 14, 1 << 14, 1 << 14)], {"cuda": gpu, "cpu": cpu})
    with pytest.raises(UsageError) as fault:
        check_memory([CUBE, Problem(1 << 15, 1 << 15, 1 << 15)], {"cuda": gpu, "cpu": cpu})
    message = "size 32768: its operands need 12.0 GiB, but the cpu device has 8.0 GiB; choose a smaller size"
    assert str(fault.value) == message


NAME = "NVIDIA H100 80GB HBM3"
BARE = {"symbol": None, "grid": None, "block": None, "body": ""}
SMALL = "variant: small\n    when: M * N <= 64 * 64\n    params: {BM: 8}"
OF_SMALL = "\n  small:\n    blocks: cdiv(M, BM)\n    time: start + each * blocks"
OF_LARGE = "\n  large:\n    time: M // (K - 5) + start"
COSTS = "\n  small:\n    start: 10 if BM == 8 else 7\n    each: 1 if BM == 8 else 3\n  large:\n    start: "
EIGHT = "when: N < 100\n    candidates:\n      - small: {BM: 8}"
SIXTEEN = "candidates:\n      - small: {BM: 16}"
LARGE = "candidates: [large]"
REST = "variant: small"
PLAIN = "variant: plain\n    when: K > 0"


@pytest.fixture
def kernels(write_kernel, tmp_path):
    """A catalog of `small` (BM 16 or 8), `large` (for even K on sm_90) and `best`, which picks one by these rows.

    Candidates have estimates of `small` and `large`, with `start` as the constant of `large`.
    """

    def make(*rows, start=20, **large):
        write_kernel("small.cu", params={"BM": "[16, 8]"}, order="1")
        write_kernel("large.cu", **{"require": ["K % 2 == 0"], "min_sm": "90", "order": "2", **large})
        model = {"estimates": OF_SMALL + OF_LARGE, "costs": COSTS + str(start)} if LARGE in rows else {}
        if EIGHT in rows and not model:
            model = {"estimates": OF_SMALL, "costs": COSTS.partition("\n  large")[0]}
        write_kernel("best.cu", **BARE, order="7", **model, pick=list(rows))
        return Catalog([tmp_path / "kernels"])

    return make


@pytest.fixture
def pick(expand, gpu):
    """What `best` plans for a problem of this shape."""

    def plan(catalog, *shape, target=gpu, refuses=lambda *_: ""):
        (found,) = expand(catalog.get("best"), Problem(*shape), target=target, refuses=refuses)
        return found

    return plan


def refuse_large(variant, _):
    return "no" if variant.name == "large" else ""


def test_the_first_row_that_holds_is_planned_under_the_name_of_the_row(kernels, pick):
    catalog = kernels(SMALL, "variant: large\n    when: N > 1", REST)
    small, large, rest = (pick(catalog, *shape) for shape in ((64, 64, 3), (65, 64, 4), (5000, 1, 8)))
    assert [str(found.config) for found in (small, large, rest)] == ["small: BM=8", "large", "small: BM=16"]
    assert {(found.variant.name, found.variant.order) for found in (small, large, rest)} == {("best", 7)}
    assert small.variant.path.endswith("small.cu") and large.variant.path.endswith("large.cu")
    assert dict(small.defines)["BM"] == "8"


def test_a_picked_kernel_takes_a_vector_as_a_row_along_k_if_it_has_that_layout(expand, write_kernel, gpu):
    write_kernel("any.cu", layouts="[nn, nt, tn, tt]")
    write_kernel("plain.cu", layouts="[tt]")
    folder = write_kernel("best.cu", **BARE, layouts="[nn, nt, tn, tt]", pick=[PLAIN, "variant: any"]).parent
    best = Catalog([folder]).get("best")
    shapes = [Problem(1, 8, 16, "tt"), Problem(8, 1, 16, "nn"), Problem(8, 8, 16, "nn"), Problem(8, 8, 16, "tt")]
    found = [expand(best, each, target=gpu)[0] for each in shapes]
    assert [each.problem for each in found] == shapes
    transposed = [[dict(each.defines)[name] for name in ("TRANS_A", "TRANS_B")] for each in found]
    picked = [each.config.picked for each in found]
    assert (picked, transposed) == (
        ["plain", "any", "any", "plain"], [["1", "1"], ["0", "1"], ["0", "0"], ["1", "1"]]
    )  # fmt: skip


def test_a_row_that_cannot_run_gives_way_to_the_next(kernels, pick, gpu, cpu):
    catalog = kernels("variant: large\n    when: M > 0", REST)
    found = [
        pick(catalog, 8, 8, 8),
        pick(catalog, 8, 8, 7),
        pick(catalog, 8, 8, 8, target=replace(gpu, sm=80)),
        pick(catalog, 8, 8, 8, target=cpu, refuses=refuse_large),
    ]
    assert [str(plan.config) for plan in found] == ["large", *["small: BM=16"] * 3]


def test_no_row_is_a_skip_and_so_is_a_last_row_that_is_excluded(kernels, pick):
    catalog = kernels(SMALL, "variant: large\n    when: M > 100")
    none, excluded = pick(catalog, 80, 80, 8), pick(catalog, 200, 200, 7)
    assert isinstance(none, Skip) and none.reason.startswith("no row of its `pick` matches this problem (")
    assert isinstance(excluded, Skip) and excluded.reason.startswith("large: require K % 2 == 0 (")
    assert excluded.variant.name == "best"
    assert pick(catalog, 8, 8, 8, "tn").reason == "does not support layout tn; supports nn"  # its own come first


def test_one_that_dispatches_can_be_picked_itself(kernels, pick, write_kernel):
    kernels("variant: inner")
    folder = write_kernel("inner.cu", **BARE, pick=["variant: small\n    params: {BM: 8}"]).parent
    found = pick(Catalog([folder]), 8, 8, 8)
    assert (found.variant.name, str(found.config)) == ("best", "small: BM=8")


def test_a_picked_plan_is_cut_into_panels_of_the_same_kernel(kernels, pick, gpu):
    whole = pick(kernels(SMALL, "variant: large"), 64, 64, 8)
    chosen = [(whole.variant, [whole.config])]
    (panel,) = make_plans([Problem(9000, 64, 8)], chosen, "cuda", {"cuda": gpu}, lambda *_: "")
    assert isinstance(panel, Plan)
    assert (panel.variant, panel.config) == (whole.variant, whole.config)


def test_it_is_ready_where_any_of_its_rows_is(kernels, cpu):
    best = kernels("variant: large\n    when: M > 1", REST).get("best")
    assert explain_unready(best, "cpu", cpu, refuse_large) == ""
    assert explain_unready(best, "cpu", cpu, lambda variant, _: "" if variant.name == "best" else f"no {variant.name}")
    assert explain_unready(best, "cuda", None, lambda *_: "") == "needs an NVIDIA GPU, but this run has none"
    assert count_configurations(best) == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("variant: smal", "pick: 'smal' is not a kernel (did you mean 'small'?)"),
        ("variant: best", "pick: circular: best -> best; pick another kernel"),
        ("variant: cublas", "pick: 'cublas' is a library; only kernels can be picked"),
        ("variant: host", "pick: 'host' is not a .cu file that computes a GEMM; pick another kernel"),
        ("variant: small\n    params: {BN: 8}", "pick: small has no parameter 'BN' (did you mean 'BM'?); known: BM"),
        ("variant: large\n    params: {BN: 8}", "pick: large has no parameter 'BN'; known: none"),
    ],
)
def test_a_row_that_names_what_it_cannot_have_is_refused_at_its_line(
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


@pytest.mark.parametrize(
    ("keys", "at", "message"),
    [
        ({"pick": ["candidates:\n      - small: {BN: 8}"]}, "- small", "pick: small has no parameter 'BN'"),
        ({"estimates": "\n  small:\n    time: start + BN"}, "time:", "start + BN: small has no parameter 'BN'"),
        ({"costs": "\n  small:\n    start: BN"}, "start: BN", "BN: small has no parameter 'BN'"),
    ],
)
def test_a_model_reads_the_parameters_of_its_variant_and_no_others(kernels, write_kernel, line_of, keys, at, message):
    kernels(REST)
    model = {"estimates": "\n  small:\n    time: start", "costs": "\n  small:\n    start: BM"}
    path = write_kernel("best.cu", **{**BARE, **model, "pick": ["candidates: [small]"], **keys})
    with pytest.raises(SpecError) as fault:
        Catalog([path.parent]).get("best")
    assert fault.value.line == line_of(path, at)
    assert fault.value.fault == f"{message} (did you mean 'BM'?); known: BM"


def test_constants_without_a_file_follow_from_the_figures_of_the_card(kernels, write_kernel, gpu):
    catalog = kernels(REST)
    model = {"estimates": "\n  small:\n    time: M + slow", "costs": "\n  small:\n    slow: 9000000 // (BM * CLOCK)"}
    write_kernel("best.cu", **{**BARE, **model, "pick": ["when: K > 1\n    candidates:\n      - small: {BM: [16, 8]}"]})
    best = catalog.get("best")
    names = [collect_names(best, CUBE, replace(gpu, name=NAME, clock_hz=hertz)) for hertz in (0, 1e9)]
    assert [evaluate_costs(best, best.picks[0], each) for each in names] == [{"slow": 375}, {"slow": 562}]
    assert [estimate_time(best, each, names[1], {}) for each in best.picks] == [626, 1189]
    known = [collect_names(best, CUBE, each) for each in (gpu, replace(gpu, name=NAME, bandwidth=3.3e12))]
    assert [(each["BANDWIDTH"], each["PEAK"]) for each in known] == [(1_000_000, 256), (3_300_000, 256)]
    half = Problem(64, 64, 64, precision_name="bf16")
    assert collect_names(best, half, replace(gpu, name=NAME))["PEAK"] == 4096


def test_a_longer_circle_is_named_in_full(kernels, write_kernel):
    kernels("variant: other")
    folder = write_kernel("other.cu", **BARE, pick=["variant: best"]).parent
    with pytest.raises(SpecError, match=r"other\.cu:\d+: pick: circular: best -> other -> best"):
        Catalog([folder]).get("best")


def test_a_launcher_can_be_picked(kernels, pick, write_kernel):
    write_kernel("launched.cu", symbol=None, grid=None, block=None, host="run", order="3")
    catalog = kernels("variant: launched\n    when: N > 1", REST)
    found = pick(catalog, 64, 64, 64)
    assert (found.variant.name, found.config.picked, found.variant.call.host) == ("best", "launched", "run")
    assert pick(catalog, 5000, 1, 8).config.picked == "small"


THREE = (EIGHT, SIXTEEN, "variant: large")
APART = ("variant: large\n    when: M > 100", EIGHT, "variant: small\n    when: K == 1", SIXTEEN, LARGE)
FASTEST = (LARGE, SIXTEEN, EIGHT)
THIRDS = ("variant: large\n    when: M / 3 > 1", REST)
NO_TIME = {"require": ["K > 0"]}  # so that `large` could run where K is 5, and its estimate divides by zero
PICKED = {
    "the faster of 12 and 10": (THREE, {}, (16, 8, 8), "small: BM=16"),
    "the faster of 14 and 13": (THREE, {}, (32, 8, 8), "small: BM=16"),
    "the faster of 30 and 37": (THREE, {}, (160, 8, 8), "small: BM=8"),
    "a row whose condition fails does not compete": (THREE, {}, (160, 100, 8), "small: BM=16"),
    "the row above has no candidates and holds": (APART, {}, (160, 8, 8), "large"),
    "only neighbours compete": (APART, {}, (16, 8, 8), "small: BM=8"),
    "the fastest": (FASTEST, {"start": 0}, (32, 8, 8), "large"),
    "where the fastest cannot run, the next": (FASTEST, {"start": 0}, (160, 8, 7), "small: BM=8"),
    "an estimate without a value is passed over": ((LARGE, SIXTEEN, EIGHT), NO_TIME, (160, 8, 5), "small: BM=8"),
    "a condition without a value is passed over": (THIRDS, {}, (8, 8, 8), "small: BM=16"),
    "a condition with a value is not": (THIRDS, {}, (9, 8, 8), "large"),
}


@pytest.mark.parametrize("name", PICKED)
def test_the_first_row_that_holds_or_the_fastest_of_neighbouring_candidates_is_planned(kernels, pick, name):
    rows, large, shape, picked = PICKED[name]
    assert str(pick(kernels(*rows, **large), *shape).config) == picked


def test_the_row_of_a_problem_is_the_fastest_that_can_run(kernels, gpu):
    variant = kernels(EIGHT, SIXTEEN, LARGE).get("best")
    found = [find_row(Problem(m, 8, 8), variant, "cuda", {"cuda": gpu}, lambda *_: "") for m in (16, 160)]
    assert found == [1, 0]
