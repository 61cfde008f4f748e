"""Expressions of a manifest: what they compute, and what they refuse."""

import pickle

import pytest

from gemmbench.planning.manifests.expressions import ExpressionError, InexactDivision, parse

NAMES = {"M": 100, "N": 60, "K": 7, "BM": 64}


def value(text):
    return parse(text, NAMES).value(NAMES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("M + N * 2 - K", 213),
        ("-K + 8", 1),
        ("(M + N) / 4", 40),
        ("M // K", 14),
        ("M % K", 2),
        ("cdiv(M, BM)", 2),
        ("cdiv(128, BM)", 2),
        ("min(M, N)", 60),
        ("max(M, N, 1000)", 1000),
        ("cdiv(min(M, N), 7)", 9),
        ("M > N and N > K", True),
        ("M < N or K == 7", True),
        ("not M == 100", False),
        ("K < N < M", True),
        ("K != 7", False),
        ("M >= 100", True),
        ("8 if K % 2 == 0 else 4", 4),
        ("0x10 + 1_000", 1016),
        (16, 16),
        (" 16 ", 16),
    ],
)
def test_arithmetic_comparisons_and_functions_have_python_s_values(text, expected):
    assert value(text) == expected


EVIL = """
__import__('os')
__import__('os').system('true')
M.real | M.__class__ | ().__class__ | M.x()
9**9**9 | M ** 2 | 1 << 9999 | M @ N | ~M | M & N | M is N | M in N
M[0] | 'text' | b'text' | f'{M}' | 1.5 | 1e9 | True | None
lambda: 1 | (lambda: 1)() | [1, 2] | {1: 2} | (1, 2) | [x for x in M] | (M := 3)
min(*M) | min(M, N, key=3) | max([1]) | print(M) | eval(M) | M(1) | cdiv | cdiv(cdiv, 1)
await M | *M
"""


@pytest.mark.parametrize("text", [text for line in EVIL.split("\n")[1:-1] for text in line.split(" | ")])
def test_what_is_no_arithmetic_is_refused_when_it_is_read(text):
    with pytest.raises(ExpressionError) as fault:
        parse(text, NAMES)
    assert text in str(fault.value)


NO_EXPRESSION = ["", "M +", "M N", "1 2", "M; N", "M\nN", "import os", "M = 3", "0777", "\0"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, "is not an expression") for text in NO_EXPRESSION),
        *((text, "unbalanced parentheses") for text in ("cdiv(N", "(M", "M)", "BN)")),
        ("1" + "+1" * 200, "the expression has 401 characters; at most 400 are allowed"),
        ("cdiv(M, BN)", "'cdiv(M, BN)': unknown name 'BN' (did you mean 'N'?); known: M, N, K, BM"),
        ("2 * count", "'2 * count': unknown name 'count', which belongs to `kinds: [one, many]`; known: M"),
        ("M + groups", "unknown name 'groups', which belongs to `kinds: [one, groups]`; known: M"),
        ("ceil(M)", "unknown function 'ceil'; known: cdiv, min, max"),
        ("N + " + "9" * 19, "a number of 19 digits is too long; at most 18"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(text, message):
    with pytest.raises(ExpressionError) as fault:
        parse(text, NAMES)
    assert message in str(fault.value)


def test_the_longest_and_the_deepest_text_that_are_allowed_have_a_value():
    assert value("1" + " + 1" * 99) == value("-" * 398 + "M") == 100


def test_a_division_that_leaves_a_remainder_is_told_apart():
    with pytest.raises(InexactDivision) as fault:
        value("M / K")
    assert str(fault.value) == "M / K: 100 / 7 leaves a remainder of 2"


@pytest.mark.parametrize("text", ["M / 0", "M % 0", "M // (K - 7)", "cdiv(M, 0)", "cdiv(M)", "min(M)", "max()"])
def test_what_has_no_value_is_an_expression_error_that_names_the_text(text):
    with pytest.raises(ExpressionError) as fault:
        value(text)
    assert not isinstance(fault.value, InexactDivision)
    assert str(fault.value).startswith(f"{text}: ")


def test_a_remembered_value_or_fault_belongs_to_its_names():
    expression = parse("M / K", NAMES)
    for _ in range(2):
        with pytest.raises(InexactDivision):
            expression.value(NAMES)
        assert [expression.value({"M": m, "K": 7}) for m in (14, 21, 14)] == [2, 3, 2]


def test_an_expression_knows_its_names_its_line_and_its_text_also_after_pickling():
    expression = parse(" cdiv(N, BM) ", NAMES, line=7)
    assert (expression.names, expression.line, str(expression)) == (("N", "BM"), 7, "cdiv(N, BM)")
    expression.value(NAMES)
    copy = pickle.loads(pickle.dumps(expression))
    assert (copy, copy.line, copy.value(NAMES)) == (expression, 7, 1)


def test_values_stay_below_what_any_count_needs():
    assert parse("N * N", ["N"]).value({"N": 2**64}) == 2**128
    for text in ("N * N * 2", "N * N + 1", "0 - N * N - 1"):
        with pytest.raises(ExpressionError, match=r"a value exceeds 2\^128"):
            parse(text, ["N"]).value({"N": 2**64})


def test_an_expression_that_is_nested_too_deeply_has_no_value():
    deep = parse("1")
    for _ in range(20):
        deep = parse("-" * 200 + "x", lets={"x": deep})
    with pytest.raises(ExpressionError, match="nested too deeply"):
        deep.value({})
