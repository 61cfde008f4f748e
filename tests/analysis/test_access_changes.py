"""Lines of two versions of a kernel, matched by their code and their cost."""

from dataclasses import replace

import pytest

from gemmbench.analysis.access_changes import compare_lines
from gemmbench.analysis.accesses import JOINED, UNITED, WRITTEN, Access, AccessCounts, Cost


def load(line, sectors, operand="A", requests=100, file="mine.cu"):
    cost = Cost(requests, sectors * requests, sectors * requests, requests, 0)
    return Access(file, line, operand, False, False, 4, 3200, False, 0, {WRITTEN: cost})


def store(line, wavefronts, array="As", requests=100):
    cost = Cost(requests, 0, 0, wavefronts * requests, (wavefronts - 1) * requests)
    return Access("mine.cu", line, array, True, True, 4, 3200, False, 1, dict.fromkeys((WRITTEN, JOINED, UNITED), cost))


def compare(earlier, later):
    """The changes from versions given as code and access by line."""
    sides = [
        (
            AccessCounts(tuple(access for _, access in version), 1, 1),
            {("mine.cu", access.line): code for code, access in version},
        )
        for version in (earlier, later)
    ]
    return compare_lines(*sides[0], *sides[1])


def more(earlier, later):
    """Lines that ask for more, before and now; 0 for a new one."""
    found = [each for each in compare(earlier, later) if each.is_more]
    return [(each.earlier.line if each.earlier else 0, each.later.line) for each in found]


def test_the_same_lines_elsewhere_are_no_change():
    assert (
        compare([("x=A[i]", load(10, 4)), ("y=A[j]", load(20, 8))], [("y=A[j]", load(5, 8)), ("x=A[i]", load(7, 4))])
        == []
    )


def test_renamed_variables_and_arrays_are_no_change():
    assert (
        compare(
            [("x=A[i]", load(10, 4)), ("As[i]=x", store(11, 2))],
            [("a=A[k]", load(10, 4)), ("tile[k]=a", store(11, 2, "tile"))],
        )
        == []
    )


@pytest.mark.parametrize("code", ["x=A[i]", "x=A[i*K]"])
def test_a_line_that_asks_for_more_is_found_wherever_it_moved(code):
    assert more([("x=A[i]", load(10, 4))], [(code, load(30, 16))]) == [(10, 30)]


def test_a_line_that_asks_for_less_does_not_make_up_for_another():
    earlier = [("x=A[i]", load(10, 4)), ("y=A[j]", load(20, 16))]
    assert more(earlier, [("x=A[i]", load(10, 16)), ("y=A[j]", load(20, 4))]) == [(10, 10)]


def test_an_operand_does_not_make_up_for_another():
    earlier = [("x=A[i]", load(10, 16)), ("y=B[i]", load(11, 4, "B"))]
    assert more(earlier, [("x=A[j]", load(10, 4)), ("y=B[j]", load(11, 16, "B"))]) == [(11, 11)]


def test_wider_loads_of_as_many_sectors_are_no_more():
    assert more([("x=A[i]", load(10, 4))], [("x=A4[i]", load(10, 16, requests=25))]) == []


def test_a_line_that_runs_more_often_asks_for_more():
    assert more([("x=A[i]", load(10, 4))], [("x=A[i]", load(10, 4, requests=101))]) == [(10, 10)]


def test_what_a_line_asked_for_may_be_spread_over_two_and_gathered_again():
    whole = [("x=A[i]", load(10, 4))]
    parts = [("first=A[i]", load(8, 4, requests=1)), ("x=A[i+16]", load(10, 4, requests=99))]
    assert more(whole, parts) == more(parts, whole) == []
    assert more(whole, [*parts, ("y=A[0]", load(12, 1, requests=1))]) != []


def test_a_new_line_asks_for_more_and_one_that_is_gone_does_not():
    one, two = [("x=A[i]", load(10, 4))], [("x=A[i]", load(10, 4)), ("y=A[j]", load(11, 4))]
    assert more(one, two) == [(0, 11)] and more(two, one) == []
    (gone,) = compare(two, one)
    assert gone.earlier.line == 11 and gone.later is None


def test_of_two_equal_lines_the_one_that_costs_the_same_stays():
    earlier = [("x=A[i]", load(10, 4, requests=1)), ("x=A[i]", load(20, 4))]
    assert more(earlier, [("x=A[i]", load(20, 4))]) == []


def test_conflicts_of_an_array_are_more_also_where_another_has_fewer():
    earlier = [("As[i]=x", store(10, 1)), ("Bs[i]=y", store(11, 8, "Bs"))]
    later = [("As[j]=x", store(10, 2)), ("Bs[j]=y", store(11, 4, "Bs"))]
    assert more(earlier, later) == [(10, 10)]


def test_loads_and_stores_are_not_the_same():
    stored = replace(load(10, 4), writes=True)
    assert more([("x=A[i]", load(10, 4))], [("A[i]=x", stored)]) == [(0, 10)]
