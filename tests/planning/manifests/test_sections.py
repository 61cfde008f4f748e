"""The sections of a manifest: named expressions, workspace, launches, tensor maps, rows of `pick`."""

import pickle
from dataclasses import replace

import pytest

from gemmbench.errors import SpecError
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.manifests.expressions import ExpressionError, InexactDivision, parse
from gemmbench.planning.manifests.sections import list_names
from gemmbench.planning.plans.configurations import count_configurations, list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Plan, Skip, Target
from gemmbench.planning.problems import Problem

ARGUMENTS = "int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, void* workspace"
TWO = "".join(f'extern "C" __global__ void {name}({ARGUMENTS}) {{}}\n' for name in ("first", "second"))
NO_LAUNCH = {"symbol": None, "grid": None, "block": None}
FIRST = "symbol: first\n    grid: [M]\n    block: [64]\n    when: TRANS_A"
SECOND = "symbol: second\n    grid: [N]\n    block: [32]\n    shared: 4 * K"
MAP = "operand: A\n    box: [32, 8]"
ROWS = ["variant: a\n    when: M > 8", "variant: b\n    params: {BM: 64}"]
PICK = {**NO_LAUNCH, "body": "", "pick": ROWS}


def test_launches_stand_in_order_and_the_last_is_the_main_one(write_kernel, line_of):
    path = write_kernel(**NO_LAUNCH, body=TWO, launches=[FIRST, SECOND], workspace="4 * M")
    variant = read_variant(path)
    assert [launch.symbol for launch in variant.launches] == ["first", "second"]
    assert variant.launch is variant.launches[1] and variant.before == variant.launches[:1]
    assert (str(variant.before[0].when), variant.launch.when) == ("TRANS_A", None)
    assert variant.launch.shared.value({"K": 3}) == 12
    assert variant.launch.grid[0].line == line_of(path, "grid: [N]")
    assert str(variant.workspace) == "4 * M"


def test_a_tensor_map_has_its_defaults(write_kernel):
    variant = read_variant(write_kernel(tensor_maps=[MAP]))
    (found,) = variant.tensor_maps
    assert (found.operand, found.shape, found.pitch, found.when) == ("A", (), (), None)
    assert [edge.value({}) for edge in found.box] == [32, 8]
    assert (found.offset.value({}), found.swizzle.value({})) == (0, 0)


def test_tensor_maps_need_compute_capability_9(write_kernel):
    assert read_variant(write_kernel(tensor_maps=[MAP])).min_sm == 90
    assert read_variant(write_kernel(tensor_maps=[MAP], min_sm="100")).min_sm == 100


def test_a_file_that_picks_needs_no_code(write_kernel, line_of):
    path = write_kernel(**PICK)
    variant = read_variant(path)
    assert (variant.launch, variant.launches, variant.kind) == (None, (), "kernel")
    first, last = variant.picks
    assert (first.variant, str(first.when), first.params) == ("a", "M > 8", ())
    assert (last.variant, last.when, last.params) == ("b", None, (("BM", 64),))
    assert (first.line, last.line) == (line_of(path, "variant: a"), line_of(path, "variant: b"))


COSTS = "variant: a\n    params: {BM: 8}\n    costs: {start: 2}"


def test_rows_with_costs_have_an_estimate_of_their_own_names(write_kernel):
    estimates = "\n  a:\n    blocks: edge * cdiv(M, BM)\n    time: start + blocks"
    variant = read_variant(write_kernel(**PICK | {"let": {"edge": "N + 1"}, "estimates": estimates, "pick": [COSTS]}))
    (row,) = variant.picks
    assert (row.costs, row.when) == ((("start", 2),), None)
    assert row.estimate.value({"M": 9, "N": 4, "BM": 8, "start": 2}) == 12


@pytest.mark.parametrize(
    ("at", "estimates", "message"),
    [
        ("costs:", "\n  b:\n    time: 1", "estimates.b: it is empty, or no row of `pick` with `costs` names it"),
        ("costs:", "", "costs: `estimates` has no expressions for a; add them, or remove `costs`"),
        ("a: {}", "\n  a: {}", "estimates.a: it is empty, or no row"),
        ("time:", "\n  a:\n    time: start + BN", "estimates.a.time: 'start + BN': unknown name 'BN'"),
        ("time: x", "\n  a:\n    time: x\n    x: start", "estimates.a.time: reads 'x', which is defined below"),
        ("x: 1", "\n  a:\n    x: 1\n    time: start", "estimates.a.x: nothing reads it; remove it"),
        ("M: 1", "\n  a:\n    M: 1\n    time: start", "estimates.a: the name 'M' is taken"),
        ("costs:", "\n  a:\n    start: 1\n    time: start", "pick.costs: the name 'start' is taken"),
    ],
)
def test_a_faulty_estimate_is_named_with_its_line(faulty, at, estimates, message):
    keys = {**PICK, "pick": [COSTS]} | ({"estimates": estimates} if estimates else {})
    at = "b:" if message.startswith("estimates.b") else at
    assert faulty(at, **keys).startswith(message)


def test_the_trailing_arguments_have_one_order(write_kernel):
    assert read_variant(write_kernel()).trailing == ()
    keys = {"workspace": "0", "tensor_maps": [MAP], "epilogue": "[bias, relu]"}
    assert read_variant(write_kernel(**keys)).trailing == ("bias", "workspace", "maps")


def with_launches(*launches):
    return {**NO_LAUNCH, "body": TWO, "launches": list(launches)}


@pytest.mark.parametrize(
    ("at", "changed", "message"),
    [
        ("- symbol: first", {**with_launches(FIRST), "body": TWO[:10]}, "symbol: no `__global__ void first(...)`"),
        ("when: MM", with_launches(FIRST.replace("TRANS_A", "MM")), "launches.when: 'MM': unknown name 'MM'"),
        ("grid: []", with_launches(FIRST.replace("[M]", "[]")), "grid: 0 expressions; give 1 to 3"),
        ("grids:", with_launches(FIRST.replace("grid", "grids")), "unknown key 'grids' (did you mean 'grid'?)"),
        ("- symbol: first", with_launches("symbol: first\n    grid: [M]"), "launches.0: missing key"),
        ("hidden:", with_launches(f"{FIRST}\n    hidden: 1"), "unknown key 'hidden'"),
        ("symbol: gemm", {"body": TWO, "launches": [FIRST]}, "symbol: cannot be combined with `launches`; remove it"),
        ("shared: 8", {**with_launches(FIRST), "shared": "8"}, "shared: cannot be combined with `launches`"),
        ("workspace:", {"workspace": "4 * Q"}, "workspace: '4 * Q': unknown name 'Q'"),
        ("workspace:", {"workspace": ["4"]}, "workspace: Expected"),
    ],
)
def test_a_faulty_launch_or_workspace_is_named_with_its_line(faulty, at, changed, message):
    assert faulty(at, **changed).startswith(message)


@pytest.mark.parametrize(
    ("at", "text", "message"),
    [
        ("operand: D", "operand: D\n    box: [32, 8]", "operand: unknown 'D'; known: A, B, C, workspace"),
        ("operand: w", "operand: workspace\n    box: [32, 8]", "operand: there is no workspace to map; declare"),
        ("box:", "operand: A\n    box: [32]", "box: 1 sizes for 2 dimensions; give one for each, innermost first"),
        ("box:", "operand: A\n    shape: [K]\n    box: [32, 8]", "box: 2 sizes for 1 dimensions"),
        ("pitch:", f"{MAP}\n    pitch: [K, K]", "pitch: 2 for 2 dimensions; give one for each but the innermost"),
        ("shape:", f"{MAP}\n    shape: [1, 1, 1, 1, 1, 1]", "shape: 6 dimensions, a tensor map has 1 to 5"),
        ("swizzle: 48", f"{MAP}\n    swizzle: 48", "swizzle: 48 bytes; known: 0, 32, 64, 128"),
        ("offset:", f"{MAP}\n    offset: BN", "tensor_maps.offset: 'BN': unknown name 'BN'"),
        ("swizle:", f"{MAP}\n    swizle: 32", "unknown key 'swizle' (did you mean 'swizzle'?)"),
    ],
)
def test_a_faulty_tensor_map_is_named_with_its_line(faulty, at, text, message):
    assert faulty(at, tensor_maps=[text]).startswith(message)


def test_a_map_of_the_workspace_needs_a_shape(faulty):
    message = faulty("operand: w", workspace="4 * M", tensor_maps=["operand: workspace\n    box: [32, 8]"])
    assert message == "operand: a workspace has no shape of its own; give `shape`"


@pytest.mark.parametrize(
    ("at", "changed", "message"),
    [
        ("- variant: b", {"pick": ROWS[::-1]}, "pick: this row has no `when`, so no row below it is reached"),
        ("when: MM", {"pick": ["variant: a\n    when: MM"]}, "pick.when: 'MM': unknown name 'MM'"),
        ("params: {BM: x}", {"pick": ["variant: a\n    params: {BM: x}"]}, "pick.0.params"),
        ("symbol:", {"symbol": "gemm"}, "symbol: cannot be combined with `pick`; remove it"),
        ("params:", {"params": {"BM": "8"}, "pick": ["variant: a"]}, "params: cannot be combined with `pick`"),
        ("require:", {"require": ["M > 1"]}, "require: cannot be combined with `pick`"),
        ("epilogue:", {"epilogue": "[bias]"}, "epilogue: cannot be combined with `pick`"),
        ("workspace:", {"workspace": "1"}, "workspace: cannot be combined with `pick`"),
    ],
)
def test_a_faulty_row_of_pick_is_named_with_its_line(faulty, at, changed, message):
    assert faulty(at, **{**PICK, **changed}).startswith(message)


@pytest.mark.parametrize("key", ["workspace", "launches", "tensor_maps", "pick"])
def test_a_network_and_a_host_function_have_none_of_these(faulty, key):
    values = {"workspace": "8", "launches": [FIRST], "tensor_maps": [MAP], "pick": ["variant: a"]}
    expected = f"{key}: cannot be combined with `computes: mlp`; remove it"
    assert faulty(f"{key}:", computes="mlp", **{key: values[key]}) == expected
    host = {"name": "mine.cpp", "grid": None, "block": None, key: values[key]}
    assert faulty(f"{key}:", **host) == f"{key}: a .cpp file has no {key}, because it is one host function; remove it"


def test_limits_on_machine_code_read_the_parameters_and_what_is_counted(write_kernel):
    variant = read_variant(
        write_kernel(params={"TM": "[8]"}, sass=["spills == 0 or TM > 4", "2 * ffma > instructions"])
    )
    assert [set(limit.names) for limit in variant.sass] == [{"spills", "TM"}, {"ffma", "instructions"}]
    assert read_variant(write_kernel()).sass == ()


def test_a_limit_on_machine_code_knows_no_other_name(faulty):
    message = faulty("- spill == 0", sass=["ffma > 0", "spill == 0"])
    assert message.startswith("sass: 'spill == 0': unknown name 'spill' (did you mean 'spills'?); known: ")


def test_a_file_that_picks_has_no_machine_code(faulty):
    assert faulty("sass:", **PICK, sass=["spills == 0"]) == "sass: cannot be combined with `pick`; remove it"


def test_a_manifest_declares_what_its_workspace_holds(write_kernel):
    variant = read_variant(write_kernel(workspace="8 * M", zeroed="4 * M", state="true"))
    assert (str(variant.zeroed), variant.state) == ("4 * M", True)
    plain = read_variant(write_kernel(workspace="8 * M"))
    assert (plain.zeroed, plain.state) == (None, False)


@pytest.mark.parametrize(("key", "value"), [("zeroed", "4"), ("state", "true")])
def test_what_describes_a_workspace_needs_one(faulty, key, value):
    assert faulty(f"{key}:", **{key: value}) == f"{key}: there is no workspace; declare `workspace: <bytes>`"


GPU = Target("cuda", sm=90, sms=132, smem=227 << 10, l2=50 << 20, memory=1 << 36)


def only_plan(variant, problem=None):
    (found,) = make_plans(
        [problem or Problem(100, 60, 7)],
        [(variant, list_configurations(variant, {})[:1])],
        "cuda",
        {"cuda": GPU},
        lambda *_: "",
    )
    return found


def test_every_key_with_an_expression_may_read_a_name(write_kernel):
    path = write_kernel(
        params={"BM": "[16, 32]"},
        let={"rows": "cdiv(M, BM)", "threads": "2 * BM", "room": "rows * threads", "packed": "K % 4 == 0"},
        require=["rows <= 100"],
        grid=["cdiv(N, BM)", "rows"],
        block=["threads"],
        shared="4 * threads",
        workspace="16 * room",
        tensor_maps=["{operand: workspace, shape: [threads, rows], box: [threads, 8], when: not packed}"],
    )
    plan = only_plan(read_variant(path))
    assert (plan.geometry.grid, plan.geometry.block, plan.geometry.shared) == ((4, 7, 1), (32, 1, 1), 128)
    assert plan.workspace == 16 * 7 * 32
    assert plan.tensor_maps[0].shape == (32, 7)


def test_launches_and_their_conditions_may_read_a_name(write_kernel):
    path = write_kernel(
        symbol=None,
        grid=None,
        block=None,
        let={"ragged": "K % 4 != 0"},
        launches=["{symbol: gemm, grid: [M], block: [32], when: ragged}", "{symbol: gemm, grid: [N], block: [64]}"],
    )
    variant = read_variant(path)
    assert len(only_plan(variant).launches) == 2
    assert len(only_plan(variant, Problem(100, 60, 8)).launches) == 1


def test_a_rule_over_parameters_alone_still_counts_configurations(write_kernel):
    path = write_kernel(params={"BM": "[16, 32, 64]"}, let={"threads": "2 * BM"}, require=["threads <= 64"])
    assert count_configurations(read_variant(path)) == 2


def test_a_fault_in_a_named_expression_names_its_own_line(write_kernel, line_of):
    path = write_kernel(params={"BM": "[48]"}, let={"rows": "M / BM"}, grid=["rows + 1"])
    found = only_plan(read_variant(path))
    assert isinstance(found, Skip)
    assert found.reason.startswith("M / BM: 100 / 48 leaves a remainder of 4 (")
    assert found.reason.endswith(f"mine.cu:{line_of(path, 'rows: M / BM')})")


def test_a_name_is_evaluated_only_where_it_is_needed(write_kernel):
    path = write_kernel(let={"half": "K / 2"}, grid=["half if K % 2 == 0 else K"])
    assert only_plan(read_variant(path)).geometry.grid == (7, 1, 1)


@pytest.mark.parametrize(
    ("at", "let", "message"),
    [
        ("rows: M +", {"rows": "M +"}, "let.rows: 'M +' is not an expression"),
        ("rows: Q", {"rows": "Q"}, "let.rows: 'Q': unknown name 'Q'"),
        ("rows: rows", {"rows": "rows + 1"}, "let.rows: it reads itself"),
        ("a: b", {"a": "b + 1", "b": "M"}, "let.a: reads 'b', which is defined below; move 'b' up"),
        ("M: 4", {"M": "4"}, "let: the name 'M' is taken; choose another"),
        ("BM: 4", {"BM": "4"}, "let: the name 'BM' is taken; choose another"),
        ("cdiv: 4", {"cdiv": "4"}, "let: the name 'cdiv' is taken; choose another"),
        ("if: 4", {"if": "4"}, "let: the name 'if' is taken; choose another"),
        ("Rows: 4", {"Rows": "4"}, "let: the name 'Rows' must be lower-case letters, digits and _"),
        ("extra: M", {"rows": "M", "extra": "M"}, "let.extra: nothing reads it; remove it"),
    ],
)
def test_a_wrong_name_is_refused_at_its_line(faulty, at, let, message):
    grid = ["rows"] if "rows" in let else ["a"] if "a" in let else ["M"]
    assert faulty(f"  {at}", params={"BM": "[16]"}, let=let, grid=grid).startswith(message)


def test_a_name_that_only_an_unused_one_reads_is_unused_too(faulty):
    assert faulty("  a: M", let={"a": "M", "b": "a"}) == "let.a: nothing reads it; remove it"


def test_machine_code_limits_do_not_know_the_names(faulty):
    message = faulty("- rows > ffma", let={"rows": "M"}, grid=["rows"], sass=["rows > ffma"])
    assert message.startswith("sass: 'rows > ffma': unknown name 'rows'")


def test_an_expression_keeps_its_names_through_a_pipe():
    lets = {"a": parse("M / 2")}
    lets["b"] = parse("a + N", lets=lets)
    before = parse("b * a", lets=lets)
    after = pickle.loads(pickle.dumps(before))
    assert after == before and hash(after) == hash(before)
    assert after.names == ("M", "N")
    assert after.value({"M": 4, "N": 3}) == before.value({"M": 4, "N": 3}) == 10
    with pytest.raises(InexactDivision, match=r"^M / 2: 5 / 2 leaves"):
        after.value({"M": 5, "N": 3})
    with pytest.raises(ExpressionError, match="unknown name 'c'"):
        parse("c", ["M"], lets=lets)


def test_expressions_with_unlike_names_differ():
    one, other = (parse("a", lets={"a": parse(text)}) for text in ("M", "M + 0"))
    assert one != other


def test_plans_are_the_same_with_and_without_names(write_kernel):
    plain = read_variant(write_kernel("plain.cu", grid=["cdiv(M, 4) * 2"]))
    named = read_variant(write_kernel("named.cu", let={"rows": "cdiv(M, 4)"}, grid=["rows * 2"]))
    found = [replace(only_plan(variant), variant=plain) for variant in (plain, named)]
    assert isinstance(found[0], Plan) and found[0] == found[1]


def test_names_that_read_two_others_each_are_read_once(write_kernel):
    lets = {"x0": "N", "x1": "N", **{f"x{n}": f"x{n - 1} + x{n - 2}" for n in range(2, 60)}}
    variant = read_variant(write_kernel("mine.cu", let=lets, require=["x59 > 0"]))
    assert hash(variant) and list_names(variant.require[0]) == set(lets)


def test_too_many_names_are_refused(write_kernel):
    with pytest.raises(SpecError, match="let: 101 names are too many; at most 100"):
        read_variant(write_kernel("mine.cu", let={f"x{n}": "N" for n in range(101)}, require=["x1 > 0"]))
