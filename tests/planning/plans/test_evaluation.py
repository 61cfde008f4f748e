"""Plans of several launches, with a workspace and with tensor maps."""

import pytest

from gemmbench.errors import SpecError
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Geometry, Plan, Skip, Target, TiledTensor
from gemmbench.planning.problems import Problem

GPU = Target("cuda", sm=90, sms=132, smem=1 << 16, l2=50 << 20, memory=1 << 34)
BODY = "".join(f'extern "C" __global__ void {name}(int M, int N, int K) {{}}\n' for name in ("turn", "gemm"))
LAUNCHES = [
    "symbol: turn\n    grid:\n      - cdiv(K, 16)\n    block: [16, 16]\n    when: TRANS_A",
    "symbol: gemm\n    grid: [N, M]\n    block: [64]\n    shared: 4 * K",
]
SEVERAL = {"symbol": None, "grid": None, "block": None, "body": BODY, "launches": LAUNCHES}


@pytest.fixture
def plan(write_kernel):
    """Plan one kernel with these manifest keys on a GPU."""

    def make(problem, target=GPU, **keys):
        variant = read_variant(write_kernel(layouts="[nn, nt, tn, tt]", precisions="[f32, f16, f64, e4m3]", **keys))
        chosen = [(variant, list_configurations(variant, {}))]
        (found,) = make_plans([problem], chosen, target.kind, {target.kind: target}, lambda *_: "")
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
    both = plan(Problem(8, 4, 33, "tn"), **SEVERAL)
    gemm = Geometry((4, 8, 1), (64, 1, 1), 132)
    assert both.launches == (("turn", Geometry((3, 1, 1), (16, 16, 1), 0)), ("gemm", gemm))
    assert (both.geometry, both.symbols) == (gemm, ("turn", "gemm"))
    alone = plan(Problem(8, 4, 33, "nn"), **SEVERAL)
    assert (alone.launches, alone.geometry) == ((("gemm", gemm),), gemm)


def test_the_main_launch_is_the_last_that_takes_place(plan):
    found = plan(Problem(8, 4, 33, "tn"), **{**SEVERAL, "launches": LAUNCHES[::-1]})
    assert (found.symbols, found.geometry.threads) == (("gemm", "turn"), 256)


def test_only_a_gpu_overlaps_launches(plan):
    launches = [LAUNCHES[0], f"{LAUNCHES[1]}\n    pdl: true"]
    found = plan(Problem(8, 4, 33, "tn"), **{**SEVERAL, "launches": launches}, min_sm="90")
    assert [geometry.pdl for _, geometry in found.launches] == [False, True]
    assert (found.pdl, found.geometry.pdl) == (True, True)
    cpu = Target("cpu", sm=0, sms=2, smem=1 << 16, l2=1 << 20, memory=1 << 34, is_gpu=False)
    assert not plan(Problem(8, 4, 33, "tn"), cpu, pdl="true").pdl


def test_launches_overlap_from_compute_capability_9_on(plan):
    ampere = Target("cuda", sm=80, sms=108, smem=1 << 16, l2=40 << 20, memory=1 << 34)
    assert plan(Problem(8, 4, 33), GPU, pdl="true").pdl
    assert not plan(Problem(8, 4, 33), ampere, pdl="true").pdl


def test_clusters_exist_from_compute_capability_9_on(plan):
    ampere = Target("cuda", sm=80, sms=108, smem=1 << 16, l2=40 << 20, memory=1 << 34)
    keys = {"grid": ["3 * N"], "cluster": "N // 2"}
    assert plan(Problem(8, 4, 33), GPU, **keys).geometry.cluster == 2
    assert plan(Problem(8, 4, 33), ampere, **keys).geometry.cluster == 1
    assert plan(Problem(8, 4, 33), GPU, grid=["N"]).geometry.cluster == 1


@pytest.mark.parametrize("cluster", [0, 9, 5])
def test_a_cluster_divides_the_blocks_along_x(plan, cluster):
    skip = plan(Problem(8, 4, 33), grid=["3 * N"], cluster=str(cluster))
    assert skip.reason.startswith(
        f"clusters of {cluster} blocks; a cluster has 1 to 8, and divides the 12 blocks along x ("
    )


def test_a_plan_without_overlap_differs_in_nothing_else(plan):
    found = plan(Problem(8, 4, 33), pdl="true")
    assert found.without_pdl() != found
    assert not found.without_pdl().pdl
    usual = plan(Problem(8, 4, 33), min_sm="90")
    assert (usual.without_pdl(), usual.launches) == (usual, found.without_pdl().launches)


def test_a_tile_is_evaluated_where_it_is_declared(plan):
    assert plan(Problem(8, 4, 33)).tile is None
    assert plan(Problem(8, 4, 33), tile="[M, 2 * N]").tile == (8, 8)
    skip = plan(Problem(8, 4, 33), tile="[M - 8, N]")
    assert isinstance(skip, Skip) and skip.reason.startswith("a tile of 0 x 4 (")


def test_a_tile_has_two_numbers(plan):
    with pytest.raises(SpecError, match=r"tile: 1 numbers; write the rows and columns of the tile of C"):
        plan(Problem(8, 4, 33), tile="[16]")


def test_no_launch_at_all_is_a_skip(plan):
    found = plan(Problem(8, 4, 33, "nn"), **{**SEVERAL, "launches": LAUNCHES[:1]})
    assert isinstance(found, Skip) and found.reason.startswith("no launch takes place: every `when` is false (")


def test_every_launch_keeps_to_the_device_s_limits(plan):
    found = plan(Problem(8, 4, 33, "tn"), **{**SEVERAL, "launches": [LAUNCHES[0].replace("16]", "80]"), LAUNCHES[1]]})
    assert isinstance(found, Skip) and found.reason.startswith("a block of 1280 threads")


def test_a_plan_for_each_launch(plan):
    both = plan(Problem(8, 4, 33, "tn"), **SEVERAL)
    assert [(one.symbols, one.geometry.threads) for one in both.split_launches()] == [(("turn",), 256), (("gemm",), 64)]
    assert {one.defines for one in both.split_launches()} == {both.defines}


def test_a_plan_by_hand_launches_its_geometry(make_plan):
    made = make_plan()
    assert made.launches == (("gemm", made.geometry),)


def test_the_workspace_is_bytes(plan):
    assert plan(Problem(8, 4, 2), workspace="M * K * BYTES if TRANS_A == 0 else 0").workspace == 64
    assert plan(Problem(8, 4, 2, "tn"), workspace="M * K * BYTES if TRANS_A == 0 else 0").workspace == 0
    assert plan(Problem(8, 4, 2)).workspace == 0
    assert plan(Problem(8, 4, 2), workspace="4 - M").reason.startswith("a workspace of -4 bytes (")


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
    assert tiled(text, Problem(16, 32, 24, precision_name="f16")).strides == (48,)
    assert "a row of the box is 128 bytes; with a swizzle of 32" in tiled(
        text, Problem(16, 32, 24, precision_name="f64")
    )


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


def test_a_device_without_tma_is_a_skip(plan):
    old = Target("cuda", sm=80, sms=1, smem=1 << 16, l2=0, memory=1 << 30)
    found = plan(Problem(16, 32, 8), old, tensor_maps=["operand: A\n    box: [8, 2]"])
    assert found.reason == "needs compute capability 9.0; the device has 8.0"


def test_the_layout_can_be_read_everywhere(plan):
    found = plan(Problem(16, 32, 8, "nt"), grid=["1 + TRANS_A", "1 + TRANS_B"])
    assert isinstance(found, Plan) and found.geometry.grid == (1, 2, 1)


def test_a_kernel_may_need_more_where_sums_are_promoted(plan):
    grids = [
        plan(Problem(16, 32, 8, "nn", name), grid=["1 + PROMOTED_EVERY"]).geometry.grid[0] for name in ("f32", "e4m3")
    ]
    assert grids == [1, 129]


def test_c_may_have_larger_elements_than_a_and_b(plan):
    assert plan(Problem(16, 32, 8, "nn", "e4m3"), grid=["BYTES", "BYTES_C"]).geometry.grid == (1, 2, 1)


def test_the_zeroed_bytes_are_part_of_the_workspace(plan):
    assert plan(Problem(8, 4, 2), workspace="8 * M", zeroed="4 * M").zeroed == 32
    assert plan(Problem(8, 4, 2), workspace="8 * M").zeroed == 0
    reason = plan(Problem(8, 4, 2), workspace="8 * M", zeroed="65").reason
    assert reason.startswith("65 zeroed bytes of a workspace of 64 (")
