"""Odd expressions: each has an integer as its value, or is refused."""

from hypothesis import event, given
from hypothesis import strategies as st

from gemmbench.planning.manifests.expressions import ExpressionError, parse

WORDS = (
    "M N K BM x 0 1 -1 7 10**9 2**64 1.5 1e9 True None 'x' [1] (1,2) lambda:0 __import__('os') M.x M[0] f(M)".split()
)
OPERATORS = [" + ", " - ", " * ", " // ", " % ", " ** ", " << ", " >> ", " / ", " and ", " or ", " < ", " == ", " in "]
WRAPPED = ["({})", "-{}", "not {}", "cdiv({}, {})", "min({}, {})", "max({})", "{} if {} else {}", "~{}", "[{}]", "{}{}"]


@st.composite
def expressions(draw, depth=4):
    if not depth or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(WORDS) | st.text(max_size=3))
    if draw(st.booleans()):
        operator = draw(st.sampled_from(OPERATORS))
        return draw(expressions(depth=depth - 1)) + operator + draw(expressions(depth=depth - 1))
    form = draw(st.sampled_from(WRAPPED))
    return form.format(*(draw(expressions(depth=depth - 1)) for _ in range(form.count("{}"))))


@given(text=expressions(), often=st.sampled_from([1, 1, 1, 1, 20, 2000]), data=st.data())
def test_an_odd_expression_has_a_value_or_is_refused(text, often, data):
    values = {name: data.draw(st.sampled_from([0, 1, 7, 4096, 2**31 - 1])) for name in ("M", "N", "K", "BM")}
    try:
        value = parse("*".join([text] * often), tuple(values)).value(values)
    except ExpressionError as fault:
        event("refused")
        assert len(str(fault)) < 5000
        return
    event("value")
    assert isinstance(value, int)
