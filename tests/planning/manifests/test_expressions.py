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


EVIL = [
    "__import__('os')",
    "__import__('os').system('true')",
    "M.real",
    "M.__class__",
    "().__class__",
    "9**9**9",
    "M ** 2",
    "1 << 9999",
    "M[0]",
    "'text'",
    "b'text'",
    "f'{M}'",
    "1.5",
    "1e9",
    "True",
    "None",
    "lambda: 1",
    "(lambda: 1)()",
    "[1, 2]",
    "{1: 2}",
    "(1, 2)",
    "[x for x in M]",
    "(M := 3)",
    "min(*M)",
    "min(M, N, key=3)",
    "max([1])",
    "M @ N",
    "~M",
    "M & N",
    "M is N",
    "M in N",
    "print(M)",
    "eval(M)",
    "M(1)",
    "M.x()",
    "cdiv",
    "cdiv(cdiv, 1)",
    "await M",
    "*M",
]


@pytest.mark.parametrize("text", EVIL)
def test_what_is_no_arithmetic_is_refused_when_it_is_read(text):
    with pytest.raises(ExpressionError) as fault:
        parse(text, NAMES)
    assert text in str(fault.value)


@pytest.mark.parametrize("text", ["", "M +", "M N", "1 2", "M; N", "M\nN", "import os", "M = 3", "0777", "\0"])
def test_what_does_not_parse_is_refused(text):
    with pytest.raises(ExpressionError, match="is not an expression"):
        parse(text, NAMES)


@pytest.mark.parametrize("text", ["cdiv(N", "(M", "M)", "BN)"])
def test_unbalanced_parentheses_are_named(text):
    with pytest.raises(ExpressionError, match="unbalanced parentheses"):
        parse(text, NAMES)


def test_a_text_that_is_too_long_is_refused():
    assert value("1" + " + 1" * 99) == 100
    with pytest.raises(ExpressionError, match="the expression has 401 characters; at most 400 are allowed"):
        parse("1" + "+1" * 200, NAMES)


def test_the_deepest_text_that_is_allowed_has_a_value():
    assert value("-" * 398 + "M") == 100


def test_an_unknown_name_offers_the_nearest():
    with pytest.raises(ExpressionError) as fault:
        parse("cdiv(M, BN)", ("M", "N", "K", "BM"))
    assert str(fault.value) == "'cdiv(M, BN)': unknown name 'BN' (did you mean 'N'?); known: M, N, K, BM"


def test_an_unknown_function_lists_the_known_ones():
    with pytest.raises(ExpressionError, match=r"unknown function 'ceil'; known: cdiv, min, max"):
        parse("ceil(M)", NAMES)


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


def test_a_fault_is_raised_every_time_and_not_only_the_first():
    expression = parse("M / K", NAMES)
    for _ in range(2):
        with pytest.raises(InexactDivision):
            expression.value(NAMES)
    assert expression.value({"M": 14, "K": 7}) == 2


def test_a_remembered_value_belongs_to_its_names():
    expression = parse("M + N", NAMES)
    assert [expression.value({"M": m, "N": 1}) for m in (1, 2, 1)] == [2, 3, 2]


def test_an_expression_knows_its_names_its_line_and_its_text():
    expression = parse(" cdiv(N, BM) ", NAMES, line=7)
    assert (expression.names, expression.line, str(expression)) == (("N", "BM"), 7, "cdiv(N, BM)")


def test_an_expression_survives_pickling():
    expression = parse("cdiv(N, BM)", NAMES, line=7)
    expression.value(NAMES)
    copy = pickle.loads(pickle.dumps(expression))
    assert (copy, copy.line, copy.value(NAMES)) == (expression, 7, 1)


def test_values_stay_below_what_any_count_needs():
    assert parse("N * N", ["N"]).value({"N": 2**64}) == 2**128
    for text in ("N * N * 2", "N * N + 1", "0 - N * N - 1"):
        with pytest.raises(ExpressionError, match=r"a value exceeds 2\^128"):
            parse(text, ["N"]).value({"N": 2**64})


def test_a_constant_of_many_digits_is_refused():
    with pytest.raises(ExpressionError, match="a number of 19 digits is too long; at most 18"):
        parse("N + " + "9" * 19, ["N"])


def test_an_expression_that_is_nested_too_deeply_has_no_value():
    deep = parse("1")
    for _ in range(20):
        deep = parse("-" * 200 + "x", lets={"x": deep})
    with pytest.raises(ExpressionError, match="nested too deeply"):
        deep.value({})
