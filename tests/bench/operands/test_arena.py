"""Operand sets: what A, B and C hold, the guard zones between them, and where they lie."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from gemmbench.backends.fake.backend import FakeBackend
from gemmbench.bench.experiments.workload import gemm_workload, make_inputs
from gemmbench.bench.operands.arena import SLACK, Arena, SetPlacement
from gemmbench.bench.operands.fill import make_operands
from gemmbench.bench.operands.layouts import GemmLayout
from gemmbench.bench.operands.scratch import find_room
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.problems import Problem

ODD = Problem(5, 7, 3)
SHAPES = [ODD, Problem(1, 1, 1), Problem(16, 32, 8), Problem(129, 17, 31, "tt")]


def set_bytes(problem):
    return GemmLayout(problem).guarded.total


@pytest.fixture
def arena():
    """An arena of three sets with ints in place."""

    def build(problem=ODD, beta=0.0):
        built = Arena(FakeBackend(), GemmLayout(problem), 3)
        data = make_operands(problem, "ints", 1)
        inputs = make_inputs(data, beta)
        built.write(inputs, 3)
        built.reset(inputs, 3)
        return built, data

    return build


def floats(arena, start, stop):
    return arena.memory.bytes[start:stop].view(np.float32)


@pytest.mark.parametrize("problem", SHAPES, ids=str)
def test_there_is_nan_around_the_inputs_of_every_set(arena, problem):
    built, _ = arena(problem)
    for at in built.starts:
        for name, start in (("A", at["A"]), ("B", at["B"])):
            end = start + problem.operand_bytes(name)
            assert np.isnan(floats(built, start - 4096, start)).all()
            assert np.isnan(floats(built, end, end + 4096)).all()


@pytest.mark.parametrize("problem", SHAPES, ids=str)
def test_there_is_a_pattern_and_no_nan_around_the_output(arena, problem):
    built, _ = arena(problem)
    for at in built.starts:
        end = at["C"] + problem.operand_bytes("C")
        around = np.concatenate([floats(built, at["C"] - 4096, at["C"]), floats(built, end, end + 4096)])
        assert np.isfinite(around).all() and len(set(around)) == 1


@pytest.mark.parametrize("problem", SHAPES, ids=str)
def test_operands_are_aligned_and_every_set_holds_them_times_its_factor(arena, problem):
    built, data = arena(problem, beta=2.0)
    assert {at[name] % 256 for at in built.starts for name in "ABC"} == {0}
    for at, factor in zip(built.starts, built.factors, strict=True):
        for name, scale in (("A", factor), ("B", 1), ("C", factor)):
            found = floats(built, at[name], at[name] + problem.operand_bytes(name))
            assert (found == scale * getattr(data, name).ravel()).all()


def test_c_is_nan_everywhere_when_beta_is_0(arena):
    built, data = arena()
    built.reset(make_inputs(data, 0.0), 3)
    assert all(np.isnan(built.read(index)).all() for index in range(3))


def test_an_untouched_arena_has_no_breach(arena):
    built, _ = arena()
    assert [built.find_breach(index) for index in range(3)] == ["", "", ""]


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
    start = built.starts[index][name]
    where = start - 1 if side == "before" else start + ODD.operand_bytes(name)
    built.memory.fill(where, 1, 0)
    found = built.find_breach(index)
    assert found.startswith("wrote outside its output: ") and words in found
    assert built.find_breach(index) == ""


@pytest.mark.parametrize("distance", [0, 15, 16, 511, 512, 513, 1024, 3000])
def test_one_byte_is_seen_wherever_it_lies_in_a_guard_zone(arena, distance):
    built, _ = arena()
    built.memory.fill(built.starts[0]["C"] + ODD.operand_bytes("C") + distance, 1, 0)
    assert "1 bytes after the end of C changed" in built.find_breach()


def test_a_breach_of_one_set_is_no_breach_of_another(arena):
    built, _ = arena()
    built.memory.fill(built.starts[1]["C"] + ODD.operand_bytes("C"), 1, 0)
    assert built.find_breach(0) == built.find_breach(2) == ""


def test_a_wide_breach_is_restored_whole_so_that_nobody_else_is_blamed(arena):
    built, _ = arena()
    built.memory.fill(built.starts[0]["C"] + ODD.operand_bytes("C"), 2048, 0)
    assert built.find_breach() != ""
    assert built.find_breach() == ""


@pytest.mark.parametrize("sets", [1, 3])
@pytest.mark.parametrize("name", ["A", "B"])
def test_one_byte_of_an_input_that_a_kernel_changed_is_seen(name, sets):
    built, inputs = Arena(FakeBackend(), GemmLayout(ODD), sets), make_inputs(make_operands(ODD, "ints", 1), 0.0)
    built.write(inputs, 1)
    assert built.find_changed_input(inputs) == ""
    built.memory.fill(built.starts[0][name] + ODD.operand_bytes(name) - 1, 1, 0x7F)
    assert built.find_changed_input(inputs) == f"changed its input {name}"
    built.write(inputs, 1)
    assert built.find_changed_input(inputs) == ""


@pytest.mark.parametrize("sets", [1, 3])
def test_damage_of_the_first_set_since_it_was_sealed_is_named(sets):
    built, inputs = Arena(FakeBackend(), GemmLayout(ODD), sets), make_inputs(make_operands(ODD, "ints", 1), 0.0)
    built.write(inputs, 1)
    built.seal_first_set()
    built.fill_outputs(sets, 7)
    assert built.find_damage_of_first_set(inputs) == ""
    end = built.starts[0]["C"] + ODD.operand_bytes("C")
    built.memory.fill(end, 1, 0)
    assert built.find_damage_of_first_set(inputs).startswith("wrote outside its output: 1 bytes after the end of C")
    assert built.find_damage_of_first_set(inputs) == ""
    built.memory.fill(built.starts[0]["B"], 1, 0x7F)
    assert built.find_damage_of_first_set(inputs) == "changed its input B"


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
    assert gemm_workload(Problem(size, size, size)).count_cold_sets(cache, room) == expected


def test_the_sets_of_a_cpu_take_at_most_512_mib():
    gpu = Target(kind="fake", sm=90, sms=1, smem=0, l2=480 << 20, memory=100 << 30)
    cpu = replace(gpu, kind="cpu", is_gpu=False)
    assert find_room(gpu) == 80 << 30 and find_room(cpu) == 512 << 20
    assert find_room(replace(cpu, memory=100 << 20)) == 80 << 20
    workload = gemm_workload(Problem(1024, 1024, 1024))
    sets, cold = workload.count_cold_sets(cpu.l2, find_room(cpu))
    assert not cold and sets * workload.layout.guarded.total <= 512 << 20


def test_one_set_larger_than_four_caches_is_cold():
    assert gemm_workload(Problem(1024, 1024, 1024)).count_cold_sets(1 << 20, 1) == (1, True)


def test_too_little_room_gives_fewer_sets_that_are_not_cold():
    cube = Problem(64, 64, 64)
    kept = cube.operand_bytes("C")  # a copy of one result
    assert gemm_workload(cube).count_cold_sets(1 << 20, 5 * set_bytes(cube) + kept) == (5, False)
    assert gemm_workload(cube).count_cold_sets(1 << 20, 5 * set_bytes(cube) + kept - 1) == (4, False)
    assert gemm_workload(cube).count_cold_sets(1 << 20, 1) == (1, False)


def test_a_set_holds_its_operands_and_guards_of_many_rows():
    cube = Problem(64, 64, 64)
    assert set_bytes(cube) >= cube.bytes + 4 * 128 * 64 * 4
    assert set_bytes(Problem(1, 1, 1)) < 1 << 17


@pytest.mark.parametrize("problem", SHAPES, ids=str)
def test_without_guards_each_operand_is_an_allocation_of_its_exact_size(problem):
    backend = FakeBackend()
    backend.guards, asked, allocate = False, [], backend.allocate
    backend.allocate = lambda *sizes: asked.extend(sizes) or allocate(*sizes)
    built, data = Arena(backend, GemmLayout(problem), 2), make_operands(problem, "ints", 1)
    assert asked == [problem.operand_bytes(name) for name in "ABCABCC"]  # one more for a copy of a result
    assert tuple(start for starts in built.starts for start in starts.values()) == built.memory.starts[:-1]
    inputs = make_inputs(data, 2.0)
    built.write(inputs, 2)
    built.reset(inputs, 2)
    assert all((built.read(index) == built.factors[index] * data.C).all() for index in range(2))
    built.write(inputs, 1)
    assert (built.find_breach(0), built.find_breach(1), built.find_changed_input(inputs)) == ("", "", "")


@pytest.mark.parametrize(
    ("count", "alignment", "page"),
    [(2, 512, 2 << 20), (8, 512, 2 << 20), (9, 512, 4 << 10), (1000, 512, 4 << 10), (9, 64 << 10, 64 << 10)],
)
def test_sets_begin_at_the_same_place_of_a_page(count, alignment, page):
    placement = SetPlacement(count, 5 * page + 512, alignment)
    bases = placement.find_bases(1536)
    assert len(bases) == count and {base % page for base in bases} == {1536 % page}
    assert all(after - before == 6 * page for before, after in pairwise(bases))


def test_the_last_set_fits_with_the_largest_shift():
    placement = SetPlacement(3, 5000 * 512, 512)
    assert placement.find_bases(SLACK)[-1] + placement.nbytes == placement.total


@pytest.mark.parametrize(("alignment", "least"), [(512, 200), (64 << 10, 30)])
def test_shifts_are_aligned_and_within_the_slack(alignment, least):
    rng, placement = np.random.default_rng(0), SetPlacement(3, 5000 * 512, alignment)
    shifts = [placement.draw_shift(rng) for _ in range(300)]
    assert all(shift % alignment == 0 and 0 <= shift <= SLACK for shift in shifts)
    assert len(set(shifts)) > least
