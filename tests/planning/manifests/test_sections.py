"""Manifests with a workspace, several launches, tensor maps or rows of `pick`; faults name their line."""

import pytest

from gemmbench.planning.manifests.catalog import read_variant

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
