"""Elements whose sign changes: at places drawn anew, each once, and something of every tile."""

import numpy as np
import pytest

from gemmbench.bench.operands.alterations import UNALTERED, Alteration, draw_elements, draw_lines
from gemmbench.bench.operands.layouts import GemmLayout
from gemmbench.planning.problems import Problem

SHAPES = [Problem(40, 30, 50), Problem(1, 5, 7), Problem(3, 4, 1), Problem(3, 4, 2), Problem(1, 1, 1)]
SETS = np.array([4, 0, 2])


def draw(kind, problem, seed=0, shared=False):
    rng, layout = np.random.default_rng(seed), GemmLayout(problem)
    if kind == "elements":
        return draw_elements(rng, layout, SETS, np.arange(problem.M))
    return draw_lines(rng, layout, SETS, shared)


@pytest.mark.parametrize("problem", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ["elements", "lines"])
def test_no_element_is_drawn_twice_and_all_are_inside(kind, problem):
    drawn = draw(kind, problem)
    for inner, lines in zip(drawn.inner, drawn.lines, strict=True):
        places = set(zip(drawn.rows.tolist(), inner.tolist(), strict=True))
        assert len(places) == len(drawn.rows) > 0
        assert all(0 <= row < problem.M and 0 <= k < problem.K for row, k in places)
        assert len(set(lines)) == len(lines) and all(0 <= line < problem.K for line in lines)


def test_four_elements_change_in_rows_that_may_be_compared():
    drawn = draw_elements(np.random.default_rng(0), GemmLayout(SHAPES[0]), SETS, np.array([3, 5, 8, 13, 21]))
    assert len(drawn.rows) == 4 and set(drawn.rows) < {3, 5, 8, 13, 21}
    assert drawn.lines.size == 0


@pytest.mark.parametrize("problem", SHAPES, ids=str)
def test_lines_change_every_row_of_a_and_every_column_of_b_and_do_not_undo_each_other(problem):
    drawn = draw("lines", problem)
    assert set(drawn.rows) == set(range(problem.M))
    assert drawn.lines.shape[1] == {50: 12, 7: 1, 2: 0, 1: 0}[problem.K]
    assert not any(set(inner) & set(lines) for inner, lines in zip(drawn.inner, drawn.lines, strict=True))


@pytest.mark.parametrize("kind", ["elements", "lines"])
def test_places_differ_from_set_to_set_and_from_draw_to_draw(kind):
    one, other = draw(kind, SHAPES[0]), draw(kind, SHAPES[0], seed=1)
    assert len({inner.tobytes() for inner in [*one.inner, *other.inner]}) == 6


def test_sets_that_share_b_have_the_same_lines():
    drawn = draw("lines", SHAPES[0], shared=True)
    assert len({(inner.tobytes(), lines.tobytes()) for inner, lines in zip(drawn.inner, drawn.lines, strict=True)}) == 1


def test_what_is_altered_is_known_by_set():
    drawn = draw("lines", SHAPES[0])
    found = drawn.find(0)
    assert (found.inner == drawn.inner[1]).all() and (found.lines == drawn.lines[1]).all()
    assert drawn.find(1) is UNALTERED
    assert Alteration.nothing().find(0) is UNALTERED


def test_the_number_of_columns_differs_from_turn_to_turn():
    layout, rng = GemmLayout(SHAPES[0]), np.random.default_rng(0)
    drawn = [draw_lines(rng, layout, SETS, False, turn) for turn in range(13)]
    assert [len(each.rows) // 40 for each in drawn] == [*range(12, 0, -1), 12]
