"""What is known of cuBLAS without it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from gemmbench.backends.cuda import cublaslt
from gemmbench.backends.cuda.library_variants import (
    CUBLAS,
    CUBLASLT,
    open_library,
    to_column_major,
)
from gemmbench.errors import NotOffered
from gemmbench.planning.problems import LAYOUTS, Problem


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_column_major_gemm_on_the_same_bytes_gives_the_row_major_product(layout):
    problem = Problem(5, 7, 3, layout)
    random = np.random.default_rng(1)
    A, B = (random.integers(-4, 5, problem.stored_shape(name)).astype(float) for name in "AB")
    expected = (A.T if problem.trans_a else A) @ (B.T if problem.trans_b else B)
    shape = to_column_major(problem)

    def operand(stored: np.ndarray, rows: int, columns: int, transposed: bool, ld: int) -> np.ndarray:
        """What cuBLAS reads: column-major, `ld` elements from column to column."""
        height, width = (columns, rows) if transposed else (rows, columns)
        view = np.reshape(stored.ravel(), (ld, width), order="F")[:height]
        return view.T if transposed else view

    first = operand(B, shape.m, shape.k, shape.trans_b, shape.ld_b)
    second = operand(A, shape.k, shape.n, shape.trans_a, shape.ld_a)
    assert shape.ld_c == problem.N
    np.testing.assert_array_equal((first @ second).ravel(order="F"), expected.ravel())


def test_the_variants_state_their_math_and_workspace():
    for variant in (CUBLAS, CUBLASLT):
        assert (variant.kind, variant.layouts) == ("library", LAYOUTS)
        assert {"f32", "tf32", "3xtf32", "f64", "f16", "bf16"} <= set(variant.precisions)
        assert ("e4m3" in variant.precisions) == (variant is CUBLASLT)
        assert "pedantic" in variant.summary and "32 MiB workspace" in variant.summary
        assert variant.workspace is not None and variant.workspace.value({}) == 32 << 20
    assert CUBLASLT.params == (("ALGO", tuple(range(128))),)
    assert CUBLAS.order < CUBLASLT.order


def test_without_nvmath_the_row_is_skipped_with_the_fix(monkeypatch):
    monkeypatch.setitem(sys.modules, "nvmath.bindings.cublas", None)
    with pytest.raises(NotOffered, match=r"pip install .*nvmath-python"):
        open_library("cublas")


def test_the_heuristic_hears_the_alignment_all_sets_share():
    first = {"A": 1 << 20, "B": (1 << 20) + 64, "C": 4096}
    second = {"A": (1 << 20) + 16, "B": 1 << 21, "C": 8192}
    limits = cublaslt._limit_alignments([first, second])  # column-major, so B comes first, and D is C
    assert limits == dict(zip((f"MIN_ALIGNMENT_{name}_BYTES" for name in "ABCD"), (64, 16, 256, 256), strict=True))
