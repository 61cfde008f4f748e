"""The sections of a manifest: named expressions, workspace, launches, tensor maps, rows of `pick`."""

import pickle
from dataclasses import replace

import pytest

from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.manifests.expressions import ExpressionError, InexactDivision, parse
from gemmbench.planning.manifests.sections import list_names
from gemmbench.planning.plans.configurations import count_configurations
from gemmbench.planning.plans.plan import Plan, Skip
from gemmbench.planning.problems import Problem

ARGUMENTS = "int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C, void* workspace"
TWO = "".join(f'extern "C" __global__ void {name}({ARGUMENTS}) {{}}\n' for name in ("first", "second"))
NO_LAUNCH = {"symbol": None, "grid": None, "block": None}
FIRST = "symbol: first\n    grid: [M]\n    block: [64]\n    when: TRANS_A"
SECOND = "symbol: second\n    grid: [N]\n    block: [32]\n    shared: 4 * K"
ONE, MANY = "\n  a:\n    time: M", list(range(30))
MAP = "operand: A\n    box: [32, 8]"
ROWS = ["variant: a\n    when: M > 8", "variant: b\n    params: {BM: 64}"]
PICK = {**NO_LAUNCH, "body": "", "pick": ROWS}
CANDIDATES = "candidates:\n      - a: {BM: [8, 16], BN: 4}\n      - a"


def launches(*rows):
    return {**NO_LAUNCH, "body": TWO, "launches": list(rows)}


def tensor_map(text):
    return {"tensor_maps": [text]}


def pick(*rows, **keys):
    return {**PICK, "pick": list(rows or ROWS), **keys}


def estimated(estimates=None, costs=None, row=CANDIDATES):
    """A row of `pick` with candidates, their estimates, and the defaults of their constants."""
    return pick(row, estimates=estimates, costs=costs)


def lets(grid="M", **names):
    return {"params": {"BM": "[16]"}, "let": names, "grid": [grid]}


@pytest.fixture
def read(write_kernel):
    """Read a kernel with changed keys."""
    return lambda **changed: read_variant(write_kernel(**changed))


@pytest.fixture
def plan(expand):
    """The plan of a variant at 100 x 60 x K, or its skip."""
    return lambda variant, k=7: expand(variant, Problem(100, 60, k))[0]


def test_launches_keep_their_order_and_the_last_is_the_main_one(write_kernel, line_of):
    path = write_kernel(**launches(FIRST, SECOND), workspace="4 * M")
    variant = read_variant(path)
    assert [launch.symbol for launch in variant.launches] == ["first", "second"]
    assert variant.launch is variant.launches[1] and variant.before == variant.launches[:1]
    assert (str(variant.before[0].when), variant.launch.when) == ("TRANS_A", None)
    assert variant.launch.shared.value({"K": 3}) == 12
    assert variant.launch.grid[0].line == line_of(path, "grid: [N]")
    assert str(variant.workspace) == "4 * M"


def test_a_tensor_map_has_its_defaults_and_needs_compute_capability_9(read):
    variant = read(tensor_maps=[MAP])
    (found,) = variant.tensor_maps
    assert (found.operand, found.shape, found.pitch, found.when) == ("A", (), (), None)
    assert [edge.value({}) for edge in found.box] == [32, 8]
    assert (found.offset.value({}), found.swizzle.value({})) == (0, 0)
    assert [variant.min_sm, read(tensor_maps=[MAP], min_sm="100").min_sm] == [90, 100]


def test_a_file_that_picks_needs_no_code(write_kernel, line_of):
    path = write_kernel(**PICK)
    variant = read_variant(path)
    assert (variant.launch, variant.launches, variant.kind) == (None, (), "kernel")
    first, last = variant.picks
    assert (first.variant, str(first.when), first.params) == ("a", "M > 8", ())
    assert (last.variant, last.when, last.params) == ("b", None, (("BM", 64),))
    assert (first.line, last.line) == (line_of(path, "variant: a"), line_of(path, "variant: b"))


def test_every_combination_of_values_is_a_candidate_with_the_estimate_of_its_variant(read):
    estimates = "\n  a:\n    blocks: edge * cdiv(M, BM)\n    time: start + blocks * 1000 // CLOCK"
    row = "when: M > 1\n    region: wide\n    " + CANDIDATES
    keys = estimated(estimates, "\n  a:\n    start: BM * 1000 // PEAK", row)
    picks = read(**{**keys, "pick": [row, "variant: a"]}, let={"edge": "N + 1"}).picks
    assert [pick.params for pick in picks] == [(("BM", 8), ("BN", 4)), (("BM", 16), ("BN", 4)), (), ()]
    assert [(pick.row, pick.region, str(pick.when)) for pick in picks] == [(0, "wide", "M > 1")] * 3 + [(1, "", "None")]
    (name, start), estimate = picks[0].costs[0], picks[0].estimate
    assert (name, start.value({"BM": 8, "PEAK": 250}), picks[3].estimate) == ("start", 32, None)
    assert estimate.value({"M": 9, "N": 4, "BM": 8, "start": 2, "CLOCK": 500}) == 22


def test_the_trailing_arguments_have_one_order(read):
    assert read().trailing == ()
    assert read(workspace="0", tensor_maps=[MAP], epilogue="[bias, relu]").trailing == ("bias", "workspace", "maps")
    assert read(workspace="0", tensor_maps=[MAP], maps_by_value="true").trailing == ("workspace",)


def test_limits_on_machine_code_read_the_parameters_and_what_is_counted(read):
    limits = read(params={"TM": "[8]"}, sass=["spills == 0 or TM > 4", "2 * ffma > instructions"]).sass
    assert [set(limit.names) for limit in limits] == [{"spills", "TM"}, {"ffma", "instructions"}]
    assert read().sass == ()


def test_limits_on_accesses_read_the_parameters_and_what_is_counted(read):
    limits = read(params={"BK": "[8]"}, accesses=["load_sectors <= 4", "conflicts == 0 or BK == 32"]).accesses
    assert [set(limit.names) for limit in limits] == [{"load_sectors"}, {"conflicts", "BK"}]
    assert read().accesses == ()


def test_a_manifest_declares_what_its_workspace_holds(read):
    variant = read(workspace="8 * M", zeroed="4 * M", state="true")
    assert (str(variant.zeroed), variant.state) == ("4 * M", True)
    plain = read(workspace="8 * M")
    assert (plain.zeroed, plain.state) == (None, False)


LAUNCHES = [
    ("- symbol: first", {**launches(FIRST), "body": TWO[:10]}, "symbol: no `__global__ void first(...)`"),
    ("when: MM", launches(FIRST.replace("TRANS_A", "MM")), "launches.when: 'MM': unknown name 'MM'"),
    ("grid: []", launches(FIRST.replace("[M]", "[]")), "grid: 0 expressions; give 1 to 3"),
    ("grids:", launches(FIRST.replace("grid", "grids")), "unknown key 'grids' (did you mean 'grid'?)"),
    ("- symbol: first", launches("symbol: first\n    grid: [M]"), "launches item 1: missing key"),
    ("hidden:", launches(f"{FIRST}\n    hidden: 1"), "unknown key 'hidden'"),
    ("symbol: gemm", {"body": TWO, "launches": [FIRST]}, "symbol: cannot be combined with `launches`; remove it"),
    ("shared: 8", {**launches(FIRST), "shared": "8"}, "shared: cannot be combined with `launches`"),
]
WORKSPACE = [
    ("workspace:", {"workspace": "4 * Q"}, "workspace: '4 * Q': unknown name 'Q'"),
    ("workspace:", {"workspace": ["4"]}, "workspace: should be"),
    ("zeroed:", {"zeroed": "4"}, "zeroed: there is no workspace; declare `workspace: <bytes>`"),
    ("state:", {"state": "true"}, "state: there is no workspace; declare `workspace: <bytes>`"),
]
OF_WORKSPACE = {"workspace": "4 * M", **tensor_map("operand: workspace\n    box: [32, 8]")}
TENSOR_MAPS = [
    ("operand: D", tensor_map("operand: D\n    box: [32, 8]"), "operand: unknown 'D'; known: A, B, C, workspace"),
    ("operand: w", {**OF_WORKSPACE, "workspace": None}, "operand: there is no workspace to map; declare"),
    ("operand: w", OF_WORKSPACE, "operand: a workspace has no default shape; give `shape`"),
    (
        "box:",
        tensor_map("operand: A\n    box: [32]"),
        "box: 1 sizes for 2 dimensions; give one for each, innermost first",
    ),
    ("box:", tensor_map("operand: A\n    shape: [K]\n    box: [32, 8]"), "box: 2 sizes for 1 dimensions"),
    (
        "pitch:",
        tensor_map(f"{MAP}\n    pitch: [K, K]"),
        "pitch: 2 for 2 dimensions; give one for each but the innermost",
    ),
    ("shape:", tensor_map(f"{MAP}\n    shape: {[1] * 6}"), "shape: 6 dimensions, but a tensor map has 1 to 5"),
    ("swizzle: 48", tensor_map(f"{MAP}\n    swizzle: 48"), "swizzle: 48 bytes; known: 0, 32, 64, 128"),
    ("offset:", tensor_map(f"{MAP}\n    offset: BN"), "tensor_maps.offset: 'BN': unknown name 'BN'"),
    ("swizle:", tensor_map(f"{MAP}\n    swizle: 32"), "unknown key 'swizle' (did you mean 'swizzle'?)"),
    ("maps_by_value:", {"maps_by_value": "true"}, "maps_by_value: there are no `tensor_maps`; remove it"),
    (
        "args:",
        {**tensor_map(MAP), "maps_by_value": "true", "args": "[M, A, maps]"},
        "args: maps that are passed by value follow the other arguments; remove `maps`",
    ),
]
PICKS = [
    ("- variant: b", pick(*ROWS[::-1]), "pick: this row has no `when`, so the rows below it are never reached"),
    ("when: MM", pick("variant: a\n    when: MM"), "pick.when: 'MM': unknown name 'MM'"),
    ("params: {BM: x}", pick("variant: a\n    params: {BM: x}"), "pick item 1.params"),
    ("symbol:", pick(symbol="gemm"), "symbol: cannot be combined with `pick`; remove it"),
    ("params:", pick("variant: a", params={"BM": "8"}), "params: cannot be combined with `pick`"),
    ("require:", pick(require=["M > 1"]), "require: cannot be combined with `pick`"),
    ("epilogue:", pick(epilogue="[bias]"), "epilogue: cannot be combined with `pick`"),
    ("workspace:", pick(workspace="1"), "workspace: cannot be combined with `pick`"),
    ("sass:", pick(sass=["spills == 0"]), "sass: cannot be combined with `pick`; remove it"),
    ("- when", pick("when: M"), "pick: write either `variant` or a list of `candidates`"),
    ("- variant", pick("variant: a\n    candidates: [a]"), "pick: write either `variant` or a list of `candidates`"),
    ("region:", pick("variant: a\n    region: x"), "region: only `candidates` have constants; remove it"),
    ("region:", estimated(ONE, row=f"{CANDIDATES}\n    region: a b"), "region: 'a b' must be letters, digits, _ and -"),
    ("params:", estimated(ONE, row=f"{CANDIDATES}\n    params: {{BM: 8}}"), "params: write them at each of the `cand"),
    ("a: 8", estimated(ONE, row="candidates:\n      - a: 8"), "candidates: write the values as `a: {BM: [64, 128]}`"),
    (
        "BM: [8, 8]",
        estimated(ONE, row="candidates:\n      - a: {BM: [8, 8]}"),
        "candidates: a.BM: [8, 8] should be diff",
    ),
    (
        "BM: x",
        estimated(ONE, row="candidates:\n      - a: {BM: x}"),
        "candidates: a.BM: 'x' should be different integers",
    ),
    (
        "BM: [",
        estimated(ONE, row=f"candidates:\n      - a: {{BM: {MANY}, BN: {MANY}}}"),
        "candidates: 900 combinations are",
    ),
    ("b:", estimated(ONE + "\n  b:\n    time: 1"), "estimates.b: no candidate in `pick` uses it; remove it"),
    ("- a:", estimated(), "candidates: `estimates` has no expressions for a; add them, or write it as a row with"),
    ("a: {}", estimated("\n  a: {}"), "estimates.a: empty; its last expression is the time"),
    ("time:", estimated("\n  a:\n    time: start + M"), "estimates.a.time: 'start + M': unknown name 'start'"),
    ("time: x", estimated("\n  a:\n    time: x\n    x: M"), "estimates.a.time: refers to 'x', which is defined below"),
    ("x: 1", estimated("\n  a:\n    x: 1\n    time: M"), "estimates.a.x: not used anywhere; remove it"),
    ("M: 1", estimated("\n  a:\n    M: 1\n    time: 2"), "estimates.a: the name 'M' is taken"),
    ("time: 2", estimated("\n  a:\n    time: M", "\n  a:\n    time: 2"), "costs.a: the name 'time' is taken"),
    ("start: M", estimated("\n  a:\n    time: start", "\n  a:\n    start: M"), "costs.a.start: 'M': unknown name 'M'"),
    ("start: 2", estimated(ONE, "\n  a:\n    start: 2"), "costs.a.start: `estimates` does not read it; remove it"),
    ("b:", estimated(ONE, "\n  b:\n    start: 2"), "costs.b: `estimates` has no expressions for b that could read"),
]
LETS = [
    ("rows: M +", lets("rows", rows="M +"), "let.rows: 'M +' is not an expression"),
    ("rows: Q", lets("rows", rows="Q"), "let.rows: 'Q': unknown name 'Q'"),
    ("rows: rows", lets("rows", rows="rows + 1"), "let.rows: refers to itself"),
    ("a: b", lets("a", a="b + 1", b="M"), "let.a: refers to 'b', which is defined below; move 'b' up"),
    ("M: 4", lets(M="4"), "let: the name 'M' is taken; choose another"),
    ("BM: 4", lets(BM="4"), "let: the name 'BM' is taken; choose another"),
    ("cdiv: 4", lets(cdiv="4"), "let: the name 'cdiv' is taken; choose another"),
    ("if: 4", lets(**{"if": "4"}), "let: the name 'if' is taken; choose another"),
    ("Rows: 4", lets(Rows="4"), "let: the name 'Rows' must be lower-case letters, digits and _"),
    ("extra: M", lets("rows", rows="M", extra="M"), "let.extra: not used anywhere; remove it"),
    ("  a: M", lets(a="M", b="a"), "let.a: not used anywhere; remove it"),  # b is unused too
    ("let:", lets("x1", **{f"x{n}": "N" for n in range(101)}), "let: 101 names are too many; at most 100"),
]
SASS = [
    (
        "- spill == 0",
        {"sass": ["ffma > 0", "spill == 0"]},
        "sass: 'spill == 0': unknown name 'spill' (did you mean 'spills'?)",
    ),
    ("- ffma > 0", {"accesses": ["ffma > 0"]}, "accesses: 'ffma > 0': unknown name 'ffma'"),
    ("- rows > ffma", {**lets("rows", rows="M"), "sass": ["rows > ffma"]}, "sass: 'rows > ffma': unknown name 'rows'"),
]


@pytest.mark.parametrize(("at", "changed", "message"), [*LAUNCHES, *WORKSPACE, *TENSOR_MAPS, *PICKS, *LETS, *SASS])
def test_a_fault_of_a_section_is_named_with_its_line(faulty, at, changed, message):
    assert faulty(at, **changed).startswith(message)


@pytest.mark.parametrize("key", ["workspace", "launches", "tensor_maps", "pick"])
def test_a_network_and_a_host_function_have_none_of_these(faulty, key):
    values = {"workspace": "8", "launches": [FIRST], "tensor_maps": [MAP], "pick": ["variant: a"]}
    expected = f"{key}: cannot be combined with `computes: mlp`; remove it"
    assert faulty(f"{key}:", computes="mlp", **{key: values[key]}) == expected
    host = {"name": "mine.cpp", "grid": None, "block": None, key: values[key]}
    assert (
        faulty(f"{key}:", **host)
        == f"{key}: a .cpp file has no {key}, because it contains one host function; remove it"
    )


def test_every_key_with_an_expression_may_read_a_name(read, plan):
    found = plan(
        read(
            params={"BM": "[16, 32]"},
            let={"rows": "cdiv(M, BM)", "threads": "2 * BM", "room": "rows * threads", "packed": "K % 4 == 0"},
            require=["rows <= 100"],
            grid=["cdiv(N, BM)", "rows"],
            block=["threads"],
            shared="4 * threads",
            workspace="16 * room",
            tensor_maps=["{operand: workspace, shape: [threads, rows], box: [threads, 8], when: not packed}"],
        )
    )
    assert (found.geometry.grid, found.geometry.block, found.geometry.shared) == ((4, 7, 1), (32, 1, 1), 128)
    assert found.workspace == 16 * 7 * 32
    assert found.tensor_maps[0].shape == (32, 7)


def test_launches_and_their_conditions_may_read_a_name(read, plan):
    rows = ["{symbol: gemm, grid: [M], block: [32], when: ragged}", "{symbol: gemm, grid: [N], block: [64]}"]
    variant = read(**NO_LAUNCH, let={"ragged": "K % 4 != 0"}, launches=rows)
    assert [len(plan(variant, k).launches) for k in (7, 8)] == [2, 1]


def test_a_rule_over_parameters_alone_still_counts_configurations(read):
    variant = read(params={"BM": "[16, 32, 64]"}, let={"threads": "2 * BM"}, require=["threads <= 64"])
    assert count_configurations(variant) == 2


def test_a_fault_in_a_named_expression_names_its_own_line(write_kernel, plan, line_of):
    path = write_kernel(params={"BM": "[48]"}, let={"rows": "M / BM"}, grid=["rows + 1"])
    found = plan(read_variant(path))
    assert isinstance(found, Skip)
    assert found.reason.startswith("M / BM: 100 / 48 leaves a remainder of 4 (")
    assert found.reason.endswith(f"mine.cu:{line_of(path, 'rows: M / BM')})")


def test_a_name_is_evaluated_only_where_it_is_needed(read, plan):
    assert plan(read(let={"half": "K / 2"}, grid=["half if K % 2 == 0 else K"])).geometry.grid == (7, 1, 1)


def test_an_expression_differs_by_its_names_and_keeps_them_through_a_pipe():
    names = {"a": parse("M / 2")}
    names["b"] = parse("a + N", lets=names)
    before = parse("b * a", lets=names)
    after = pickle.loads(pickle.dumps(before))
    assert after == before and hash(after) == hash(before)
    assert after.names == ("M", "N")
    assert after.value({"M": 4, "N": 3}) == before.value({"M": 4, "N": 3}) == 10
    with pytest.raises(InexactDivision, match=r"^M / 2: 5 / 2 leaves"):
        after.value({"M": 5, "N": 3})
    with pytest.raises(ExpressionError, match="unknown name 'c'"):
        parse("c", ["M"], lets=names)
    one, other = (parse("a", lets={"a": parse(text)}) for text in ("M", "M + 0"))
    assert one != other


def test_plans_are_the_same_with_and_without_names(read, plan):
    plain, named = read(grid=["cdiv(M, 4) * 2"]), read(let={"rows": "cdiv(M, 4)"}, grid=["rows * 2"])
    found = [replace(plan(variant), variant=plain) for variant in (plain, named)]
    assert isinstance(found[0], Plan) and found[0] == found[1]


def test_names_that_read_two_others_each_are_read_once(read):
    names = {"x0": "N", "x1": "N", **{f"x{n}": f"x{n - 1} + x{n - 2}" for n in range(2, 60)}}
    variant = read(let=names, require=["x59 > 0"])
    assert hash(variant) and list_names(variant.require[0]) == set(names)
