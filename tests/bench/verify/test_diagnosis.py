"""A wrong result is explained: what a mistake gives is computed by hand, and its cause must be named."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from gemmbench.backends.fake.backend import FakeStep
from gemmbench.bench.operands.operand_values import make_operands, round_factor
from gemmbench.bench.verify import reference as verify
from gemmbench.bench.verify.reference import Reference, make_reference
from gemmbench.planning.precisions import PRECISIONS
from gemmbench.planning.problems import LAYOUTS, Problem
from tests.bench.conftest import ODD

SHAPE = (45, 70, 51)


@pytest.fixture
def large(monkeypatch):
    """Problems are called large: they are checked by Freivalds, and in 128 rows."""
    monkeypatch.setattr(verify, "_FULL_CHECK_LIMIT", 0)


@pytest.fixture(params=["element by element", "Freivalds"])
def way(request):
    """Both ways of checking."""
    if request.param == "Freivalds":
        request.getfixturevalue("large")


class Case:
    """A problem on integers, and its right result."""

    def __init__(self, shape=SHAPE, layout="nn", precision="f32", alpha=2.0, beta=0.0):
        self.problem = Problem(*shape, layout=layout, precision_name=precision)
        self.data, self.alpha, self.beta = make_operands(self.problem, "ints", 1), alpha, beta
        a, b, self.c = (self.data[name].astype(float) for name in "ABC")
        self.a, self.b = a.T if self.problem.trans_a else a, b.T if self.problem.trans_b else b
        self.right = self.of(self.a, self.b)

    def of(self, a, b):
        return self.alpha * (a @ b) + self.beta * self.c

    def check(self, wrong):
        reference = Reference(self.problem, self.data, self.alpha, self.beta)
        return reference.check_exact(wrong.astype(self.problem.storage("C").numpy_type()))

    def cause(self, wrong):
        check = self.check(wrong)
        assert not check.ok and check.message.endswith(check.diagnosis.words)
        return check.diagnosis.cause


def without(matrix, ks):
    """A copy of op(A) in which these k give nothing."""
    copy = matrix.copy()
    copy[:, ks] = 0
    return copy


MISTAKES = {
    "alpha ignored": lambda case: (case.right - case.beta * case.c) / case.alpha + case.beta * case.c,
    "beta ignored": lambda case: case.right - case.beta * case.c,
    "alpha and beta ignored": lambda case: case.a @ case.b,
    "negated": lambda case: 2 * case.beta * case.c - case.right,
    "alpha on the sum": lambda case: case.alpha * (case.a @ case.b + case.beta * case.c),
    "transposed A and B": lambda case: case.of(
        case.a.reshape(-1).reshape(case.a.shape[::-1]).T, case.b.reshape(-1).reshape(case.b.shape[::-1]).T
    ),
    "transposed C": lambda case: case.right.T.reshape(case.right.shape),
    "product lost": lambda case: case.beta * case.c,
    "last k lost": lambda case: case.of(without(case.a, slice(48, None)), case.b),
    "first k lost": lambda case: case.of(without(case.a, slice(3)), case.b),
    "one k lost": lambda case: case.of(without(case.a, 20), case.b),
    "tile of k lost": lambda case: case.of(without(case.a, slice(16, 24)), case.b),
    "every p-th k lost": lambda case: case.of(without(case.a, slice(3, None, 4)), case.b),
    "k counted twice": lambda case: case.of(case.a, case.b) + case.alpha * np.outer(case.a[:, 7], case.b[7]),
    "rows shifted": lambda case: np.roll(case.right, -2, axis=0),
    "columns shifted": lambda case: np.roll(case.right, 4, axis=1),
    "k shifted": lambda case: case.of(case.a[:, :-1], case.b[1:]),
}


@pytest.mark.parametrize("cause", MISTAKES)
def test_a_mistake_is_named_by_recomputing_it(way, cause):
    case = Case(alpha=3.0, beta=-2.0)
    assert case.cause(MISTAKES[cause](case)) == cause


@pytest.mark.parametrize(
    ("columns", "is_recomputed", "region"),
    [(slice(None), True, "these elements"), (slice(64, None), False, "the last 6 columns, from 64 on")],
)
def test_a_cause_is_recomputed_if_all_of_c_is_as_it_makes_it(columns, is_recomputed, region):
    case = Case()
    wrong = case.right.copy()
    wrong[:, columns] = (case.a @ case.b)[:, columns]
    found = case.check(wrong).diagnosis
    assert (found.cause, found.is_recomputed, found.region) == ("alpha ignored", is_recomputed, region)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("operand", ["A", "B"])
@pytest.mark.parametrize("shape", [SHAPE, (48, 48, 48)])
def test_an_operand_read_as_if_it_were_stored_the_other_way(way, layout, operand, shape):
    case = Case(shape, layout)
    stored = case.data[operand].astype(float)
    trans = case.problem.trans_a if operand == "A" else case.problem.trans_b
    # What is stored K x M for a transposed A is M x K now, and the other way round.
    turned = stored.reshape(stored.shape[::-1])
    factors = {"A": case.a, "B": case.b, operand: turned if trans else turned.T}
    assert case.cause(2.0 * (factors["A"] @ factors["B"])) == f"transposed {operand}"


@pytest.mark.parametrize("precision", ["f64", "f16", "bf16"])
@pytest.mark.parametrize("cause", ["last k lost", "rows shifted", "alpha ignored"])
def test_other_precisions_are_diagnosed_too(precision, cause):
    case = Case(precision=precision)
    assert case.cause(MISTAKES[cause](case)) == cause


@pytest.mark.parametrize(
    ("ks", "words"),
    [
        (slice(48, None), "as if the last 3 products of 51 were lost: look at the remainder of K"),
        (slice(2), "as if the first 2 products of 51 were lost"),
        (5, "as if the product of k = 5 were lost"),
        (slice(8, 16), "as if the 8 products from k = 8 on were lost"),
        (slice(15, None, 16), "as if one product in 16 were lost, from k = 15 on"),
    ],
)
def test_how_many_products_are_lost_and_from_where_is_reported(ks, words):
    case = Case()
    assert words in case.check(case.of(without(case.a, ks), case.b)).message


@pytest.mark.parametrize(("change", "words"), [(np.abs, "positive"), (lambda x: np.maximum(x, 0), "0")])
@pytest.mark.parametrize(
    ("alpha", "beta", "what"), [(2.0, 0.0, "results"), (2.0, -3.0, "sums"), (-2.0, 0.0, "sums"), (2.0, 3.0, "results")]
)
@pytest.mark.parametrize("shape", [SHAPE, (1, 257, 64)])
def test_a_lost_sign_is_named_where_only_negative_values_are_wrong(shape, change, words, alpha, beta, what):
    case = Case(shape, alpha=alpha, beta=beta)
    made = change(case.right) if what == "results" else alpha * change(case.a @ case.b) + beta * case.c
    assert case.check(made).diagnosis.words == f"as if negative {what} became {words}"
    case.right[np.s_[:, 3:40]] = change(case.right)[np.s_[:, 3:40]]
    assert "negative" not in case.check(case.right).message


# Where the wrong elements are


@pytest.mark.parametrize(
    ("place", "cause", "words"),
    [
        (np.s_[:, 64:], "edge columns", "the last 6 columns, from 64 on, were never written"),
        (np.s_[40:], "edge rows", "the last 5 rows, from 40 on, were never written"),
        (np.s_[16:32, 32:48], "tiles never written", "1 of 15 tiles of 16 x 16 was never written"),
        (np.s_[:, 3::4], "never written", "one column in 4, from 3 on, was never written"),
        (np.s_[7], "never written", "row 7 was never written"),
        (np.s_[:, 30:33], "never written", "columns 30 to 32 were never written"),
    ],
)
def test_unwritten_elements_are_described_by_their_region(place, cause, words):
    case = Case()
    case.right[place] = np.nan
    check = case.check(case.right)
    assert check.diagnosis.cause == cause
    assert words in check.message


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (np.s_[19::4], "one row in 4, from 19 on"),
        (np.s_[[19, 23]], "rows 19 and 23"),
        (np.s_[19:31:4], ""),  # the last ones are right
        (([19, 23], [3, 60]), "C[19][3] and C[23][60]"),
        (([5, 11, 17, 23, 29, 35, 41], [0, 9, 8, 2, 40, 51, 7]), ""),
    ],
)
@pytest.mark.parametrize("value", [-99.0, np.nan])
def test_a_pattern_of_lines_is_named_if_whole_lines_and_all_that_it_predicts_are_wrong(place, words, value):
    case = Case()
    case.right[place] = value
    found = case.check(case.right).diagnosis
    assert found.region == (words or "these elements")


@pytest.mark.parametrize(
    ("find", "words"),
    [
        (lambda i, j: i == j, "the diagonal"),
        (lambda i, j: j - i == 9, "the diagonal from C[0][9] to C[44][53]"),
        (lambda i, j: i + j == 30, "the diagonal from C[0][30] to C[30][0]"),
        (lambda i, j: i > j, "the elements below the diagonal"),
        (lambda i, j: i <= j, "the elements on and above the diagonal"),
        (lambda i, j: (i == j) & (i % 3 == 0), "these elements"),
        (lambda i, j: (j > i) & (i % 2 == 0), "these elements"),
        (lambda i, j: (i >= 30) & (j < 20), "these elements"),
    ],
)
@pytest.mark.parametrize("value", [-99.0, np.nan])
def test_parts_of_rows_and_columns_are_not_called_rows_and_columns(way, find, words, value):
    case = Case()
    case.right[find(*np.indices(SHAPE[:2]))] = value
    found = case.check(case.right).diagnosis
    assert found.region == words or (words == "these elements" and "rows" not in found.region), found
    assert found.words.startswith(words) or not np.isnan(value)


def test_one_or_two_rows_have_no_diagonal():
    reference = make_reference(Problem(2, 61, 97), "ints", 1, 1.0, 0.0)
    wrong = reference.expected.astype(np.float32)
    wrong[0, 1:] -= 1
    wrong[1, 3:] -= 1
    assert "diagonal" not in reference.check_exact(wrong).message


def test_rows_and_columns_at_the_edge_are_one_cause():
    case = Case()
    case.right[40:], case.right[:, 64:] = np.nan, np.nan
    assert case.cause(case.right) == "edge rows and columns"


@pytest.mark.parametrize(("place", "cause"), [(np.s_[:, 64:], "edge columns"), (np.s_[40:], "edge rows")])
def test_of_a_large_problem_the_edge_is_seen_too(large, place, cause):
    case = Case()
    case.right[place] = np.nan
    assert case.cause(case.right) == cause


def test_what_c_held_before_is_not_written_either():
    case = Case(beta=3.0)
    case.right[:, 64:] = case.c[:, 64:]
    check = case.check(case.right)
    assert check.diagnosis.cause == "edge columns"
    assert "were never written: C is unchanged: look at the guard on N" in check.message


@pytest.mark.parametrize("count", [2, 8])
def test_a_few_real_elements_have_a_cause_only_if_it_explains_many_bits_of_them(count):
    problem = Problem(33, 65, 100, layout="nn", precision_name="e4m3")
    reference = make_reference(problem, "uniform", 1, 1.5, -0.5)
    store = problem.storage("C").store
    wrong, result = store(reference.expected + 0.5 * reference.operands["C"]), store(reference.expected)
    far = np.where(np.abs(wrong - reference.expected) > 2 * reference._bound(verify.EXACT), np.abs(wrong - result), 0)
    least = np.unravel_index(np.argsort(np.where(far > 0, far, np.inf), axis=None)[:2], far.shape)
    most = np.argsort(far[:, 7])[-8:], 7
    places = least if count == 2 else most
    result[places] = wrong[places]
    check = reference.check_rounding(result.astype(problem.storage("C").numpy_type()))
    assert not check.ok and ("beta is" in check.message or "beta, or C" in check.message) == (count == 8)
    assert "column in" not in check.message


@pytest.mark.parametrize("count", [1, 3])
def test_a_few_integers_that_are_a_little_off_have_no_cause_although_many_would_fit(count):
    case, rng = Case(), np.random.default_rng(5)
    for _ in range(20):
        wrong = case.right.copy()
        wrong[rng.integers(0, SHAPE[0], count), rng.integers(0, SHAPE[1], count)] -= 8
        found = case.check(wrong)
        assert found.diagnosis.words == "" or not found.diagnosis.is_recomputed, found.message
        assert count > 1 or found.message.endswith(f"should be {found.message.rpartition(' ')[2]}")
    few = case.right.copy()
    few[-5:, -1] = case.of(without(case.a, [50]), case.b)[-5:, -1]
    assert "were lost" not in case.check(few).message
    few[-30:, -1] = case.of(without(case.a, [50]), case.b)[-30:, -1]
    assert "if the last product of 51 were lost" in case.check(few).message


def test_noise_has_no_cause_and_none_is_made_up():
    case, rng = Case(), np.random.default_rng(3)
    where = rng.random(case.right.shape) < 0.3
    case.right[where] += rng.integers(5, 100, where.sum())
    check = case.check(case.right)
    assert (check.diagnosis.cause, check.diagnosis.words) == ("unknown", "")
    assert "elements wrong, first C[" in check.message


# The map of tiles


def draw_map(case):
    head, *lines = case.check(case.right).diagnosis.map.splitlines()
    return head, lines


def test_tiles_are_drawn_as_right_wrong_partly_wrong_or_unwritten():
    case = Case((64, 64, 9))
    case.right[0:4, 0:2], case.right[4, 2], case.right[60:, 62:] = -99, -99, np.nan
    head, lines = draw_map(case)
    assert head.startswith("64 x 64 in tiles of 4 x 2: ")
    assert lines[0] == "#" + "." * 31 and lines[1] == ".+" + "." * 30
    assert lines[2:15] == ["." * 32] * 13 and lines[15] == "." * 31 + "n"


@pytest.mark.parametrize("shape", [(1, 9, 3), (16, 32, 3), (17, 33, 3), (1000, 30, 3), (5, 1000, 3)])
def test_the_map_is_never_larger_than_16_lines_of_32(shape):
    case = Case(shape)
    case.right[-1, -1] += 1
    _, lines = draw_map(case)
    assert 1 <= len(lines) <= 16 and {len(line) for line in lines} == {len(lines[0])}
    assert len(lines[0]) <= 32 and "".join(lines).count(".") == len("".join(lines)) - 1


def test_of_a_large_problem_rows_that_were_not_compared_say_so(large):
    case = Case((512, 40, 9))
    case.right[64:96, 8:16] = -99
    head, lines = draw_map(case)
    assert head.startswith("512 x 40 in tiles of 32 x 2: ")
    assert [index for index, line in enumerate(lines) if line != "." * 20] == [2]
    assert lines[2] == "." * 4 + "#" * 4 + "." * 12
    case.right[:, 0] = -99
    assert all(line[0] in "+?" for line in draw_map(case)[1])


def test_a_result_that_is_nearly_all_nan_has_no_map():
    case = Case((31, 61, 9))
    kept = case.right[7:9, 13].copy()
    case.right[:] = np.nan
    case.right[7:9, 13] = kept
    assert not case.check(case.right).diagnosis.map


# Lower precision


def check_rounded(change=lambda values: values, alpha=1.0, beta=0.0, after=lambda sums: sums):
    """The message about a kernel that changes its factors, or its sums."""
    problem = Problem(40, 30, 200, alpha=alpha, beta=beta)
    data = make_operands(problem, "uniform", 2)
    result = np.float32(alpha) * after(change(data["A"]) @ change(data["B"])) + np.float32(beta) * data["C"]
    check = Reference(problem, data, alpha, beta).check_rounding(result)
    assert check.diagnosis.cause == "lower precision"
    return check.message


@pytest.mark.parametrize("name", ["tf32", "f16", "bf16"])
def test_factors_of_fewer_bits_are_named(name):
    def change(values):
        kind = PRECISIONS[name]
        return round_factor(values, kind) if name == "tf32" else values.astype(kind.a.numpy_type()).astype("f4")

    assert f"as if A and B were rounded to {name}" in check_rounded(change)


def test_truncated_factors_are_distinguished_from_rounded_ones():
    message = check_rounded(lambda values: (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32))
    assert "as if A and B were truncated to tf32" in message


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (1.5, -0.5)])
def test_sums_kept_in_half_are_named(alpha, beta):
    message = check_rounded(alpha=alpha, beta=beta, after=lambda sums: sums.astype("f2").astype("f4"))
    assert "as if sums were kept in f16: computed in a lower precision" in message


# What needs more launches than one


@pytest.fixture
def diagnose(experiment, launch):
    """The diagnosis of a kernel that launches `function`, and the reason."""

    def run(function, beta=0.0):
        launch(function)
        (record,) = experiment("bad", problem=replace(ODD, alpha=1.5, beta=beta))
        assert record.status == "wrong"
        return record.diagnosis, record.reason

    return run


@pytest.mark.parametrize(
    ("grows", "words"),
    [(False, "a second launch on the same operands is right: a race"), (True, "differs in 1 of 561 elements")],
    ids=["right the second time", "different every time"],
)
def test_a_result_that_differs_from_launch_to_launch_is_a_race(diagnose, grows, words):
    launches = itertools.count(1)

    def race(self, at):
        FakeStep.launch(self, at)
        number = next(launches)
        if grows or number == 1:
            self._view(at["C"], "C")[3, 4] += number

    cause, reason = diagnose(race)
    assert cause == "race" and words in reason


@pytest.mark.parametrize(("keeps", "beta"), [(True, 0.0), (True, 0.5), (False, 0.0)])
def test_a_kernel_that_repeats_its_first_result_or_writes_only_in_its_first_launch_keeps_state(diagnose, keeps, beta):
    kept = []

    def remember(self, at):
        if not kept:
            FakeStep.launch(self, at)
            kept.append(self._view(at["C"], "C").copy())
        elif keeps:
            self._view(at["C"], "C")[:] = kept[0]

    cause, reason = diagnose(remember, beta)
    words = "an earlier launch was correct" + ": other operands give the same result" * keeps
    assert cause == "remembers" and words in reason


@pytest.mark.parametrize("unused", "AB")
def test_an_operand_that_makes_no_difference_is_named(diagnose, unused):
    def use_one(self, at):
        a, b = (np.ones_like(self._view(at[name], name)) if name == unused else
                self._view(at[name], name) for name in "AB")  # fmt: skip
        self._view(at["C"], "C")[:] = np.abs(a) @ np.abs(b)

    cause, reason = diagnose(use_one)
    assert cause == "operand unused" and f"the result is the same with another {unused}" in reason


def test_a_scale_that_other_data_do_not_confirm_is_no_cause(experiment, launch):
    def read_elsewhere(self, at):
        a, b, scale_a, scale_b = (self._view(at[name], name) for name in ("A", "B", "scale_a", "scale_b"))
        moved = scale_a.reshape(-1)[1]
        total = (a.astype("f4") @ b.astype("f4").T) * (moved * scale_b.reshape(-1))
        self._view(at["C"], "C")[:] = self.alpha * total

    launch(read_elsewhere)
    (record,) = experiment("bad", problem=Problem(33, 17, 40, "nt", "e4m3_rows", alpha=1.5))
    assert record.status == "wrong" and "scale" not in record.diagnosis, record.reason


READS = "C is read although beta is 0: it may hold NaN, and 0 * NaN is NaN"
ADDS = "the product is added to C although beta is 0; with beta 0 the old values of C must not be read"


@pytest.mark.parametrize(
    ("factor", "cause", "words"),
    [(0, "C read at beta 0", READS), (1, "C read at beta 0", ADDS), (None, "never written", "C was never written")],
)
def test_reading_c_adding_to_it_and_leaving_it_are_three_causes(diagnose, factor, cause, words):
    def use_c(self, at):
        a, b, c = (self._view(at[name], name) for name in "ABC")
        if factor is not None:
            c[:] = np.float32(factor) * c + np.float32(self.alpha) * (a @ b)

    found, reason = diagnose(use_c)
    assert (found, reason.rpartition(", should be ")[2].partition(": ")[2]) == (cause, words)


def test_the_kernels_after_a_diagnosis_find_their_operands_untouched(experiment, launch):
    def noisy(self, at):
        FakeStep.launch(self, at)
        self._view(at["C"], "C")[[1, 2, 5], [3, 9, 4]] -= 7

    launch(noisy)
    bad, good = experiment("bad", "naive")
    assert (bad.status, bad.diagnosis, good.status) == ("wrong", "unknown", "ok")
    assert bad.wrong_map.startswith("33 x 17 in tiles of 4 x 1: ")
