"""Products in stacked arrays: which rows belong to which, and runs of products with equal shapes."""

import numpy as np
import pytest

from gemmbench.bench.operands.products import (
    find_products,
    split_products,
    view_factor,
    view_products,
    view_scaled_factor,
)
from gemmbench.planning.problems import Problem

GROUPS = Problem(9, 4, 3, "nt", groups=(0, 5, 0, 2, 2, 0))


def make_operands(problem):
    """Numbered elements of each operand, with the rows of all products stacked."""
    return {
        each.name: np.arange(each.rows * each.shape[-1], dtype=np.float32).reshape(each.rows, -1)
        for each in problem.operands
    }


def test_each_row_belongs_to_the_last_product_that_begins_before_it():
    product, row = find_products(GROUPS, np.arange(9))
    assert product.tolist() == [1] * 5 + [3] * 2 + [4] * 2
    assert row.tolist() == [0, 1, 2, 3, 4, 0, 1, 0, 1]
    product, row = find_products(Problem(3, 4, 5, count=4), np.array([0, 5, 11]))
    assert (product.tolist(), row.tolist()) == ([0, 1, 3], [0, 2, 2])


def test_runs_have_products_of_equal_shapes_and_about_as_many_elements_as_asked():
    runs = [(each.start, each.stop) for each in split_products(GROUPS, 1000)]
    assert runs == [(0, 1), (1, 2), (2, 3), (3, 5), (5, 6)]
    assert [(each.start, each.stop) for each in split_products(Problem(3, 4, 5, count=7), 60)] == [
        (0, 3),
        (3, 6),
        (6, 7),
    ]


@pytest.mark.parametrize("problem", [GROUPS, Problem(3, 4, 5, "tt", count=4), Problem(3, 4, 5, "tn")], ids=str)
def test_products_are_where_the_slices_say(problem):
    operands = make_operands(problem)
    a, b = (view_factor(problem, operands, name) for name in "AB")
    c = view_products(problem, operands, "C")
    stacked = a.take_rows(np.arange(problem.rows))
    first = 0
    for number, one in enumerate(problem.slices):
        assert a[number].shape == (one.M, problem.K) and b[number].shape == (problem.K, problem.N)
        assert (a[number] == stacked[first : first + one.M]).all()
        assert (c[number] == operands["C"][first : first + one.M]).all()
        first += one.M
    assert b.all.shape == (len(problem.slices), problem.K, problem.N)
    assert b[1 % len(problem.slices)].max() < b[len(problem.slices) - 1].max() or len(problem.slices) == 1


@pytest.mark.parametrize("layout", ["nt", "tn"])
@pytest.mark.parametrize("name", ["e4m3_tensor", "e4m3_rows", "e4m3_blocks"])
def test_each_element_of_a_factor_is_multiplied_with_the_scale_of_its_rows_and_k(name, layout):
    problem = Problem(3, 130, 257, layout, name)
    operands, scales = make_operands(problem), problem.precision.scales
    scale_a, scale_b = operands["scale_a"] + 1, operands["scale_b"] + 1
    operands |= {"A": np.ones_like(operands["A"]), "B": np.ones_like(operands["B"])}
    operands |= {"scale_a": scale_a, "scale_b": scale_b}
    a, b = (view_scaled_factor(problem, operands, name)[0] for name in "AB")
    depth, rows, columns = scales.depth or 257, scales.rows or 3, scales.columns or 130
    for line, k in ((0, 0), (2, 127), (1, 128), (2, 256)):
        assert a[line, k] == scale_a[k // depth, line // rows]
    for line, k in ((0, 0), (127, 128), (128, 127), (129, 256)):
        place = (line // columns, k // depth) if columns > 1 and scales.depth else (k // depth, line // columns)
        assert b[k, line] == scale_b[place]
