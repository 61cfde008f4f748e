"""Sizes as they are written, and counts and numbers that are too large, refused before anything is made."""

import pytest

from gemmbench.errors import SpecError, UsageError
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.manifests.variant import ALL
from gemmbench.planning.plans.configurations import Configurations, list_configurations
from gemmbench.planning.sizes import (
    LARGEST,
    Groups,
    Many,
    One,
    check_digits,
    check_plans,
    count_digits,
    count_sizes,
    draw_groups,
    format_count,
    parse_sizes,
)
from gemmbench.planning.yaml_document import parse_document

FORMS = "write 1024, 1024x768x512, 512:4096:512, 64*512 or 512+0+33x768x512"


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("1024", [One(1024, 1024, 1024)]),
        (1024, [One(1024, 1024, 1024)]),
        ("1024x768x512", [One(1024, 768, 512)]),
        ("512:2048:512", [One(512, 512, 512), One(1024, 1024, 1024), One(1536, 1536, 1536), One(2048, 2048, 2048)]),
        ("512:1100:512", [One(512, 512, 512), One(1024, 1024, 1024)]),
        ("7:7:1", [One(7, 7, 7)]),
        ("64, 1x2x3 ,5:6:1", [One(64, 64, 64), One(1, 2, 3), One(5, 5, 5), One(6, 6, 6)]),
        (str(LARGEST), [One(LARGEST, LARGEST, LARGEST)]),
        ("8*64,1*64", [Many(8, 64, 64, 64), One(64, 64, 64)]),
        ("3*1x2x3", [Many(3, 1, 2, 3)]),
        ("5+0+3x7x2, 8", [Groups((5, 0, 3), 7, 2), One(8, 8, 8)]),
        ("3*5:6:1", [Many(3, 5, 5, 5), Many(3, 6, 6, 6)]),
    ],
)
def test_every_form_is_read_as_m_n_k(text, shapes):
    assert parse_sizes(text) == shapes


@pytest.mark.parametrize(
    "text", ["", " ", "1,,2", "12,", "1.5", "1e3", "big", "1x2", "1x2x3x4", "1x2x", "1X2X3", "1:2:3:4", "0x10"]
)
def test_what_is_no_size_is_named_with_the_three_forms(text):
    item = next(part.strip() for part in text.split(",") if not part.strip().isdigit())
    with pytest.raises(UsageError) as fault:
        parse_sizes(text)
    assert str(fault.value) == f"'{item}' is not a size; {FORMS}"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("1e9*64x64x64", "'1e9' is not a number of products; write 64*512 for 64 of them"),
        ("*64", "'' is not a number of products; write 64*512 for 64 of them"),
        ("3*", f"'' is not a size; {FORMS}"),
        ("3*64x", f"'64x' is not a size; {FORMS}"),
    ],
)
def test_the_part_of_a_batch_that_is_wrong_is_named(text, fault):
    with pytest.raises(UsageError) as raised:
        parse_sizes(text)
    assert str(raised.value) == f"size '{text}': {fault}"


def test_a_range_needs_a_step():
    with pytest.raises(UsageError, match="size '1:2' lacks a step; write START:STOP:STEP, such as 1:2:512"):
        parse_sizes("1:2")


def test_groups_are_drawn_with_the_rows_of_a_mean_and_alike_for_a_seed():
    drawn = draw_groups(8, 512, 1.0, 3)
    assert drawn == draw_groups(8, 512, 1.0, 3) != draw_groups(8, 512, 1.0, 4)
    assert (len(drawn), sum(drawn)) == (8, 8 * 512) and max(drawn) > 2 * min(drawn)
    assert draw_groups(3, 7, 0, 0) == (7, 7, 7)
    assert max(draw_groups(64, 4, 3.0, 1)) > 20 and 0 in draw_groups(64, 4, 3.0, 1)


NOT_POSITIVE = "is not positive; a matrix needs at least one row and column"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", f"size '0': 0 {NOT_POSITIVE}"),
        ("0*64", "size '0*64': a batch of 0 products; write at least 1"),
        ("-2*64", "size '-2*64': a batch of -2 products; write at least 1"),
        ("-5", f"size '-5': -5 {NOT_POSITIVE}"),
        ("8,4x0x4", f"size '4x0x4': 0 {NOT_POSITIVE}"),
        ("1:9:0", f"size '1:9:0': 0 {NOT_POSITIVE}"),
        ("1:9:-1", f"size '1:9:-1': -1 {NOT_POSITIVE}"),
        ("9:8:1", f"size '9:8:1': the start is above the end; {FORMS}"),
        ("1x2147483648x1", "2147483648 is too large; the largest size is 2147483647, which fits"),
        ("5+-1x3x4", "size '5+-1x3x4': a group of -1 rows; write 0 or more"),
        ("0+0x3x4", "size '0+0x3x4': all groups are empty; give at least one of them a row"),
        ("5+1x0x4", f"size '5+1x0x4': 0 {NOT_POSITIVE}"),
        ("2000000000+2000000000x3x4", "4,000,000,000 rows in all groups are too many; at most 2147483647"),
        ("+".join(["1"] * 1025) + "x3x4", "1,025 groups are too many; at most 1,024 are allowed"),
        ("5+1", "size '5+1': cannot read these groups; write rows+rows+...xNxK, such as 512+0+33x768x512"),
        ("2*5+1x3x4", "size '2*5+1x3x4': groups cannot form a batch; write 5+1x3x4"),
        ("1*" * 2000 + "8", "is not a number of products; write 64*512 for 64 of them"),
        ("1:" * 2000 + "8", "is not a size; write 1024"),
        ("9" * 5000, "too many; the largest size is 2147483647"),
    ],
)
def test_an_impossible_size_is_refused(text, message):
    with pytest.raises(UsageError) as fault:
        parse_sizes(text)
    assert message in str(fault.value) and len(str(fault.value)) < 300


@pytest.mark.parametrize(
    ("number", "digits"),
    [("0", 0), ("-12_3", 3), ("000123", 3), ("1.5e-300", 2), ("0.0001", 1), ("9" * 5000, 5000), (10**17, 18), (-5, 1)],
)
def test_digits_are_counted_without_writing_them(number, digits):
    assert count_digits(number) == digits
    assert abs(count_digits(10**5000) - 5001) <= 2


def test_eighteen_digits_are_allowed_and_nineteen_are_not():
    check_digits("x", "9" * 18)
    with pytest.raises(UsageError, match=r"^x: a number of 19 digits is too long; it may have at most 18$"):
        check_digits("x", "9" * 19)


def test_100_000_plans_are_allowed_and_one_more_is_not():
    check_plans(100_000)
    with pytest.raises(
        UsageError, match=r"^100,001 plans are too many; at most 100,000 are allowed; choose fewer sizes"
    ):
        check_plans(100_001)


def test_a_count_of_hundreds_of_digits_is_written_as_a_power():
    assert [format_count(64_000_000), format_count(3**2000)] == ["64,000,000", "over 10^954"]


def test_too_many_configurations_of_a_manifest_are_refused_at_their_line(write_kernel):
    values = ", ".join(map(str, range(20)))
    params = {f"P{number}": f"[{values}]" for number in range(6)}
    message = r"mine\.cu:\d+: params: 64,000,000 configurations are too many; at most 50,000"
    with pytest.raises(SpecError, match=message):
        read_variant(write_kernel("mine.cu", params=params))
    del params["P5"], params["P4"], params["P3"]
    assert len(list_configurations(read_variant(write_kernel("mine.cu", params=params)), {ALL: ()})) == 8000


def test_too_many_values_of_the_command_line_are_refused(make_variant):
    variant = make_variant(params=(("A", (1,)), ("B", (1,))))
    with pytest.raises(UsageError, match=r"^naive: 1,002,000 configurations are too many; at most 50,000"):
        list_configurations(variant, {"A": tuple(range(1000)), "B": tuple(range(1002))})


def test_configurations_are_made_when_asked_for():
    huge = Configurations({name: range(10) for name in "ABCDEFGHIJKLMNOP"})
    assert str(huge[0]) == " ".join(f"{name}=0" for name in "ABCDEFGHIJKLMNOP")
    assert str(huge[-1]).endswith("O=9 P=9") and str(huge[12]).endswith("O=1 P=2")
    few = Configurations({"A": (3, 4), "B": (5, 6, 7)})
    assert list(few) == [few[index] for index in range(6)] == few[:] and few[-2:] == list(few)[-2:]
    with pytest.raises(IndexError):
        few[6]
    assert list(Configurations({})) == [Configurations({})[0]]


def test_sizes_are_counted_before_they_are_listed():
    assert count_sizes("1:10000:1,8,1x2x3") == 10_002
    with pytest.raises(UsageError, match="1,010,000 plans are too many;"):
        parse_sizes(",".join(["1:10000:1"] * 101))


@pytest.mark.parametrize(
    "number",
    ["9" * 5000, "0x" + "f" * 5000, "-" + "1" * 19, "0b" + "1" * 64, "1." + "3" * 5000, "1" + "0" * 400 + ".0"],
)
def test_a_long_number_in_yaml_is_refused_at_its_line(number):
    message = r"x\.yaml:2: number: a number of [\d,]+ digits is too long; it may have at most 18"
    with pytest.raises(SpecError, match=message):
        parse_document(f"a: 1\nb: [{number}]", "x.yaml")


@pytest.mark.parametrize("number", [".inf", "-.inf", ".nan", "1.0e+400"])
def test_a_number_that_is_not_finite_is_refused(number):
    with pytest.raises(SpecError, match="is not a valid number; write a finite one"):
        parse_document(f"a: {number}", "x.yaml")
