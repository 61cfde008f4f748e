"""Operands: what A, B and C hold, and the guard zones between them."""

import numpy as np
import pytest

from gemmbench.backends.fake import FakeBackend
from gemmbench.bench import operands
from gemmbench.bench.operands import Arena, cold_sets, make, round_factor, set_bytes
from gemmbench.spec.precision import PRECISIONS
from gemmbench.spec.problem import Problem

ODD = Problem(5, 7, 3)
SHAPES = [ODD, Problem(1, 1, 1), Problem(16, 32, 8), Problem(129, 17, 31, "tt")]


@pytest.fixture
def arena():
    """An arena of three sets with ints in place."""

    def build(problem=ODD, beta=0.0):
        built = Arena(FakeBackend(), problem, 3)
        data = make(problem, "ints", 1)
        built.write_inputs(data, 3)
        built.reset_c(data, beta, 3)
        return built, data

    return build


def floats(arena, start, stop):
    return arena.memory.bytes[start:stop].view(np.float32)


@pytest.mark.parametrize("problem", SHAPES, ids=str)
def test_there_is_nan_around_the_inputs_of_every_set(arena, problem):
    built, _ = arena(problem)
    for at in built.sets:
        for name, start in (("A", at.A), ("B", at.B)):
            end = start + problem.operand_bytes(name)
            assert np.isnan(floats(built, start - 4096, start)).all()
            assert np.isnan(floats(built, end, end + 4096)).all()


@pytest.mark.parametrize("problem", SHAPES, ids=str)
def test_there_is_a_pattern_and_no_nan_around_the_output(arena, problem):
    built, _ = arena(problem)
    for at in built.sets:
        end = at.C + problem.operand_bytes("C")
        around = np.concatenate([floats(built, at.C - 4096, at.C), floats(built, end, end + 4096)])
        assert np.isfinite(around).all() and len(set(around)) == 1


@pytest.mark.parametrize("problem", SHAPES, ids=str)
def test_operands_are_aligned_and_lie_in_every_set_as_they_were_made(arena, problem):
    built, data = arena(problem, beta=2.0)
    assert {getattr(at, name) % 256 for at in built.sets for name in "ABC"} == {0}
    for index, at in enumerate(built.sets):
        for name in "ABC":
            found = floats(built, getattr(at, name), getattr(at, name) + problem.operand_bytes(name))
            assert (found == getattr(data, name).ravel()).all()
        assert (built.read_c(index) == data.C).all()


def test_c_is_nan_everywhere_when_beta_is_0(arena):
    built, data = arena()
    built.reset_c(data, 0.0, 3)
    assert all(np.isnan(built.read_c(index)).all() for index in range(3))


def test_an_untouched_arena_has_no_breach(arena):
    built, _ = arena()
    assert [built.breach(index) for index in range(3)] == ["", "", ""]


@pytest.mark.parametrize("index", [0, 2])
@pytest.mark.parametrize(
    ("name", "side", "words"),
    [
        ("C", "after", "1 bytes after the end of C changed"),
        ("C", "before", "1 bytes before C changed"),
        ("A", "after", "1 bytes after the end of A changed"),
        ("A", "before", "1 bytes before A changed"),
        ("B", "after", "1 bytes after the end of B changed"),
    ],
)
def test_one_byte_written_outside_is_seen_and_placed(arena, index, name, side, words):
    built, _ = arena()
    start = getattr(built.sets[index], name)
    where = start - 1 if side == "before" else start + ODD.operand_bytes(name)
    built.memory.fill(where, 1, 0)
    found = built.breach(index)
    assert found.startswith("wrote outside its output: ") and words in found
    assert built.breach(index) == ""


def test_a_breach_of_one_set_is_no_breach_of_another(arena):
    built, _ = arena()
    built.memory.fill(built.sets[1].C + ODD.operand_bytes("C"), 1, 0)
    assert built.breach(0) == built.breach(2) == ""


def test_a_wide_breach_is_restored_whole_so_that_nobody_else_is_blamed(arena):
    built, _ = arena()
    built.memory.fill(built.sets[0].C + ODD.operand_bytes("C"), 2048, 0)
    assert built.breach() != ""
    assert built.breach() == ""


@pytest.mark.parametrize("sets", [1, 3])
@pytest.mark.parametrize("name", ["A", "B"])
def test_one_byte_of_an_input_that_a_kernel_changed_is_seen(name, sets):
    built, data = Arena(FakeBackend(), ODD, sets), make(ODD, "ints", 1)
    built.write_inputs(data, 1)
    assert built.spoilt(data) == ""
    built.memory.fill(getattr(built.sets[0], name) + ODD.operand_bytes(name) - 1, 1, 0x7F)
    assert built.spoilt(data) == f"changed its input {name}"
    built.write_inputs(data, 1)
    assert built.spoilt(data) == ""


@pytest.mark.parametrize("fill", ["uniform", "normal", "ints"])
def test_a_seed_gives_the_same_data_again_and_another_seed_other_data(fill):
    one, same, other = (make(ODD, fill, seed) for seed in (1, 1, 2))
    assert (one.A == same.A).all() and (one.B == same.B).all() and (one.C == same.C).all()
    assert (one.A != other.A).any()


def test_integers_are_small_and_never_0():
    data = make(Problem(200, 200, 200), "ints", 0)
    for values in (data.A, data.B, data.C):
        assert set(np.unique(values)) == {-2.0, -1.0, 1.0, 2.0}


@pytest.mark.parametrize("name", PRECISIONS)
def test_integer_products_doubled_stay_exact_in_c_at_the_largest_size_of_the_posts(name):
    problem = Problem(48, 48, 16384, precision_name=name)
    ints = make(problem, "ints", 3)
    product = ints.A.astype(np.float64) @ ints.B.astype(np.float64)
    assert np.abs(2 * product).max() <= 2**problem.precision.result_bits
    assert product.any(axis=1).all() and set(np.unique(np.abs(ints.A.astype(float)))) <= {0, 1, 2}


def test_integers_of_32_bits_are_never_0_so_that_no_product_can_hide():
    for name in ("f32", "tf32", "f64"):
        assert (make(Problem(64, 64, 64, precision_name=name), "ints", 0).A != 0).all()


def test_the_fills_are_what_they_are_called():
    cube = Problem(200, 200, 200)
    uniform, normal = make(cube, "uniform", 0).A, make(cube, "normal", 0).A
    assert uniform.min() >= -1 and uniform.max() <= 1
    assert abs(uniform.mean()) < 0.02 and abs(uniform.var() - 1 / 3) < 0.02
    assert abs(normal.mean()) < 0.03 and abs(normal.var() - 1) < 0.05
    assert (make(cube, "zeros", 0).A == 0).all() and (make(cube, "ones", 0).B == 1).all()


@pytest.mark.parametrize("fill", ["uniform", "normal", "zeros", "ones", "ints"])
def test_arrays_have_the_stored_shape_and_type(fill):
    problem = Problem(5, 7, 3, "tn", "tf32")
    data = make(problem, fill, 0)
    assert (data.A.shape, data.B.shape, data.C.shape) == ((3, 5), (3, 7), (5, 7))
    assert {values.dtype.name for values in (data.A, data.B, data.C)} == {"float32"}


def test_rounding_to_tf32_keeps_eleven_bits_to_nearest():
    ulp = 2.0**-10
    given = np.array([1, 1 + ulp, 1 + 0.4 * ulp, 1 + 0.6 * ulp, -1 - 0.6 * ulp, 2 - 0.2 * ulp, 3e-20], np.float32)
    found = round_factor(given, PRECISIONS["tf32"])
    assert found[:6].tolist() == [1, 1 + ulp, 1, 1 + ulp, -1 - ulp, 2]
    assert abs(found[6] / 3e-20 - 1) <= 2.0**-11
    assert (round_factor(given, PRECISIONS["f32"]) == given).all()


def test_factors_of_tf32_problems_are_tf32_numbers():
    data = make(Problem(50, 50, 50, precision_name="tf32"), "uniform", 0)
    for values in (data.A, data.B):
        assert not (values.view(np.uint32) & 0x1FFF).any()
    assert (data.C.view(np.uint32) & 0x1FFF).any()


@pytest.mark.parametrize(
    ("size", "cache", "room", "expected"),
    [
        (64, 1 << 20, 1 << 40, (86, True)),  # 4 MiB over 48 KiB, rounded up
        (4096, 1 << 20, 1 << 40, (2, True)),  # never fewer than two
        (1, 1 << 30, 1 << 40, (1024, False)),  # never more than 1024
        (64, 0, 1 << 40, (2, True)),
    ],
)
def test_enough_sets_rotate_to_cover_four_times_the_cache(size, cache, room, expected):
    assert cold_sets(Problem(size, size, size), cache, room) == expected


def test_too_little_room_gives_fewer_sets_that_are_not_cold():
    cube = Problem(64, 64, 64)
    assert cold_sets(cube, 1 << 20, 5 * set_bytes(cube)) == (5, False)
    assert cold_sets(cube, 1 << 20, 1) == (1, False)


def test_a_set_holds_its_operands_and_guards_of_many_rows():
    cube = Problem(64, 64, 64)
    assert set_bytes(cube) >= cube.bytes + 4 * 128 * 64 * 4
    assert operands.set_bytes(Problem(1, 1, 1)) < 1 << 17


@pytest.mark.parametrize("problem", SHAPES, ids=str)
def test_without_guards_each_operand_is_an_allocation_of_its_exact_size(problem):
    backend = FakeBackend()
    backend.guards, asked, allocate = False, [], backend.allocate
    backend.allocate = lambda *sizes: asked.extend(sizes) or allocate(*sizes)
    built, data = Arena(backend, problem, 2), make(problem, "ints", 1)
    assert asked == [problem.operand_bytes(name) for name in "ABC"] * 2
    assert tuple(at for each in built.sets for at in (each.A, each.B, each.C)) == built.memory.starts
    built.write_inputs(data, 2)
    built.reset_c(data, 2.0, 2)
    assert all((built.read_c(index) == data.C).all() for index in range(2))
    assert (built.breach(0), built.breach(1), built.spoilt(data)) == ("", "", "")
