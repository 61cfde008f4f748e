"""Named expressions of a manifest: what may read them, and what is refused."""

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
