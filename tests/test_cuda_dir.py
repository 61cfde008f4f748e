"""The kernels and configs that come with the program."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from gemmbench.backends.registry import list_library_variants
from gemmbench.backends.sources import inline_headers
from gemmbench.planning.manifests.catalog import SUFFIXES, Catalog, read_variant
from gemmbench.planning.manifests.variant import ALL, ONE
from gemmbench.planning.network_sweeps import read_network_post, read_network_sweep
from gemmbench.planning.plans.configurations import check_params, count_configurations, list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Plan, Target
from gemmbench.planning.problems import Problem
from gemmbench.planning.search_space import find_row
from gemmbench.planning.sweeps.run_request import RunRequest, Selection
from gemmbench.planning.sweeps.sweep import describes_network, known_posts, read_post, read_sweep
from gemmbench.session.dispatch import PickRow, replace_pick_rows
from gemmbench.session.single_kernel import choose_architecture, inspect_kernel

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(path for path in (ROOT / "cuda").rglob("*") if path.suffix in SUFFIXES)
FILES = [path for path in FILES if path.parent.suffix != ".costs"]
GEMMS = [path for path in FILES if read_variant(path).computes == "gemm"]  # networks have a test of their own
WITH_CODE = [path for path in FILES if path.suffix in (".cu", ".cpp") and not read_variant(path).picks]
CONFIGS = sorted(path for path in (ROOT / "configs").rglob("*.yaml") if "\nlayers:" not in path.read_text())
GPU = Target("cuda", sm=90, sms=132, smem=227 << 10, l2=50 << 20, memory=1 << 36, name="NVIDIA H100")
CPU = Target("cpu", sm=0, sms=2, smem=227 << 10, l2=1 << 20, memory=1 << 36, is_gpu=False, has_graphs=False)
FEW = 64  # configurations that are planned together


@pytest.fixture(params=FILES, ids=lambda path: path.name)
def kernel(request):
    return read_variant(request.param)


@pytest.fixture(params=GEMMS, ids=lambda path: path.name)
def gemm(request):
    return Catalog([ROOT / "cuda"]).get(request.param.stem)


def find_picked(variant, problem):
    """The row of a `pick` that computes a problem on the GPU."""
    return variant.picks[find_row(problem, variant, "cuda", {"cuda": GPU}, lambda *_: "")]


def test_the_searches_of_sgemm_have_a_problem_for_every_rule_of_their_candidates():
    variant, served, listed = Catalog([ROOT / "cuda"]).get("sgemm"), set(), set()
    for path in (ROOT / "configs").glob("sgemm_pick*.yaml"):
        sweep = read_sweep(RunRequest(config=str(path)), on_cpu=False)
        listed |= {choice.name for choice in sweep.choices if choice.own}
        for problem in sweep.problems:
            served.add(find_picked(variant, problem))
    assert listed <= {row.variant for row in variant.picks}
    rules = [row for row in variant.picks if row.estimate is None and row.variant in listed]
    assert [str(row.when) for row in rules if row not in served] == []


def test_no_two_searches_of_sgemm_write_the_same_row():
    variant, rows = Catalog([ROOT / "cuda"]).get("sgemm"), {}
    for path in (ROOT / "configs").glob("sgemm_pick*.yaml"):
        for problem in read_sweep(RunRequest(config=str(path)), on_cpu=False).problems:
            rows.setdefault(str(find_picked(variant, problem).when), set()).add(path.stem)
    assert [(when, sorted(names)) for when, names in rows.items() if len(names) > 1] == []


def test_the_searches_of_sgemm_have_what_their_rows_pick_among_their_candidates():
    catalog, lost = Catalog([ROOT / "cuda"]), []
    variant = catalog.get("sgemm")
    for path in (ROOT / "configs").glob("sgemm_pick*.yaml"):
        sweep = read_sweep(RunRequest(config=str(path)), on_cpu=False)
        for row in {find_picked(variant, problem) for problem in sweep.problems}:
            default = {key: (value,) for key, value in catalog.get(row.variant).default().items()}
            listed = [{**default, **choice.params} for choice in sweep.choices if choice.name == row.variant]
            if not any(all(value in params[key] for key, value in row.params) for params in listed):
                lost.append((path.stem, str(row.when)))
    assert lost == []


@pytest.mark.parametrize("path", ["sgemm/sgemm.cu", "tensor/tgemm.cu"])
def test_a_pick_is_written_as_it_is_read(path):
    text = (ROOT / "cuda" / path).read_text()
    variant = read_variant(ROOT / "cuda" / path)
    rows = {row.row: PickRow(row.variant, dict(row.params)) for row in variant.picks if row.estimate is None}
    assert replace_pick_rows(text, rows, path) == text
    changed = replace_pick_rows(text, {min(rows): PickRow("other", {"X": 1})}, path).splitlines()
    differing = [line for line, old in zip(changed, text.splitlines(), strict=True) if line != old]
    assert differing == ["    variant: other", "    params: {X: 1}"]


def make_problem(variant, size):
    """A problem that a variant can compute."""
    groups = () if ONE in variant.kinds else (size // 2, 0, size // 2)
    return Problem(size, size, size, variant.layouts[0], variant.precisions[0], groups=groups)


def plan_in_turn(problems, variant, configs, primary, targets):
    """The plans of a variant, made a few configurations at a time, so that a test that has found enough makes no more.

    The first configurations differ in the last parameters only, so each few come from all over the list.
    """
    for first in range(step := -(-len(configs) // FEW)):
        for problem in problems:
            found = make_plans([problem], [(variant, configs[first::step])], primary, targets, lambda *_: "")
            yield from (item for item in found if isinstance(item, Plan))


def comment(variant):
    """The lines of comment between the manifest and the code."""
    rest = variant.text.split("---*/", 1)[1]
    return re.match(r"\s*((?://[^\n]*\n|\s*\n)*)", rest)[1]


def read_with_headers(variant):
    """The text of a variant with its local headers in it."""
    return inline_headers(variant, variant.text, variant.path) if variant.path.endswith(".cu") else variant.text


def test_the_variants_of_the_first_rungs_are_there():
    assert {"naive_rows", "naive", "tiled", "blocktile_2d", "cpu_naive"} <= {path.stem for path in FILES}


def test_other_files_do_not_lie_among_the_kernels():
    others = [path for path in (ROOT / "cuda").rglob("*") if path.is_file() and path not in FILES]
    others = [path.name for path in others if path.parent not in [file.with_suffix(".costs") for file in FILES]]
    assert [name for name in others if not name.endswith((".md", ".cuh", ".schema.json"))] == []


def test_orders_and_names_are_unique():
    variants = [read_variant(path) for path in FILES]
    assert len({variant.order for variant in variants}) == len(variants)
    names = {variant.name for variant in (*variants, *list_library_variants())}
    assert len(names) == len(variants) + len(list_library_variants())


def test_the_libraries_stand_below_every_kernel():
    assert max(read_variant(path).order for path in FILES) < min(variant.order for variant in list_library_variants())


def _read_any_post(config):
    return read_network_post(config) if describes_network(config) else read_post(config)


def _list_corrections():
    return [
        (above, row) for config in known_posts() for above, row in pairwise(_list_post_rows(config)) if row.corrects
    ]


def test_the_first_line_of_a_post_s_kernel_says_whether_it_is_our_reconstruction(kernel):
    if Path(kernel.path).parent.name != "posts" or kernel.name.startswith("post"):
        return
    corrected = {row.variant for _, row in _list_corrections()}
    first = kernel.text.partition("---*/")[2].strip().splitlines()[0]
    assert first.startswith("// Our reconstruction") != (kernel.name in corrected)


def _list_post_rows(config):
    network = describes_network(config)
    return read_network_sweep(RunRequest(config=config), False).rows if network else read_post(config).rows


def test_a_kernel_says_what_it_is_and_where_it_comes_from(kernel):
    assert 10 < len(kernel.summary) < 120 and not kernel.summary.endswith(".")
    posts = {post.source for post in map(_read_any_post, known_posts())}
    assert kernel.source.startswith("https://") or kernel.source in posts  # not every post has an address
    if Path(kernel.path).parent.name == "posts":
        assert kernel.source in posts


@pytest.mark.parametrize("path", WITH_CODE, ids=lambda path: path.name)
def test_a_kernel_says_what_bounds_it_and_draws_its_tile(path):
    text = comment(read_variant(path))
    if corrected := [row.variant for above, row in _list_corrections() if above.variant == path.stem]:
        assert all(name in text for name in corrected), "name the corrected kernel, which says so"
        return
    assert re.search(r"\b[Bb]ound(s)?\b", text), "name what bounds it"
    drawn = [line for line in text.splitlines() if re.match(r"\s*/?/?\s{4,}\S", line)]
    assert len(drawn) >= 3, "draw the tile"


def test_a_kernel_defines_no_macro_that_the_plan_defines(kernel):
    taken = {"TA", "TB", "TC", "TACC", "TRANS_A", "TRANS_B", "M", "N", "K", *(name for name, _ in kernel.params)}
    assert taken.isdisjoint(re.findall(r"^\s*#\s*define\s+(\w+)", kernel.text, re.MULTILINE))


def test_a_kernel_uses_every_parameter_it_declares(kernel):
    code = re.split(r'---\*/|"""\n\n', read_with_headers(kernel), maxsplit=1)[1]
    if kernel.name.startswith("post"):  # which reads blockDim and template arguments, as the post does
        header = kernel.text.partition("---*/")[0]
        code += header.partition("\nblock:")[2] + header.partition("\nsymbol:")[2].partition("\n")[0]
    assert [name for name, _ in kernel.params if not re.search(rf"\b{name}\b", code)] == []


def test_a_kernel_honours_beta_0(gemm):
    text = read_with_headers(gemm)
    takes_no_beta = re.search("^(args|call):", text, re.MULTILINE) and not re.search(r"\bbeta\b", text)
    reads_c = "reads_c: true" in text
    tests_beta = re.search(r"beta\s*[=!]=\s*(0|TACC\(0\))", text)
    assert gemm.picks or takes_no_beta or reads_c or tests_beta, "with beta 0 C must not be read"


def test_the_default_configuration_runs_at_every_size(gemm):
    problems = [make_problem(gemm, size) for size in (128, 1024, 4096, 8192)]
    primary = "cpu" if gemm.kind == "host" else "cuda"
    chosen = [(gemm, list_configurations(gemm, {}))]
    found = make_plans(problems, chosen, primary, {"cuda": GPU, "cpu": CPU}, lambda *_: "")
    assert [item for item in found if not isinstance(item, Plan)] == []


def test_every_value_of_every_parameter_is_of_use(gemm):
    assert count_configurations(gemm) > 0
    problems = [make_problem(gemm, size) for size in (1024, 4096)]
    found = plan_in_turn(problems, gemm, list_configurations(gemm, {ALL: ()}), "cuda", {"cuda": GPU, "cpu": CPU})
    if gemm.picks:
        assert any(found)
        return  # the values are those of what it picks
    unused = {(name, value) for name, values in gemm.params for value in values}
    for plan in found:
        unused.difference_update(plan.config.values)
        if not unused:
            break
    assert unused == set()


@pytest.mark.parametrize("on_cpu", [False, True], ids=["gpu", "cpu"])
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_config_names_variants_and_parameters_that_exist(path, on_cpu):
    sweep = read_sweep(RunRequest(config=str(path)), on_cpu)
    catalog = Catalog([ROOT / "cuda"], list_library_variants())
    chosen = [(catalog.get(choice.name), choice.params) for choice in sweep.choices]
    check_params(chosen)
    assert sweep.problems and chosen
    baseline = catalog.get(sweep.baseline)
    assert "cpu" in baseline.devices if on_cpu else "cuda" in baseline.devices


@pytest.mark.parametrize("on_cpu", [False, True], ids=["gpu", "cpu"])
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_config_leaves_something_to_run(path, on_cpu):
    sweep = read_sweep(RunRequest(config=str(path)), on_cpu)
    catalog = Catalog([ROOT / "cuda"], list_library_variants())
    targets = {"cpu": CPU} if on_cpu else {"cuda": GPU, "cpu": CPU}
    for choice in sweep.choices:
        variant = catalog.get(choice.name)
        if on_cpu and "cpu" not in variant.devices:
            continue  # cuBLAS in the table of a post: a skipped row on a CPU
        configs = list_configurations(variant, choice.params)
        found = plan_in_turn(sweep.problems, variant, configs, "cpu" if on_cpu else "cuda", targets)
        assert any(found), f"{choice.name} never runs"


def test_the_pragma_of_post_002_changes_no_machine_code(warm_compiler):
    def read_code(unroll):
        request = Selection(("abt_shared",), layouts=("nt",), params={"TILE": (16,), "UNROLL": (unroll,)})
        inspected = inspect_kernel(request, choose_architecture("90", None))
        return warm_compiler.sass(inspected.only_plan())

    without, forced, forbidden = (read_code(unroll) for unroll in (0, 1, -1))
    assert without == forced != forbidden
    assert forced.count("FFMA") >= 16 > forbidden.count("FFMA")


def test_a_config_says_what_it_is():
    for path in CONFIGS:
        assert re.search(r"^summary: \S", path.read_text(), re.MULTILINE), path.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_line_of_a_manifest_exceeds_120_characters(path):
    lines = path.read_text().split("---*/")[0].splitlines()
    assert [number for number, line in enumerate(lines, 1) if len(line) > 120] == []
