"""Constants that were fitted to times on a card: which ones a pick uses, faults of their file, and writing it."""

from dataclasses import replace

import pytest

from gemmbench.errors import SpecError
from gemmbench.planning.files import data_folder, display_path
from gemmbench.planning.manifests.card_costs import RegionCosts, find_costs_file, find_fitted, format_costs, read_costs
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import collect_names, estimate_time, make_plans
from gemmbench.planning.plans.plan import Plan, Skip, Target
from gemmbench.planning.problems import Problem

BARE = {"symbol": None, "grid": None, "block": None, "body": ""}
MODEL = {"estimates": "\n  small:\n    time: each * M + start", "costs": "\n  small:\n    start: 0\n    each: BM"}
ROWS = [
    "when: M > 99\n    region: tall\n    candidates:\n      - small: {BM: [16, 8]}",
    "candidates:\n      - small: {BM: [16, 8]}",
]
TALL = "- precisions: [f32]\n  region: tall\n  candidates:\n    small:\n      BM=16: {start: 5, each: 1}\n"
H100, H200 = (
    Target("cuda", 90, 132, 227 << 10, 50 << 20, 1 << 36, name=f"NVIDIA {name}") for name in ("H100 80GB HBM3", "H200")
)


@pytest.fixture
def pick(write_kernel, tmp_path):
    """What `best` picks at M x 8 x 8 on a card, with these files of constants."""

    def choose(m, target=H100, precision="f32", **files):
        variant = read(write_kernel, tmp_path, **files)
        problem = Problem(m, 8, 8, precision_name=precision)
        (plan,) = make_plans(
            [problem], [(variant, list_configurations(variant, {}))], "cuda", {"cuda": target}, lambda *_: ""
        )
        return str(plan.config)

    return choose


def read(write_kernel, tmp_path, **files):
    """A catalog's `best`, which has candidates of `small` (BM 16 or 8) for a large M and for any other."""
    write_kernel("small.cu", params={"BM": "[16, 8]"}, precisions="[f32, f16]")
    path = write_kernel("best.cu", **BARE, **MODEL, precisions="[f32, f16]", pick=ROWS)
    for card, text in files.items():
        file = find_costs_file(path, f"nvidia-{card}")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return Catalog([tmp_path / "kernels"]).get("best")


def test_a_pick_uses_the_constants_of_the_card_the_region_and_the_precision(pick):
    fitted = {"h100": f"card: NVIDIA H100\ncosts:\n{TALL}"}
    assert pick(100) == pick(100, H200, **fitted) == "small: BM=8"  # the defaults: 16 M or 8 M
    assert pick(100, **fitted) == "small: BM=16"
    assert pick(99, **fitted) == pick(100, precision="f16", **fitted) == "small: BM=8"


def test_the_constants_of_another_card_serve_where_a_file_says_so(pick):
    files = {"h100": f"card: NVIDIA H100\ncosts:\n{TALL}", "h200": "card: NVIDIA H200\nsame_as: nvidia-h100\n"}
    assert pick(100, H200, **files) == "small: BM=16"


COSTS = "card: X\ncosts:\n"
FAULTS = {
    "an unknown key": ("card: X\nfitted: 1\n", 2, "unknown key 'fitted' (did you mean 'fit'?)"),
    "no card": ("date: today\n", 1, "missing key `card`"),
    "another card without a file": (
        "card: X\nsame_as: nvidia-h20\n",
        2,
        "same_as: no constants of 'nvidia-h20'; known: none",
    ),
    "a precision twice": (
        f"card: X\ncosts:\n{TALL}{TALL}",
        8,
        "precisions: f32 is listed twice; keep one of the entries",
    ),
    "both": (f"card: X\nsame_as: nvidia-h200\ncosts:\n{TALL}", 3, "costs: cannot be combined with `same_as`; remove"),
    "a precision": (
        COSTS + TALL.replace("f32", "f31"),
        3,
        "precisions: unknown 'f31' (did you mean 'f32'?); correct it",
    ),
    "a region": (
        COSTS + TALL.replace("tall", "wide"),
        4,
        "region: no row of `pick` has the region 'wide'; known: tall; ",
    ),
    "a variant": (
        COSTS + TALL.replace("small", "smal"),
        6,
        "candidates: 'smal' is no candidate of the pick (did you mean",
    ),
    "a parameter": (
        COSTS + TALL.replace("BM=16", "BN=16"),
        7,
        "'BN=16' is not a value of a parameter of small; write such",
    ),
    "no value": (
        COSTS + TALL.replace("BM=16", "BM"),
        7,
        "'BM' is not a value of a parameter of small; write such as BM=64",
    ),
    "no configurations": (
        COSTS + TALL.partition("\n      BM")[0].rstrip() + " 5\n",
        6,
        "small: write lines such as `BM=64",
    ),
    "a constant": (
        COSTS + TALL.replace("each", "eech"),
        7,
        "small has no constant 'eech' (did you mean 'each'?); remove it, or",
    ),
    "a missing constant": (
        COSTS + TALL.replace(", each: 1", ""),
        7,
        "small also has the constant 'each'; add it, or fit all",
    ),
    "a fraction": (COSTS + TALL.replace("each: 1", "each: 1.5"), 7, "each: 1.5 should be a whole number from 0 on"),
    "a negative constant": (
        COSTS + TALL.replace("each: 1", "each: -1"),
        7,
        "each: -1 should be a whole number from 0 on",
    ),
    "the same twice": (
        COSTS + TALL + "      BM=16 : {start: 5, each: 1}\n",
        8,
        "duplicate key 'BM=16' (first on line 7)",
    ),
    "the default twice": (
        COSTS + TALL + "      default: {start: 5, each: 1}\n",
        8,
        "small default: listed twice; keep one",
    ),
    "no mapping": (
        COSTS + TALL.replace("{start: 5, each: 1}", "5"),
        7,
        "write the constants of small as {start: 0, each: 0}",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_a_file_is_named_with_its_line_and_what_to_do(write_kernel, tmp_path, name):
    text, line, message = FAULTS[name]
    variant = read(write_kernel, tmp_path, h100=text)
    with pytest.raises(SpecError) as fault:
        find_fitted(variant, "nvidia-h100", "f32")
    assert fault.value.location == display_path(find_costs_file(tmp_path / "kernels/best.cu", "nvidia-h100"))
    assert fault.value.line == line and fault.value.fault.startswith(message)


def test_a_card_whose_constants_are_taken_has_some_of_its_own(write_kernel, tmp_path):
    files = {"h100": "card: X\nsame_as: nvidia-h200\n", "h200": "card: Y\nsame_as: nvidia-h100\n"}
    with pytest.raises(SpecError, match="'nvidia-h200' itself takes those of 'nvidia-h100'; name a card with `costs`"):
        find_fitted(read(write_kernel, tmp_path, **files), "nvidia-h100", "f32")


def test_a_pick_with_a_broken_file_for_its_card_is_skipped_with_the_fault(write_kernel, tmp_path):
    variant = read(write_kernel, tmp_path, h100="card: X\nfitted: 1\n")
    chosen = [(variant, list_configurations(variant, {}))]
    plans = [make_plans([Problem(9, 9, 9)], chosen, "cuda", {"cuda": each}, lambda *_: "")[0] for each in (H100, H200)]
    assert isinstance(plans[0], Skip) and "nvidia-h100.yaml:2: unknown key 'fitted'" in plans[0].reason
    assert isinstance(plans[1], Plan)


def test_what_is_written_is_read_again(write_kernel, tmp_path):
    variant = read(write_kernel, tmp_path)
    sixteen, eight = (pick.candidate for pick in variant.picks[:2])
    first = {sixteen: {"start": 1, "each": 2}, eight: {"start": 3, "each": 4}}
    parts = [RegionCosts(name, "tall", first) for name in ("f32", "f16")] + [
        RegionCosts("f16", "", {eight: first[eight], sixteen: None})
    ]
    head = {"card": "NVIDIA H100", "date": "2026-11-29", "revision": "1234567", "fit": "a: #b 'c'", "same_as": ""}
    text = format_costs(variant, head, parts)
    assert text.count("BM=16:\n") == 1 and "precisions: [f32, f16]" in text
    written = read(write_kernel, tmp_path, h100=text)
    again = read_costs(written, written.costs[0])
    assert [(each.precision, each.region, each.costs) for each in again] == [
        (p.precision, p.region, p.costs) for p in parts
    ]


def test_a_candidate_that_is_not_listed_keeps_the_defaults_and_one_that_is_gone_does_not_matter(pick):
    text = TALL.replace(
        "BM=16: {start: 5, each: 1}", "BM=16: {start: 9999, each: 9999}\n      BM=64: {start: 0, each: 0}"
    )
    assert pick(100, h100=f"card: X\ncosts:\n{text}") == "small: BM=8"


def test_a_candidate_that_was_wrong_when_surveyed_is_not_picked(pick):
    everywhere = TALL.replace("  region: tall\n", "")
    wrong = [part.replace("BM=16: {start: 5, each: 1}", "BM=8: wrong") for part in (TALL, everywhere)]
    assert pick(100) == "small: BM=8"
    assert pick(100, h100=f"card: X\ncosts:\n{''.join(wrong)}") == "small: BM=16"


SHARED = "- precisions: [f32]\n  candidates:\n    small:\n      start: 5\n      each: 1\n"


def test_shared_constants_are_read_and_written_without_candidates(write_kernel, tmp_path):
    write_kernel("small.cu", params={"BM": "[16, 8]"}, precisions="[f32, f16]")
    model = {**MODEL, "costs": "\n  small: {start: 7, each: 9}", "shared_costs": "[small]"}
    path = write_kernel("best.cu", **BARE, **model, precisions="[f32, f16]", pick=ROWS)

    def read(text):
        file = find_costs_file(path, "nvidia-h100")
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"card: X\ncosts:\n{text}")
        variant = Catalog([tmp_path / "kernels"]).get("best")
        return read_costs(variant, variant.costs[0]), variant

    (part,), variant = read(SHARED + "      BM=8: wrong\n")
    wrong = next(pick.candidate for pick in variant.picks if pick.values["BM"] == 8)
    assert part.costs == {("small", ()): {"start": 5, "each": 1}, wrong: None}
    assert SHARED + "      BM=8: wrong\n" in format_costs(variant, {"card": "X"}, [part])
    names = collect_names(variant, Problem(200, 8, 8), H100)
    fitted = find_fitted(variant, "nvidia-h100", "f32")
    assert variant.picks[0].shares_costs and estimate_time(variant, variant.picks[0], names, fitted) > 0
    for text, message in (
        (SHARED.replace("  candidates", "  region: tall\n  candidates"), "its candidates share their constants"),
        (SHARED.replace("      each: 1\n", ""), "small also has the constant 'each'"),
        (SHARED.replace("each: 1", "reach: 1"), "small has no constant 'reach'"),
    ):
        with pytest.raises(SpecError, match=message):
            read(text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"shared_costs": "[smal]"},
            "shared_costs: `costs` has no constants of smal (did you mean 'small'?); remove it",
        ),
        ({"shared_costs": "[small]"}, "reads BM, but all candidates share it; let `estimates` read BM"),
    ],
)
def test_shared_constants_belong_to_a_variant_and_read_no_parameters(write_kernel, tmp_path, changes, message):
    write_kernel("small.cu", params={"BM": "[16, 8]"})
    write_kernel("best.cu", **BARE, **{**MODEL, "costs": "\n  small: {start: 7, each: BM}"}, pick=ROWS, **changes)
    with pytest.raises(SpecError) as fault:
        Catalog([tmp_path / "kernels"]).get("best")
    assert message in fault.value.fault


def test_a_picked_variant_with_fewer_rows_reads_no_file(write_kernel, tmp_path):
    variant = read(write_kernel, tmp_path, h100="card: [")
    assert find_fitted(replace(variant, costs=()), "nvidia-h100", "f32") == {}


@pytest.mark.parametrize(
    ("name", "card"),
    [("NVIDIA H100 80GB HBM3", "nvidia-h100"), ("NVIDIA A100-SXM4-80GB", "nvidia-a100-sxm4-80gb"), ("", "")],
)
def test_a_card_has_a_short_name(name, card):
    assert replace(H100, name=name).card == card


def test_the_files_of_the_project_can_be_read_for_every_candidate():
    catalog = Catalog([data_folder("cuda")])
    for variant in (each for each in map(catalog.get, catalog.names) if each.costs):
        estimated = {pick.costs_key for pick in variant.picks if pick.estimate}
        for file in variant.costs:
            fitted = [find_fitted(variant, file.card, name) for name in variant.precisions]
            assert any(fitted) and set().union(*fitted) <= estimated, file.location
    assert catalog.get("sgemm").costs
