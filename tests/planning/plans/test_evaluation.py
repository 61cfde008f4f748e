"""Plans of several launches, with a workspace and with tensor maps."""

from dataclasses import replace

import pytest

from gemmbench.errors import SpecError
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.plans.plan import Geometry, Skip, TiledTensor
from gemmbench.planning.problems import Problem

BODY = "".join(f'extern "C" __global__ void {name}(int M, int N, int K) {{}}\n' for name in ("turn", "gemm"))
TURN = "symbol: turn\n    grid:\n      - cdiv(K, 16)\n    block: [16, 16]\n    when: TRANS_A"
GEMM = "symbol: gemm\n    grid: [N, M]\n    block: [64]\n    shared: 4 * K"
PLAIN, TURNED = Problem(8, 4, 33), Problem(8, 4, 33, "tn")


def several(*launches):
    return {"symbol": None, "grid": None, "block": None, "body": BODY, "launches": list(launches)}


@pytest.fixture
def plan(write_kernel, expand, gpu):
    """Plan one kernel with these manifest keys, on a GPU or another device."""

    def make(problem=PLAIN, target=gpu, **keys):
        variant = read_variant(write_kernel(layouts="[nn, nt, tn, tt]", precisions="[f32, f16, f64, e4m3]", **keys))
        (found,) = expand(variant, problem, target=target)
        return found

    return make


@pytest.fixture
def tiled(plan):
    """The numbers of one tensor map, or the reason of its skip."""

    def make(text, problem, **keys):
        found = plan(problem, tensor_maps=[text], **keys)
        return found.reason if isinstance(found, Skip) else found.tensor_maps[0]

    return make


def test_a_launch_takes_place_where_its_condition_holds(plan):
    both = plan(TURNED, **several(TURN, GEMM))
    gemm = Geometry((4, 8, 1), (64, 1, 1), 132)
    assert both.launches == (("turn", Geometry((3, 1, 1), (16, 16, 1), 0)), ("gemm", gemm))
    assert (both.geometry, both.symbols) == (gemm, ("turn", "gemm"))
    assert [(one.symbols, one.geometry.threads) for one in both.split_launches()] == [(("turn",), 256), (("gemm",), 64)]
    assert {one.defines for one in both.split_launches()} == {both.defines}
    alone = plan(PLAIN, **several(TURN, GEMM))
    assert (alone.launches, alone.geometry) == ((("gemm", gemm),), gemm)


def test_the_main_launch_is_the_last_that_takes_place(plan):
    found = plan(TURNED, **several(GEMM, TURN))
    assert (found.symbols, found.geometry.threads) == (("gemm", "turn"), 256)


def test_launches_overlap_on_gpus_from_compute_capability_9_on(plan, gpu, cpu):
    found = plan(TURNED, **several(TURN, f"{GEMM}\n    pdl: true"), min_sm="90")
    assert [geometry.pdl for _, geometry in found.launches] == [False, True]
    assert (found.pdl, found.geometry.pdl) == (False, True)  # its second launch overlaps only with its first
    assert found.without_pdl() == found
    assert [plan(PLAIN, target, pdl="true").pdl for target in (gpu, replace(gpu, sm=80), cpu)] == [True, False, False]


def test_clusters_exist_from_compute_capability_9_on(plan, gpu):
    keys = {"grid": ["3 * N"], "cluster": "N // 2"}
    assert [plan(PLAIN, target, **keys).geometry.cluster for target in (gpu, replace(gpu, sm=80))] == [2, 1]
    assert plan(PLAIN, grid=["N"]).geometry.cluster == 1


def test_a_plan_without_overlap_differs_in_nothing_else(plan):
    found = plan(PLAIN, pdl="true")
    assert found.without_pdl() != found
    assert not found.without_pdl().pdl
    usual = plan(PLAIN, min_sm="90")
    assert (usual.without_pdl(), usual.launches) == (usual, found.without_pdl().launches)


CLUSTERS = "blocks; a cluster may have 1 to 8 blocks and must divide the 12 blocks along x ("


@pytest.mark.parametrize(
    ("problem", "keys", "reason"),
    [
        *((PLAIN, {"grid": ["3 * N"], "cluster": n}, f"clusters of {n} {CLUSTERS}") for n in (0, 9, 5)),
        (PLAIN, {"tile": "[M - 8, N]"}, "a tile of 0 x 4 ("),
        (PLAIN, several(TURN), "nothing would be launched: every `when` is false ("),
        (TURNED, several(TURN.replace("16]", "80]"), GEMM), "a block of 1280 threads"),
        (PLAIN, {"workspace": "4 - M"}, "a workspace of -4 bytes ("),
        (PLAIN, {"workspace": "8 * M", "zeroed": "65"}, "65 zeroed bytes of a workspace of 64 ("),
    ],
)
def test_an_impossible_launch_tile_or_workspace_is_a_skip(plan, problem, keys, reason):
    found = plan(problem, **keys)
    assert isinstance(found, Skip) and found.reason.startswith(reason)


def test_a_tile_has_two_numbers(plan):
    assert plan().tile is None
    assert plan(tile="[M, 2 * N]").tile == (8, 8)
    with pytest.raises(SpecError, match=r"tile: 1 numbers; write the rows and columns of the tile of C"):
        plan(tile="[16]")


def test_a_plan_by_hand_launches_its_geometry(make_plan):
    made = make_plan()
    assert made.launches == (("gemm", made.geometry),)


def test_the_workspace_and_its_zeroed_part_are_bytes(plan):
    both = "M * K * BYTES if TRANS_A == 0 else 0"
    assert [plan(Problem(8, 4, 2, layout), workspace=both).workspace for layout in ("nn", "tn")] == [64, 0]
    assert plan().workspace == 0
    assert plan(workspace="8 * M", zeroed="4 * M").zeroed == 32
    assert plan(workspace="8 * M").zeroed == 0


@pytest.mark.parametrize(
    ("problem", "names", "grid"),
    [
        (Problem(16, 32, 8, "nt"), ["1 + TRANS_A", "1 + TRANS_B"], (1, 2)),
        (Problem(16, 32, 8, "nn", "e4m3"), ["BYTES", "BYTES_C"], (1, 2)),  # C may have larger elements
        (Problem(16, 32, 8, "nn", "e4m3"), ["1 + PROMOTED_EVERY", "1"], (129, 1)),
        (Problem(16, 32, 8), ["1 + PROMOTED_EVERY", "1"], (1, 1)),
    ],
)
def test_the_layout_and_the_precision_can_be_read_everywhere(plan, problem, names, grid):
    assert plan(problem, grid=names).geometry.grid == (*grid, 1)


@pytest.mark.parametrize(("layout", "a", "b"), [("nn", (8, 16), (32, 8)), ("tt", (16, 8), (8, 32))])
def test_a_map_has_the_shape_of_its_operand_as_it_is_stored(tiled, layout, a, b):
    problem = Problem(16, 32, 8, layout)
    for operand, shape in (("A", a), ("B", b), ("C", (32, 16))):
        found = tiled(f"operand: {operand}\n    box: [8, 2]\n    swizzle: 32", problem)
        assert found == TiledTensor(operand, 0, shape, (4 * shape[0],), (8, 2), 32)


def test_a_map_of_part_of_the_workspace_with_rows_further_apart(tiled):
    text = "operand: workspace\n    offset: 4 * M\n    shape: [K, M]\n    pitch: cdiv(K, 4) * 4\n    box: [32, 8]"
    keys = {"workspace": "4 * (M + M * cdiv(K, 4) * 4)"}
    assert tiled(text, Problem(16, 32, 9), **keys) == TiledTensor("workspace", 64, (9, 16), (48,), (32, 8), 0)


def test_a_map_of_three_dimensions_has_a_pitch_for_each_but_the_innermost(tiled):
    text = "operand: A\n    shape: [32, M, K / 32]\n    pitch: [K, 32]\n    box: [32, 128, 2]\n    swizzle: 128"
    expected = TiledTensor("A", 0, (32, 256, 4), (512, 128), (32, 128, 2), 128)
    assert tiled(text, Problem(256, 8, 128)) == expected
    packed = tiled("operand: A\n    shape: [8, 4, 2]\n    box: [8, 1, 1]", Problem(64, 8, 1, "tn"))
    assert packed.strides == (32, 128)


def test_bytes_are_those_of_the_precision(tiled):
    text = "operand: A\n    box: [16, 8]\n    swizzle: 32"
    assert tiled(text, Problem(16, 32, 24, "nn", "f16")).strides == (48,)
    assert "a row of the box is 128 bytes; with a swizzle of 32" in tiled(text, Problem(16, 32, 24, "nn", "f64"))


def test_a_map_that_is_not_used_is_not_checked(tiled):
    text = "operand: A\n    box: [5, 999]\n    when: TRANS_A"
    assert tiled(text, Problem(16, 32, 9)) is None


@pytest.mark.parametrize(
    ("changed", "problem", "words"),
    [
        ("", Problem(16, 32, 9), "rows are 36 bytes apart; TMA needs a multiple of 16"),
        ("box: [8, 257]", Problem(16, 32, 8), "box 8 x 257; each dimension must be 1 to 256"),
        ("box: [8, 0]", Problem(16, 32, 8), "box 8 x 0; each dimension must be 1 to 256"),
        ("box: [6, 8]", Problem(16, 32, 8), "a row of the box is 24 bytes; it must be a multiple of 16"),
        ("swizzle: M", Problem(16, 32, 8), "swizzle of 16 bytes; known: 0, 32, 64, 128"),
        ("box: [64, 8]\n    swizzle: 128", Problem(16, 32, 8), "a row of the box is 256 bytes; with a swizzle of 128"),
        ("offset: 8", Problem(16, 32, 8), "begins at byte 8; that must be a multiple of 16"),
        ("offset: -16", Problem(16, 32, 8), "begins at byte -16"),
        ("offset: 16", Problem(16, 32, 8), "ends at byte 528, but the array ends at byte 512"),
        ("shape: [K, M + 1]", Problem(16, 32, 8), "ends at byte 544, but the array ends at byte 512"),
        ("shape: [K, 0]", Problem(16, 32, 8), "shape 8 x 0; each dimension must be 1 to 2^32"),
        ("pitch: -8", Problem(16, 32, 8), "rows are -32 bytes apart"),
    ],
)
def test_what_tma_cannot_do_is_a_skip_with_the_line(tiled, changed, problem, words):
    box = "" if "box" in changed else "box: [8, 2]\n    "
    reason = tiled(f"operand: A\n    {box}{changed}", problem)
    assert reason.startswith(f"tensor map of A: {words}")
    assert reason.rpartition("mine.cu:")[2].rstrip(")").isdigit()


def test_a_device_without_tma_is_a_skip(plan, gpu):
    found = plan(Problem(16, 32, 8), replace(gpu, sm=80), tensor_maps=["operand: A\n    box: [8, 2]"])
    assert found.reason == "needs compute capability 9.0, but the device has 8.0"
