"""Sizes as they are written on the command line and in configs."""

import pytest

from gemmbench.errors import UsageError
from gemmbench.planning.sizes import LARGEST, parse_sizes

FORMS = "write 1024, 1024x768x512 or 512:4096:512"


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("1024", [(1024, 1024, 1024)]),
        (1024, [(1024, 1024, 1024)]),
        ("1024x768x512", [(1024, 768, 512)]),
        ("512:2048:512", [(512,) * 3, (1024,) * 3, (1536,) * 3, (2048,) * 3]),
        ("512:1100:512", [(512,) * 3, (1024,) * 3]),
        ("7:7:1", [(7, 7, 7)]),
        ("64, 1x2x3 ,5:6:1", [(64, 64, 64), (1, 2, 3), (5, 5, 5), (6, 6, 6)]),
        (str(LARGEST), [(LARGEST,) * 3]),
    ],
)
def test_every_form_is_read_as_m_n_k(text, shapes):
    assert parse_sizes(text) == shapes


@pytest.mark.parametrize(
    "text", ["", " ", "1,,2", "12,", "1.5", "1e3", "big", "1x2", "1x2x3x4", "1x2x", "1X2X3", "1:2", "1:2:3:4", "0x10"]
)
def test_what_is_no_size_is_named_with_the_three_forms(text):
    item = next(part.strip() for part in text.split(",") if not part.strip().isdigit())
    with pytest.raises(UsageError) as fault:
        parse_sizes(text)
    assert str(fault.value) == f"'{item}' is not a size; {FORMS}"


@pytest.mark.parametrize(
    ("text", "item", "value"),
    [("0", "0", 0), ("-5", "-5", -5), ("8,4x0x4", "4x0x4", 0), ("1:9:0", "1:9:0", 0), ("1:9:-1", "1:9:-1", -1)],
)
def test_a_size_or_step_below_one_is_refused(text, item, value):
    with pytest.raises(UsageError) as fault:
        parse_sizes(text)
    message = f"size '{item}': {value} is not positive; a matrix needs at least one row and column"
    assert str(fault.value) == message


def test_a_size_above_an_int_is_refused():
    with pytest.raises(UsageError, match="2147483648 is too large; the largest size is 2147483647, which fits"):
        parse_sizes("1x2147483648x1")


def test_a_range_that_starts_above_its_end_is_refused():
    with pytest.raises(UsageError) as fault:
        parse_sizes("9:8:1")
    assert str(fault.value) == f"size '9:8:1': the start is above the end; {FORMS}"


def test_a_number_of_thousands_of_digits_is_refused_like_any_other():
    with pytest.raises(UsageError, match="too many; the largest size is 2147483647"):
        parse_sizes("9" * 5000)
