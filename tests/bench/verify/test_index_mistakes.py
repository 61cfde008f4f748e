"""Index mistakes are found by computing C again: each is made here by hand, and must be named."""

import numpy as np
import pytest

from gemmbench.bench.operands.operand_values import make_operands
from gemmbench.bench.verify.reference import Reference
from gemmbench.planning.problems import Problem

SHAPE = (31, 61, 97)
SIDE = 16


def diagnose(compute, shape=SHAPE, layout="nn", alpha=2.0):
    problem = Problem(*shape, layout=layout)
    data = make_operands(problem, "ints", 1)
    a, b = (np.append(data[name].astype(float), np.nan) for name in "AB")
    result = alpha * compute(a, b, *shape)
    check = Reference(problem, data, alpha, 0.0).check_exact(result.reshape(shape[:2]).astype(np.float32))
    assert not check.ok
    return check.diagnosis


def walk(sizes="MNK", a=("K", 1), b=("N", 1), c=("N", 1), pointers="AB", backwards=False):
    """What a kernel computes that goes by these sizes and strides; the last thread to write an element wins."""

    def compute(first, second, M, N, K):
        value = {"M": M, "N": N, "K": K}
        one, other = (first, second) if pointers == "AB" else (second, first)
        m, n, k = (value[name] for name in sizes)
        i, j, inner = np.arange(m)[:, None], np.arange(n)[None], np.arange(k)

        def take(flat, address):
            return flat[np.minimum(address, flat.size - 1)]

        def stride(pair):
            return [value.get(each, each) for each in pair]

        (ra, ca), (rb, cb), (rc, cc) = map(stride, (a, b, c))
        product = take(one, i * ra + inner * ca) @ take(other, inner[:, None] * rb + j * cb)
        result = np.full(M * N, np.nan)
        address = (i * rc + j * cc).ravel()
        order = np.flatnonzero(address < M * N)
        for at in order[::-1] if backwards else order:
            result[address[at]] = product.ravel()[at]
        return result

    return compute


def tiles(a="ik", b="kj", c="ij"):
    """What a kernel computes whose tiles are addressed with mixed-up indices."""

    def compute(first, second, M, N, K):
        A = np.pad(first[:-1].reshape(M, K), ((0, SIDE), (0, SIDE)))
        B = np.pad(second[:-1].reshape(K, N), ((0, SIDE), (0, SIDE)))
        result = np.zeros((M + SIDE, N + SIDE))
        inside = np.arange(SIDE)
        at = {"i": inside[:, None, None], "j": inside[None, :, None], "k": inside[None, None]}
        for down in range(0, M, SIDE):
            for across in range(0, N, SIDE):
                tile = np.zeros((SIDE, SIDE))
                for along in range(0, K, SIDE):
                    left = A[down + at[a[0]], along + at[a[1]]]
                    tile += (left * B[along + at[b[0]], across + at[b[1]]]).sum(axis=2)
                result[down : down + SIDE, across : across + SIDE] = tile if c == "ij" else tile.T
        return result[:M, :N]

    return compute


@pytest.mark.parametrize("backwards", [False, True])
def test_a_leading_dimension_of_c_lets_several_threads_write_an_element_in_any_order(backwards):
    found = diagnose(walk(c=("M", 1), backwards=backwards))
    assert found.cause == "index: leading dimension C" and found.is_index_mistake and not found.map
    assert found.words.startswith("as if the leading dimension of C were M instead of N (C[row * M + col])")
    assert found.words.endswith("several threads write the same element")


def test_the_leading_dimension_of_an_input():
    assert "leading dimension of A were N instead of K (A[row * N + k])" in diagnose(walk(a=("N", 1))).words
    wide = diagnose(walk(b=("K", 1)), shape=(17, 120, 97)).words
    assert "leading dimension of B were K instead of N (B[k * K + col])" in wide


@pytest.mark.parametrize(
    ("sizes", "renamed"),
    [
        ("MKN", {"K": "N", "N": "K"}),
        ("NMK", {"N": "M", "M": "N"}),
        ("KNM", {"K": "M", "M": "K"}),
        ("NKM", {"N": "M", "K": "N", "M": "K"}),
    ],
)
def test_sizes_in_each_others_roles(sizes, renamed):
    _, n, k = sizes
    found = diagnose(walk(sizes, (k, 1), (n, 1), (n, 1)))
    assert (found.cause, dict(found.renamed)) == ("index: roles exchanged", renamed)


def test_operands_exchanged():
    found = diagnose(walk("NMK", ("K", 1), ("M", 1), ("M", 1), pointers="BA"))
    assert {"A": "B", "B": "A"}.items() <= found.renamed.items()


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        ({"b": "jk"}, "each 16 x 16 tile of B were read transposed"),
        ({"a": "ki"}, "each 16 x 16 tile of A were read transposed"),
        ({"c": "ji"}, "each 16 x 16 tile of C were stored transposed"),
        ({"a": "kk", "b": "kk"}, "threadIdx.x and threadIdx.y were exchanged in row and column"),
        ({"a": "jk"}, "A[j][k] instead of A[i][k]"),
    ],
)
def test_indices_inside_a_tile(mistake, words):
    found = diagnose(tiles(**mistake))
    assert found.cause == "index: transposed tile" and words in found.words


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda N, K: 8 * K, "advanced by 8 * K"),
        (lambda N, K: 0, "did not advance"),
        (lambda N, K: 7 * N, "advanced by 7 * N"),
    ],
)
def test_a_pointer_that_advances_wrongly(step, words):
    def compute(a, b, M, N, K):
        k = np.arange(K)
        rows = (k // 8 * step(N, K) + k % 8 * N)[:, None] + np.arange(N)
        return a[:-1].reshape(M, K) @ b[np.minimum(rows, b.size - 1)]

    assert words in diagnose(compute, shape=(33, 130, 104)).words


def test_tile_coordinates_exchanged_where_c_is_stored():
    def compute(a, b, M, N, K):
        product, result = a[:-1].reshape(M, K) @ b[:-1].reshape(K, N), np.full(2 * M * N, np.nan)
        for down in range(0, M, 32):
            for across in range(0, N, 32):
                rows, columns = across + np.arange(32)[:, None], down + np.arange(32)
                result[rows * N + columns] = product[down : down + 32, across : across + 32]
        return result[: M * N]

    found = diagnose(compute, shape=(64, 96, 40))
    assert found.cause == "index: tile coordinates exchanged" and "32 x 32 tile" in found.words
    assert "address of C" in found.words


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("operand", ["A", "B"])
def test_rows_of_shared_memory_that_are_shorter_than_the_tile(operand, forward):
    def store(tile):
        flat = np.zeros(SIDE * SIDE)
        places = (np.arange(SIDE)[:, None] * (SIDE - 1) + np.arange(SIDE)).ravel()
        for at in range(SIDE * SIDE) if forward else reversed(range(SIDE * SIDE)):
            flat[places[at]] = tile.ravel()[at]
        return flat[places].reshape(SIDE, SIDE)

    def compute(a, b, M, N, K):
        A = np.pad(a[:-1].reshape(M, K), ((0, SIDE), (0, SIDE)))
        B = np.pad(b[:-1].reshape(K, N), ((0, SIDE), (0, SIDE)))
        result = np.zeros((M + SIDE, N + SIDE))
        for i in range(0, M, SIDE):
            for j in range(0, N, SIDE):
                for k in range(0, K, SIDE):
                    left, right = A[i : i + SIDE, k : k + SIDE], B[k : k + SIDE, j : j + SIDE]
                    left, right = (store(left), right) if operand == "A" else (left, store(right))
                    result[i : i + SIDE, j : j + SIDE] += left @ right
        return result[:M, :N]

    found = diagnose(compute)
    assert (
        f"rows of the tile of {operand} overlapped" in found.words and "15 elements a row, the tile 16" in found.words
    )


@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
def test_noise_has_no_cause_and_no_map(layout):
    found = diagnose(
        lambda a, b, M, N, K: np.random.default_rng(3).integers(-50, 50, (M, N)).astype(float), layout=layout
    )
    assert (found.cause, found.words, found.map) == ("unknown", "", "")


def reordered(rows, columns):
    """A right product whose rows and columns are stored in these orders."""

    def compute(first, second, M, N, K):
        product = np.zeros((M + 64, N + 64))
        product[:M, :N] = first[:-1].reshape(M, K) @ second[:-1].reshape(K, N)
        return product[rows(np.arange(M))[:, None], columns(np.arange(N))[None]]

    return compute


@pytest.mark.parametrize(
    ("rows", "columns", "words"),
    [
        (lambda i: i, lambda j: SHAPE[1] - 1 - j, "as if the columns of C were stored backwards"),
        (
            lambda i: i // 64 * 64 + i % 64 // 4 + i % 4 * 16,
            lambda j: j,
            "as if row i + 16 * m of each 64 rows were stored as row 4 * i + m",
        ),
        (
            lambda i: i // 32 * 32 + i % 32 // 8 + i % 8 * 4,
            lambda j: j // 16 * 16 + j % 16 // 2 + j % 2 * 8,
            "as if row i + 4 * m of each 32 rows were stored as row 8 * i + m and column i + 8 * m of each 16 columns "
            "were stored as column 2 * i + m",
        ),
    ],
)
def test_right_sums_in_other_places_of_c(rows, columns, words):
    found = diagnose(reordered(rows, columns))
    assert (found.cause, found.words) == ("index: places in C", words)
