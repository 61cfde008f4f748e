"""Before a configuration is timed it is verified on an awkward problem, in a process of its own, once."""

from pathlib import Path

import pytest

from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.run_request import Destination, make_request
from gemmbench.session import awkward_checks
from gemmbench.session.awkward_checks import plan_awkwardly
from gemmbench.session.machine import find_machine, open_catalog
from gemmbench.session.reporter import SILENT
from gemmbench.session.sweep_runs import run_sweep

MANIFEST = """file: mm.cu
summary: mm
order: 10
symbol: mm
args: [A, B, C, M, N, K]
precisions: [f32]
layouts: [nn]
grid:
  - cdiv(N, 16)
  - cdiv(M, 16)
block: [16, 16]
"""
TILED = """
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[16][16], Bs[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float sum = 0;
    for (int t = 0; t < TILES; ++t) {
        As[y][x] = row < M && t * 16 + x < K ? A[row * K + t * 16 + x] : 0;
        Bs[y][x] = col < N && t * 16 + y < K ? B[(t * 16 + y) * N + col] : 0;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += As[y][k] * Bs[k][x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}
"""


HOSTILE, STRIDES = (Path(__file__).parents[1] / name for name in ("hostile", "hostile_strides"))
RIGHT, FLOOR = "(K + 15) / 16", "K / 16"


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a kernel and its manifest in the current folder."""
    monkeypatch.chdir(tmp_path)

    def write(name="mm", tiles=RIGHT, changes=(), manifest=""):
        text = TILED.replace("TILES", tiles)
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / f"{name}.cu").write_text(text)
        (tmp_path / f"{name}.yaml").write_text(MANIFEST.replace("mm.cu", f"{name}.cu") + manifest)

    return write


@pytest.fixture
def run(tmp_path, write, few_sets):
    """Run kernels on the CPU device; returns the rows by name."""

    def run(*names, sizes="32", kernels=None, **form):
        names = names if kernels else [f"./{name}.yaml" for name in names]
        asked = {"variants": names, "sizes": sizes, "kernels": kernels, "cache": "hot", "rounds": 2, **form}
        request = make_request(destination=Destination(tmp_path / "results"), **asked)
        records = run_sweep(request, find_machine("cpu", SILENT)).run.records
        return {record.variant.removeprefix("./").removesuffix(".yaml"): record for record in records}

    return run


def test_a_kernel_that_is_wrong_elsewhere_is_wrong_and_not_timed(write, run):
    write("right")
    write("floor", FLOOR)
    rows = run("right", "floor")
    assert rows["right"].status == "ok" and rows["right"].samples and not rows["right"].only_here
    assert (rows["floor"].status, rows["floor"].samples) == ("wrong", [])
    assert rows["floor"].reason.startswith("ok here, wrong at 31x61x97: as if the last product of 97 were lost")


@pytest.mark.parametrize(
    ("name", "form", "words"),
    [
        ("lda_for_b", {"ld": "A+8,B+8"}, "ok here, wrong at 31x61x97, rows of A+8, B+8: "),
        ("reads_d_for_c", {"separate_c": True, "beta": -0.5}, "exact check: "),
    ],
)
def test_rows_with_padding_and_a_d_are_checked_as_they_are_timed(run, name, form, words, monkeypatch, tmp_path):
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path / "cache"))
    seen = []
    judge = awkward_checks._judge
    monkeypatch.setattr(awkward_checks, "_judge", lambda plan, record: seen.append(plan) or judge(plan, record))
    row = run(name, sizes="32", kernels=str(STRIDES), **form)[name]
    assert row.status == "wrong" and not row.samples and row.reason.startswith(words)
    assert seen and all(plan.problem.form == row.problem.form for plan in seen)


def test_a_leading_dimension_that_leads_outside_is_explained_where_it_does_not(write, run):
    write("mm", changes=[("(t * 16 + y) * N", "(t * 16 + y) * K")])
    assert run("mm")["mm"].reason.startswith(
        "ok here, wrong at 31x97x61: as if the leading dimension of B were K instead of N"
    )


def test_the_rules_choose_the_awkward_problem(write, run):
    write("floor", FLOOR, manifest="require: [K % 16 == 0]\n")
    row = run("floor")["floor"]
    assert (row.status, row.only_here) == ("ok", "")


def test_a_kernel_of_fixed_size_is_noted(write, run):
    write("fixed", manifest="require: [M == 32, N == 32, K == 32]\n")
    row = run("fixed")["fixed"]
    assert row.status == "ok" and row.samples
    assert row.only_here.startswith("refuses 31x61x97: require M == 32 (fixed.yaml:")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ([("float sum = 0;", "float sum = 0; if (K % 16) __trap();")], "refuses 31x61x97: "),
        ([("float sum = 0;", "float sum = 0; for (volatile int i = 0; K % 16;) i = 0;")], "31x61x97 took longer than "),
    ],
)
def test_a_refusal_is_a_note(write, run, change, words, monkeypatch):
    monkeypatch.setattr(awkward_checks, "_SECONDS", 4.0)
    write("mm", changes=change)
    row = run("mm")["mm"]
    assert row.status == "ok" and row.samples and row.only_here.startswith(words)


def test_a_crash_is_no_refusal(write, run):
    write("mm", changes=[("float sum = 0;", "float sum = 0; if (K % 16) *(volatile int*)8 = 1;")])
    row = run("mm")["mm"]
    assert row.status == "wrong" and row.reason.startswith(
        "ok here, fails at 31x61x97: the kernel crashed with SIGSEGV"
    )


def test_the_answer_is_kept_by_the_code(write, run, monkeypatch, tmp_path):
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path / "cache"))
    seen = []
    judge = awkward_checks._judge
    monkeypatch.setattr(awkward_checks, "_judge", lambda plan, record: seen.append(plan) or judge(plan, record))
    write("floor", FLOOR, changes=[("float sum", "int unique = 0;\n    float sum")])
    first = run("floor")["floor"].reason
    assert len(seen) == 1
    write("floor", FLOOR, changes=[("float sum", "int unique = 0;  // a comment\n    float sum")])
    assert run("floor")["floor"].reason == first and len(seen) == 1
    write("floor", FLOOR, changes=[("float sum = 0", "int unique = 1; float sum = 0")])
    assert run("floor")["floor"].reason == first and len(seen) == 2


def test_the_answer_counts_for_what_the_manifest_declares(run):
    rows = run("bf16x6_inside", "bf16x6_declared", kernels=str(HOSTILE))
    assert (rows["bf16x6_inside"].status, rows["bf16x6_declared"].status) == ("wrong", "ok")
    assert rows["bf16x6_declared"].is_of_weaker_class


def test_special_values_are_left_to_verify(write, run):
    write("flushes", changes=[("= sum;", "= fabsf(sum) < 1.2e-38f ? 0 : sum;")])
    assert run("flushes")["flushes"].status == "ok"


def test_the_problem_itself_is_not_checked_twice(write, run, monkeypatch):
    monkeypatch.setattr(awkward_checks, "_check_plans", None)
    write("floor", FLOOR)
    row = run("floor", sizes="31x61x97")["floor"]
    assert row.status == "wrong" and row.reason.startswith("exact check: ")


def test_of_a_kernel_that_picks_the_one_that_was_picked_is_checked(write, run, tmp_path):
    header = "/*---\n{}---*/\n"
    folder = tmp_path / "kernels"
    folder.mkdir()
    manifest = MANIFEST.replace("file: mm.cu\n", "")
    for name, tiles in (("floor", FLOOR), ("right", RIGHT)):
        (folder / f"{name}.cu").write_text(header.format(manifest) + TILED.replace("TILES", tiles))
    pick = "summary: picks\norder: 1\nprecisions: [f32]\nlayouts: [nn]\n"
    pick += "pick:\n  - {variant: floor, when: M <= 32}\n  - variant: right\n"
    (folder / "picks.cu").write_text(header.format(pick))
    row = run("picks", kernels="kernels")["picks"]
    assert row.reason.startswith("ok here, wrong at 31x61x97: as if the last product of 97 were lost")


def test_an_awkward_problem_has_several_tiles_and_unequal_sides(write):
    write("mm", manifest="require: [M % 128 == 0, N % 128 == 0, K % 8 == 0]\n")
    variant = open_catalog(None).get("./mm.yaml")
    machine = find_machine("cpu", SILENT)
    plan = plan_awkwardly(variant, awkward_checks.Config(), Problem(128, 128, 128), machine)
    assert plan.problem.size == "256x384x104"
