"""The problems of a sweep are made when they are asked for."""

import pytest

from gemmbench.planning.problems import Problem, ProblemGrid


def test_a_grid_has_every_combination_with_shapes_changing_fastest():
    grid = ProblemGrid(("f32", "f64"), ("nn", "tn"), ((1, 2, 3), (4, 4, 4)), 2.0, 1.0)
    assert list(grid) == [grid[index] for index in range(8)] and len(grid) == 8
    assert grid[:2] == (Problem(1, 2, 3, "nn", "f32", 2.0, 1.0), Problem(4, 4, 4, "nn", "f32", 2.0, 1.0))
    assert grid[-1] == Problem(4, 4, 4, "tn", "f64", 2.0, 1.0)
    with pytest.raises(IndexError):
        grid[8]
    assert list(ProblemGrid(("f32",), ("nn",), ())) == []
