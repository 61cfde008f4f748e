"""Scales of A and B: what is right, what is not, and why."""

import ml_dtypes
import numpy as np
import pytest

from gemmbench.bench.operands.operand_values import make_operands, make_scaled_operands
from gemmbench.bench.operands.products import find_scales
from gemmbench.bench.verify import reference as verify
from gemmbench.bench.verify.reference import Reference, make_reference
from gemmbench.planning.problems import Problem

BLOCKS, ROWS, TENSOR = (Problem(70, 150, 300, "nt", name) for name in ("e4m3_blocks", "e4m3_rows", "e4m3_tensor"))


def list_sums(problem, operands):
    """The sums of each step along K, without scales."""
    a, b = (operands[name].astype(np.float64) for name in "AB")
    depth = problem.precision.scales.depth or problem.K
    return [a[:, k : k + depth] @ b[:, k : k + depth].T for k in range(0, problem.K, depth)]


def compute(
    problem, operands, change_a=lambda scales: scales, change_b=lambda scales: scales, change=lambda sums: sums
):
    """C in float32 and then bf16, as a kernel computes it that uses other scales or sums."""
    a, b = (find_scales(problem, operands, name).astype(np.float32) for name in "AB")
    parts = zip(list_sums(problem, operands), change_a(a), change_b(b), strict=True)
    total = sum(change(sums).astype(np.float32) * (x[:, None] * y) for sums, x, y in parts)
    return total.astype(problem.storage("C").numpy_type())


def scaled(problem):
    return Reference(problem, make_scaled_operands(problem, 1), 1.0, 0.0, exact_sums=True)


@pytest.mark.parametrize("limit", [verify._FULL_CHECK_LIMIT, 0])  # the second is for large problems
@pytest.mark.parametrize("problem", [BLOCKS, ROWS, TENSOR], ids=str)
def test_a_result_that_is_rounded_once_is_right_in_every_check(monkeypatch, problem, limit):
    monkeypatch.setattr(verify, "_FULL_CHECK_LIMIT", limit)
    reference = scaled(problem)
    assert reference.check_scales(compute(problem, reference.operands)).ok
    exact = make_reference(problem, "ints", 1, 1.0, 0.0)
    right = compute(problem, exact.operands)
    assert exact.check_exact(right).ok
    right[tuple(np.argwhere(right)[-1])] *= 2
    assert not exact.check_exact(right).ok
    real = make_reference(problem, "uniform", 1, 1.0, 0.0)
    assert real.check_rounding(compute(problem, real.operands)).ok


@pytest.mark.parametrize("beta", [0.0, -0.5])
def test_scalars_are_applied_to_scaled_sums(beta):
    operands = make_operands(BLOCKS, "ints", 1)
    reference, parts = Reference(BLOCKS, operands, 2.0, beta), list_sums(BLOCKS, operands)
    scales = zip(find_scales(BLOCKS, operands, "A"), find_scales(BLOCKS, operands, "B"), strict=True)
    total = sum(part * x[:, None] * y for part, (x, y) in zip(parts, scales, strict=True))
    result = 2 * total + beta * operands["C"].astype(np.float64)
    assert reference.check_exact(result.astype(operands["C"].dtype)).ok


def to_bf16(values):
    return values.astype(BLOCKS.storage("C").numpy_type()).astype(np.float32)


@pytest.mark.parametrize(
    ("problem", "changes", "cause", "words"),
    [
        (TENSOR, {"change_a": np.ones_like}, "scale ignored", "the scale of A was ignored"),
        (
            ROWS,
            {"change_b": lambda b: np.exp2(np.ceil(np.log2(b)))},
            "exponent of scale",
            "rounded up to a power of two",
        ),
        (
            ROWS,
            {"change_a": to_bf16, "change_b": to_bf16},
            "rounded scale",
            "each scale of A and B was rounded to bf16",
        ),
        (BLOCKS, {"change_b": lambda b: np.roll(b, -1, axis=0)}, "scale of next block", "scale of B of the next block"),
        (BLOCKS, {"change_a": lambda a: np.roll(a, 1, axis=1)}, "scale of previous row", "for the previous row"),
        (ROWS, {"change_b": lambda b: 1 / b}, "inverse scale", "sums were divided by the scale of B"),
        (ROWS, {"change_a": lambda a: a * a}, "scale twice", "the scale of A was applied twice"),
        (
            ROWS,
            {"change_a": lambda a: a[:, :1] + 0 * a},
            "scale of row 0",
            "the scale of A was that of row 0 everywhere",
        ),
        (
            ROWS,
            {"change_a": lambda a: a[:, np.arange(70) // 16 * 16]},
            "scale of first row of tile",
            "the scale of A was that of the first row of each tile of 16",
        ),
        (ROWS, {"change": to_bf16}, "scale after rounding", "sums were rounded to bf16 before their scales"),
        (
            BLOCKS,
            {"change_a": lambda a: np.exp2(np.rint(np.log2(a)))},
            "exponent of scale",
            "the scale of A was rounded to a power of two",
        ),
        (
            TENSOR,
            {"change_a": lambda a: np.exp2(np.floor(np.log2(a))), "change_b": lambda b: np.exp2(np.floor(np.log2(b)))},
            "exponent of scale",
            "only the exponent of each scale of A and B was used",
        ),
        (
            TENSOR,
            {"change_a": lambda a: np.exp2(np.rint(np.log2(a))), "change_b": lambda b: np.exp2(np.rint(np.log2(b)))},
            "exponent of scale",
            "each scale of A and B was rounded to a power of two",
        ),
        (
            ROWS,
            {"change_b": lambda b: b.astype(ml_dtypes.float8_e5m2).astype(np.float32)},
            "rounded scale",
            "the scale of B was rounded to f8e5m2",
        ),
        (
            BLOCKS,
            {"change_a": lambda a: np.vstack([a[1:], 0 * a[:1]])},
            "scale of next block",
            "scale of A of the next block",
        ),
        (
            BLOCKS,
            {"change_b": lambda b: np.hstack([b[:, 128:], 0 * b[:, :128]])},
            "scale of next column",
            "for the next block of 128 columns",
        ),
        (BLOCKS, {"change_a": lambda a: 0 * a + a[-1:]}, "scale of last block", "the scale of A of the last"),
        (
            BLOCKS,
            {"change_b": lambda b: b[::-1]},
            "scale of opposite block",
            "each block along K was multiplied with the scale of B of the block that lies as far from the other end",
        ),
        (
            BLOCKS,
            {"change_a": lambda a: a[[0, 1, 1]], "change_b": lambda b: b[[0, 1, 1]]},
            "scale of previous block",
            "the last block along K was multiplied with the scales of A and B of the block before",
        ),
        (
            BLOCKS,
            {
                "change_a": lambda a: np.vstack([a[:-1], 1 + 0 * a[-1:]]),
                "change_b": lambda b: np.vstack([b[:-1], 1 + 0 * b[-1:]]),
            },
            "scale ignored",
            "each scale of A and B was ignored in the last block along K",
        ),
    ],
)
def test_a_mistake_is_named(problem, changes, cause, words):
    reference = scaled(problem)
    check = reference.check_scales(compute(problem, reference.operands, **changes))
    assert not check.ok and check.rule == "scales"
    assert check.diagnosis.cause == cause, check.message
    assert words in check.message


TWO_BLOCKS = Problem(70, 150, 200, "nt", "e4m3_blocks")


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([0, 0], "the second block along K was multiplied with the scale of B of the first"),
        ([1, 1], "the first block along K was multiplied with the scale of B of the second"),
        ([1, 0], "the two blocks along K were multiplied with the scale of B of each other"),
    ],
)
def test_with_two_blocks_along_k_only_what_all_mistakes_have_in_common_is_said(steps, words):
    reference = scaled(TWO_BLOCKS)
    check = reference.check_scales(compute(TWO_BLOCKS, reference.operands, change_b=lambda b: b[steps]))
    assert check.diagnosis.cause == "scale of other block" and words in check.message


def test_sums_that_are_kept_from_block_to_block_are_named():
    reference = scaled(BLOCKS)
    a, b = (find_scales(BLOCKS, reference.operands, name) for name in "AB")
    sums = np.cumsum(list_sums(BLOCKS, reference.operands), axis=0)
    total = sum(each * x[:, None] * y for each, x, y in zip(sums, a, b, strict=True))
    check = reference.check_scales(total.astype(BLOCKS.storage("C").numpy_type()))
    assert check.diagnosis.cause == "sum kept" and "added again in each later one" in check.message


@pytest.mark.parametrize("problem", [BLOCKS, ROWS], ids=str)
def test_factors_that_are_rounded_with_their_scales_are_named(problem):
    reference = scaled(problem)
    steps = np.arange(problem.K) // (problem.precision.scales.depth or problem.K)
    a, b = (
        to_bf16(reference.operands[name].astype(np.float32) * find_scales(problem, reference.operands, name)[steps].T)
        for name in "AB"
    )
    check = reference.check_scales((a.astype(np.float64) @ b.T).astype(problem.storage("C").numpy_type()))
    assert check.diagnosis.cause == "rounded scale"
    assert "A and B were rounded to bf16 after their scales were applied" in check.message


def test_a_scale_of_the_first_row_that_multiplies_beta_c_is_named():
    reference = Reference(BLOCKS, make_scaled_operands(BLOCKS, 1), 1.5, -0.5, exact_sums=True)
    before = reference.operands["C"].astype(np.float64)
    first = find_scales(BLOCKS, reference.operands, "A")[0, 0]
    wrong = reference.expected + (1 - first) * 0.5 * before
    check = reference.check_scales(wrong.astype(BLOCKS.storage("C").numpy_type()))
    assert "the scale of A of row 0 multiplied beta C too" in check.message


def compute_at(problem, reference, find_address):
    """C if each step and block of columns reads the scale of B at an address, with NaN behind each row."""
    scale_b = problem.operand("scale_b")
    memory = np.pad(reference.operands["scale_b"], ((0, 0), (0, scale_b.padding)), constant_values=np.nan).reshape(-1)
    steps, blocks = np.arange(scale_b.shape[1])[:, None], np.arange(problem.N) // 128
    return compute(problem, reference.operands, change_b=lambda _: memory[find_address(blocks, steps, scale_b.shape)])


SHAPES = (1000, 127), (300, 200), (900, 300)
ONE_STEP, TWO_STEPS, MANY = (Problem(16, *shape, "nt", "e4m3_blocks") for shape in SHAPES)


@pytest.mark.parametrize("kind", ["exact", "scales", "uniform"])
@pytest.mark.parametrize(
    ("problem", "find_address", "words"),
    [
        (ONE_STEP, lambda block, step, shape: step * shape[0] + block, "was read: its rows begin at multiples of 4"),
        (TWO_STEPS, lambda block, step, shape: block * shape[1] + step, "with its rows too near each other"),
        (MANY, lambda block, step, shape: step * shape[0] + block, "with its two indices exchanged"),
    ],
)
def test_the_padding_of_scales_is_named_where_it_makes_nan(problem, find_address, words, kind):
    fills = {"exact": "ints", "uniform": "uniform"}
    made = scaled(problem) if kind == "scales" else make_reference(problem, fills[kind], 1, 1.0, 0.0)
    check = {"exact": made.check_exact, "scales": made.check_scales, "uniform": made.check_rounding}[kind]
    wrong = compute_at(problem, made, find_address)
    found = check(wrong)
    assert found.diagnosis.cause == "padding of scales read", found.message
    assert "the padding of scale_b was read" in found.message and words in found.message
    assert "not written" not in found.message
    wrong[3, 5] = np.nan
    assert check(wrong).diagnosis.cause != "padding of scales read", "another NaN has another cause"


def test_elements_that_are_all_nan_may_also_not_have_been_written():
    reference = scaled(Problem(16, 300, 100, "nt", "e4m3_blocks"))
    wrong = compute_at(reference.problem, reference, lambda block, step, shape: block + step)
    assert "multiples of 4 scales, or C was not written there" in reference.check_scales(wrong).message
    wrong[:] = np.nan
    assert "scale" not in reference.check_scales(wrong).diagnosis.cause


@pytest.mark.parametrize(("beta", "words"), [(0.0, "these elements hold 0, as if all"), (-0.5, ": as if all")])
def test_a_lost_last_block_that_is_the_only_one_is_no_scale_of_another_block(beta, words):
    problem = Problem(31, 61, 97, "nt", "e4m3_blocks")
    made = make_reference(problem, "ints", 1, 1.0, beta)
    check = made.check_exact((beta * made.operands["C"].astype(np.float32)).astype(problem.storage("C").numpy_type()))
    assert f"{words} 97 products were lost: look at the remainder of K" in check.message


@pytest.mark.parametrize(
    ("problem", "place"),
    [(BLOCKS, "row"), (ROWS, "row"), (TENSOR, "row"), (BLOCKS, "index"), (ROWS, "index"), (BLOCKS, "address")],
)
def test_the_scale_of_the_other_operand_is_named(problem, place):
    reference, N = scaled(problem), np.arange(problem.N)
    a = find_scales(problem, reference.operands, "A")
    if place == "row":  # both factors of the product are the scale of A
        changes = {"change_a": lambda scales: scales * scales, "change_b": np.ones_like}
    elif place == "index":
        changes = {"change_b": lambda b: np.where(N < problem.M, a[:, N % problem.M], 0)}
    else:  # blocks of columns are 4 elements apart
        at = N // 128 * 4 + np.arange(len(a))[:, None]
        changes = {"change_b": lambda b: reference.operands["scale_a"].reshape(-1)[at]}
    check = reference.check_scales(compute(problem, reference.operands, **changes))
    assert check.diagnosis.cause == "scale of other operand", check.message
    assert "the scale of A was used for B" in check.message


def test_a_small_error_of_a_single_scale_is_not_called_a_rounded_c():
    reference = scaled(TENSOR)
    wrong = compute(TENSOR, reference.operands, lambda a: a.astype(np.float16).astype(np.float32))
    check = reference.check_scales(wrong)
    assert not check.ok and "rounded to" not in check.message


def test_rounding_to_fewer_bits_than_a_float_has_is_found_but_not_what_a_float_loses():
    reference = scaled(ROWS)

    def cut(bits):
        def change(scales):
            fractions, exponents = np.frexp(scales)
            return np.ldexp(np.rint(fractions * 2.0**bits), exponents - bits).astype(np.float32)

        return change

    assert not reference.check_scales(compute(ROWS, reference.operands, cut(11))).ok
    assert reference.check_scales(compute(ROWS, reference.operands, cut(22))).ok


def test_a_lost_product_is_still_called_that():
    operands = make_operands(BLOCKS, "ints", 1)
    short = {**operands, "A": operands["A"].copy()}
    short["A"][:, -1] = 0
    check = Reference(BLOCKS, operands, 1.0, 0.0).check_exact(compute(BLOCKS, short))
    assert check.diagnosis.cause == "last k lost", check.message


def test_a_scale_of_the_first_block_in_the_second_is_that_of_the_previous_block():
    operands = make_operands(BLOCKS, "ints", 1)
    wrong = compute(BLOCKS, operands, change_b=lambda b: b[:, :1] + 0 * b)
    check = Reference(BLOCKS, operands, 1.0, 0.0).check_exact(wrong)
    assert check.diagnosis.cause == "scale of previous column", check.message


def compute_with_scalars(problem, reference, change, keep=lambda sums: sums):
    """C in bf16 if `change` rounds the scaled sums, and `keep` what is added up."""
    total = np.zeros((problem.M, problem.N), np.float32)
    a, b = (find_scales(problem, reference.operands, name).astype(np.float32) for name in "AB")
    for part, x, y in zip(list_sums(problem, reference.operands), a, b, strict=True):
        total = keep(total + part.astype(np.float32) * (x[:, None] * y))
    before = reference.operands["C"].astype(np.float32)
    result = change(total, np.float32(reference.alpha)) + np.float32(reference.beta) * before
    return result.astype(problem.storage("C").numpy_type())


@pytest.mark.parametrize(
    ("change", "keep", "words"),
    [
        (lambda sums, alpha: alpha * to_bf16(sums), np.asarray, "C was rounded to bf16 before alpha and beta"),
        (lambda sums, alpha: to_bf16(alpha * sums), np.asarray, "C was rounded to bf16 before beta C was added"),
        (lambda sums, alpha: alpha * sums, to_bf16, "sums were kept in bf16 from one block"),
        (lambda sums, alpha: alpha * sums * np.float32(1.01), np.asarray, "units of rounding, 16 are allowed"),
    ],
)
def test_what_was_rounded_before_c_is_named_and_nothing_else_is_guessed(change, keep, words):
    reference = Reference(BLOCKS, make_scaled_operands(BLOCKS, 1), 1.5, -0.5, exact_sums=True)
    assert reference.check_scales(compute_with_scalars(BLOCKS, reference, lambda sums, alpha: alpha * sums)).ok
    check = reference.check_scales(compute_with_scalars(BLOCKS, reference, change, keep))
    assert words in check.message and "beta is ignored" not in check.message
    assert check.error > 16, "what the check refuses is not called allowed"


@pytest.mark.parametrize(("problem", "rows"), [(TENSOR, slice(None)), (ROWS, slice(0, 1))], ids=["all", "one row"])
def test_an_error_that_few_elements_show_has_no_cause(problem, rows):
    reference = scaled(problem)

    def enlarge(scales):
        scales = scales.copy()
        scales[:, rows] *= np.float32(1 + 2.0**-12)
        return scales

    check = reference.check_scales(compute(problem, reference.operands, enlarge))
    assert not check.ok and "scale of" not in check.message and "column" not in check.message


def test_an_ignored_alpha_is_no_scale_even_where_a_scale_or_two_would_give_the_same():
    for shape in ((31, 61, 97), (64, 64, 64), (40, 130, 200)):
        for precision in ("e4m3_tensor", "e4m3_rows", "e4m3_blocks"):
            problem = Problem(*shape, "nt", precision)
            for seed in range(3):
                made = make_reference(problem, "ints", seed, 2.0, 0.0)
                check = made.check_exact((made.expected / 2).astype(problem.storage("C").numpy_type()))
                assert check.diagnosis.cause == "alpha ignored", check.message


@pytest.mark.parametrize("name", "AB")
@pytest.mark.parametrize("problem", [BLOCKS, ROWS, TENSOR, Problem(20, 30, 40, "nt", "e4m3_blocks")], ids=str)
def test_a_scale_that_is_ignored_among_integers_is_not_another_mistake(problem, name):
    made = make_reference(problem, "ints", 1, 2.0, 0.0)
    ignored = {**made.operands, f"scale_{name.lower()}": np.ones_like(made.operands[f"scale_{name.lower()}"])}
    wrong = Reference(problem, ignored, 2.0, 0.0).expected.astype(problem.storage("C").numpy_type())
    check = made.check_exact(wrong)
    assert (check.diagnosis.cause, f"the scale of {name} was ignored" in check.message) == ("scale ignored", True)


@pytest.mark.parametrize("shape", [(64, 80, 96), (96, 64, 96), (70, 70, 96)])
def test_exchanged_scales_are_named_where_they_are_read_outside_too(shape):
    problem = Problem(*shape, "nt", "e4m3_rows")
    made = make_reference(problem, "ints", 1, 2.0, 0.0)
    sums, outside = list_sums(problem, made.operands)[0], np.full(32, np.nan)
    first = np.append(made.operands["scale_b"], outside)[: problem.M]
    second = np.append(made.operands["scale_a"], outside)[: problem.N]
    wrong = (2 * sums * first[:, None] * second).astype(problem.storage("C").numpy_type())
    check = made.check_exact(wrong)
    assert check.diagnosis.cause == "scales exchanged" and "scale_a and scale_b were exchanged" in check.message
    wrong[3, 5] = np.nan
    assert made.check_exact(wrong).diagnosis.cause != "scales exchanged", "another NaN has another cause"


def test_exchanged_scales_of_one_block_that_make_nan_of_rows_are_not_read_by_column():
    problem = Problem(31, 61, 97, "nt", "e4m3_blocks")
    made = make_reference(problem, "ints", 1, 2.0, 0.0)
    of_rows = np.append(made.operands["scale_b"].reshape(-1), np.full(30, np.nan))
    wrong = 2 * list_sums(problem, made.operands)[0] * of_rows[:, None] * made.operands["scale_a"].reshape(-1)[0]
    check = made.check_exact(wrong.astype(problem.storage("C").numpy_type()))
    assert check.diagnosis.cause == "scales exchanged", check.message


@pytest.mark.parametrize("name", "AB")
@pytest.mark.parametrize("problem", [BLOCKS, ROWS, TENSOR, Problem(64, 64, 64, "nt", "e4m3_rows")], ids=str)
def test_a_factor_read_transposed_keeps_its_scales(problem, name):
    made = make_reference(problem, "ints", 1, 2.0, 0.0)
    stored = made.operands[name].astype(np.float64)
    turned = {**made.operands, name: stored.reshape(stored.shape[::-1]).T}
    check = made.check_exact(2 * compute(problem, turned))
    assert check.diagnosis.cause == f"transposed {name}", check.message


def test_the_scales_of_blocks_that_are_read_one_for_each_column_are_named():
    problem = Problem(40, 70, 60, "nt", "e4m3_blocks")
    made = make_reference(problem, "ints", 1, 2.0, 0.0)
    scales = np.append(made.operands["scale_b"].astype(np.float64), np.full(69, np.nan))
    sums = list_sums(problem, made.operands)[0] * find_scales(problem, made.operands, "A").T
    check = made.check_exact((2 * sums * scales).astype(problem.storage("C").numpy_type()))
    assert "the scale of B was read as if every column had its own" in check.message


@pytest.mark.parametrize("problem", [BLOCKS, ROWS, TENSOR], ids=str)
@pytest.mark.parametrize("kind", ["added", "on C", "clipped"])
def test_scales_that_are_used_otherwise_are_named(problem, kind):
    made = Reference(problem, make_scaled_operands(problem, 1), 1.5, -0.5, exact_sums=True)
    a, b = (find_scales(problem, made.operands, name) for name in "AB")
    sums, before = list_sums(problem, made.operands), made.operands["C"].astype(np.float64)
    join = np.add if kind == "added" else np.multiply
    total = 1.5 * sum(part * join(x[:, None], y) for part, x, y in zip(sums, a, b, strict=True))
    before = before * a[0][:, None] * b[0] if kind == "on C" else before
    total = total.clip(-448, 448) if kind == "clipped" else total
    check = made.check_scales((total - 0.5 * before).astype(problem.storage("C").numpy_type()))
    words = {"added": "were added instead of", "on C": "of A and B multiplied beta C too", "clipped": "clipped to 448"}
    assert not check.ok and words[kind] in check.message


def test_a_scale_that_only_some_rows_read_elsewhere_is_said_of_these():
    made = scaled(ROWS)
    some = np.arange(ROWS.M) - (np.arange(ROWS.M) % 3 == 1)
    check = made.check_scales(compute(ROWS, made.operands, change_a=lambda a: a[:, some]))
    assert ": these elements: the scale of A was read for the previous row" in check.message
    every = made.check_scales(compute(ROWS, made.operands, change_a=lambda a: np.roll(a, 1, axis=1)))
    assert ": the scale of A was read for the previous row" in every.message and "these elements" not in every.message
