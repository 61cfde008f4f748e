"""Operand sets: what A, B and C hold, the guard zones between them, and where they lie."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from gemmbench.backends.fake.backend import FakeBackend
from gemmbench.bench.experiments.workload import gemm_workload
from gemmbench.bench.operands.alterations import draw_lines
from gemmbench.bench.operands.arena import Arena, list_set_factors
from gemmbench.bench.operands.layouts import GemmLayout
from gemmbench.bench.operands.operand_values import make_inputs, make_operands
from gemmbench.bench.operands.scratch import Scratch, find_room
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.problems import Problem

ODD = Problem(5, 7, 3)
SHAPES = [ODD, Problem(1, 1, 1), Problem(16, 32, 8), Problem(129, 17, 31, "tt")]


def set_bytes(problem):
    return GemmLayout(problem).guarded.total


def build(problem=ODD, beta=0.0, sets=3, backend=None, shared=False):
    """An arena of sets with ints in place, its data and inputs."""
    arena, data = Arena(backend or FakeBackend(), GemmLayout(problem), sets, shared), make_operands(problem, "ints", 1)
    inputs = make_inputs(data, beta)
    arena.write(inputs, sets)
    arena.reset(inputs, sets)
    return arena, data, inputs


def floats(arena, start, stop):
    return arena.memory.bytes[start:stop].view(np.float32)


@pytest.mark.parametrize("problem", SHAPES, ids=str)
def test_every_set_holds_operands_times_its_factor_with_nan_around_inputs_and_a_pattern_around_the_output(problem):
    arena, data, _ = build(problem, beta=2.0)
    assert {at[name] % 256 for at in arena.starts for name in "ABC"} == {0}
    for at, factor in zip(arena.starts, arena.factors, strict=True):
        for name, scale in (("A", factor), ("B", 1), ("C", factor)):
            start, end = at[name], at[name] + problem.operand_bytes(name)
            assert (floats(arena, start, end) == scale * data[name].ravel()).all()
            around = np.concatenate([floats(arena, start - 4096, start), floats(arena, end, end + 4096)])
            if name == "C":
                assert np.isfinite(around).all() and len(set(around)) == 1
            else:
                assert np.isnan(around).all()


def test_c_is_nan_everywhere_when_beta_is_0():
    arena, *_ = build()
    assert all(np.isnan(arena.read(index)).all() for index in range(3))


@pytest.mark.parametrize("index", [0, 2])
@pytest.mark.parametrize(
    ("name", "place"), [*itertools.product("CA", ("before", "after the end of")), ("B", "after the end of")]
)
def test_one_byte_written_outside_is_seen_placed_restored_and_no_breach_of_another_set(index, name, place):
    arena, *_ = build()
    assert [arena.find_breach(each) for each in range(3)] == ["", "", ""]
    start = arena.starts[index][name]
    arena.memory.fill(start - 1 if place == "before" else start + ODD.operand_bytes(name), 1, 0)
    assert [arena.find_breach(each) for each in range(3) if each != index] == ["", ""]
    found = arena.find_breach(index)
    assert found.startswith("wrote outside its output: ") and f"1 bytes {place} {name} changed" in found
    assert arena.find_breach(index) == ""


@pytest.mark.parametrize("distance", [0, 15, 16, 511, 512, 513, 1024, 3000])
def test_one_byte_is_seen_wherever_it_lies_in_a_guard_zone(distance):
    arena, *_ = build()
    arena.memory.fill(arena.starts[0]["C"] + ODD.operand_bytes("C") + distance, 1, 0)
    assert "1 bytes after the end of C changed" in arena.find_breach()


def test_a_wide_breach_is_restored_whole_so_that_nobody_else_is_blamed():
    arena, *_ = build()
    arena.memory.fill(arena.starts[0]["C"] + ODD.operand_bytes("C"), 2048, 0)
    assert arena.find_breach() != ""
    assert arena.find_breach() == ""


@pytest.mark.parametrize("sets", [1, 3])
@pytest.mark.parametrize("name", ["A", "B"])
def test_one_byte_of_an_input_that_a_kernel_changed_is_seen(name, sets):
    arena, _, inputs = build(sets=sets)
    arena.write(inputs, 1)
    assert arena.find_changed_input(inputs) == ""
    arena.memory.fill(arena.starts[0][name] + ODD.operand_bytes(name) - 1, 1, 0x7F)
    assert arena.find_changed_input(inputs) == f"changed its input {name}"
    arena.write(inputs, 1)
    assert arena.find_changed_input(inputs) == ""


@pytest.mark.parametrize("sets", [1, 3])
def test_damage_of_the_first_set_since_it_was_sealed_is_named(sets):
    arena, _, inputs = build(sets=sets)
    arena.write(inputs, 1)
    arena.seal_first_set()
    arena.fill_outputs(range(sets), 7)
    assert arena.find_damage_of_first_set(inputs) == ""
    end = arena.starts[0]["C"] + ODD.operand_bytes("C")
    arena.memory.fill(end, 1, 0)
    assert arena.find_damage_of_first_set(inputs).startswith("wrote outside its output: 1 bytes after the end of C")
    assert arena.find_damage_of_first_set(inputs) == ""
    arena.memory.fill(arena.starts[0]["B"], 1, 0x7F)
    assert arena.find_damage_of_first_set(inputs) == "changed its input B"


CUBE = Problem(64, 64, 64)
SET, KEPT = set_bytes(CUBE), CUBE.operand_bytes("C")  # a copy of one result is kept


@pytest.mark.parametrize(
    ("size", "cache", "room", "expected"),
    [
        (64, 1 << 20, 1 << 40, (86, True)),  # 4 MiB over 48 KiB, rounded up
        (4096, 1 << 20, 1 << 40, (2, True)),  # never fewer than two
        (1, 1 << 30, 1 << 40, (1024, False)),  # never more than 1024
        (64, 0, 1 << 40, (2, True)),
        (1024, 1 << 20, 1, (1, True)),  # one set is larger than four caches
        (64, 1 << 20, 5 * SET + KEPT, (5, False)),
        (64, 1 << 20, 5 * SET + KEPT - 1, (4, False)),
        (64, 1 << 20, 1, (1, False)),
    ],
)
def test_enough_sets_rotate_to_cover_four_times_the_cache_if_there_is_room(size, cache, room, expected):
    assert gemm_workload(Problem(size, size, size)).count_cold_sets(cache, room) == expected


def test_the_sets_of_a_cpu_take_at_most_512_mib():
    gpu = Target(kind="fake", sm=90, sms=1, smem=0, l2=480 << 20, memory=100 << 30)
    cpu = replace(gpu, kind="cpu", is_gpu=False)
    assert find_room(gpu) == 80 << 30 and find_room(cpu) == 512 << 20
    assert find_room(replace(cpu, memory=100 << 20)) == 80 << 20
    workload = gemm_workload(Problem(1024, 1024, 1024))
    sets, cold = workload.count_cold_sets(cpu.l2, find_room(cpu))
    assert not cold and sets * workload.layout.guarded.total <= 512 << 20


def test_a_set_holds_its_operands_and_guards_of_many_rows():
    assert CUBE.bytes + 4 * 128 * 64 * 4 <= SET
    assert set_bytes(Problem(1, 1, 1)) < 1 << 17


@pytest.mark.parametrize("problem", SHAPES, ids=str)
def test_without_guards_each_operand_is_an_allocation_of_its_exact_size(watch_calls, problem):
    backend, asked = FakeBackend(), []
    backend.guards = False
    watch_calls(FakeBackend, "allocate", lambda self, *sizes: asked.extend(sizes))
    arena, data, inputs = build(problem, 2.0, 2, backend)
    assert asked == [problem.operand_bytes(name) for name in "ABCABCC"]  # one more for a copy of a result
    assert tuple(start for starts in arena.starts for start in starts.values()) == arena.memory.starts[:-1]
    assert all((arena.read(index) == arena.factors[index] * data["C"]).all() for index in range(2))
    arena.write(inputs, 1)
    assert (arena.find_breach(0), arena.find_breach(1), arena.find_changed_input(inputs)) == ("", "", "")


@pytest.mark.parametrize("count", [2, 3, 4, 5, 16, 17, 1024])
def test_the_result_of_a_neighbour_is_wrong(count):
    factors = list_set_factors(count)
    assert all(before != factor for before, factor in zip([factors[-1], *factors], factors, strict=False))
    assert (factors[0], len(factors)) == (1.0, count)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_the_rotation_goes_over_all_sets_twice_and_moves_the_outputs_on_by_one_set(make_plan, count):
    backend, plan = FakeBackend(), make_plan("naive", ODD)
    arena = Arena(backend, GemmLayout(ODD), count)
    (step,) = arena.make_steps([plan], ["code"], Scratch(backend, [plan]), rotates=True)
    own = arena.starts
    moved = [{**one, "C": other["C"]} for one, other in zip(own, own[1:] + own[:1], strict=True)]
    assert list(step.sets) == (own if count == 1 else own + moved)
    assert arena.rotation.stops == len(step.sets)
    (first,) = arena.make_steps([plan], ["code"], Scratch(backend, [plan]), rotates=False)
    assert first.sets == (own[0],)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("windows", [[1] * 40, [3, 4, 1, 2], [7, 7, 30]])
def test_the_arena_knows_which_results_are_where(count, windows):
    arena = Arena(FakeBackend(), GemmLayout(ODD), count)
    outputs, launched = {}, []
    for launches in windows:
        expected = [(number % count, (number % count + number // count % 2) % count) for number in range(200)]
        upcoming = expected[len(launched) : len(launched) + launches]
        assert sorted(arena.list_next_sets(launches)) == sorted({index for index, _ in upcoming})
        arena.rotation.take(launches)
        launched += upcoming
        outputs |= {output: index for index, output in upcoming}
        last = arena.list_last_results(launches)
        assert last[0] == launched[-1]
        assert set(last) == {(outputs[output], output) for _, output in upcoming}
        if len(launched) >= 2 * count:
            there = arena.list_result_factors()
            assert there == tuple(arena.factors[outputs[output]] for output in range(count))


def read_inputs(arena, problem, index):
    shapes = {name: problem.stored_shape(name) for name in "AB"}
    return [arena.memory.array(arena.starts[index][name], shapes[name], np.float32).copy() for name in "AB"]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
def test_an_alteration_changes_signs_where_it_says_and_the_next_one_undoes_it(layout, shared):
    problem, rng = Problem(5, 7, 6, layout), np.random.default_rng(0)
    arena, data = Arena(FakeBackend(), GemmLayout(problem), 3, shared), make_operands(problem, "ints", 1)
    arena.prepare(make_inputs(data, 0.0))
    written = [read_inputs(arena, problem, index) for index in range(3)]
    sets = np.array([2, 0])
    for _ in range(2):
        drawn = draw_lines(rng, arena.layout, sets, shared)
        arena.alter(drawn)
        arena.touch()
        for index in sets:
            (a, b), altered = written[index], drawn.find(index)
            signs_a, signs_b = np.ones((5, 6)), np.ones((6, 7))
            signs_a[altered.rows, altered.inner] = -1
            signs_b[altered.lines] = -1
            now_a, now_b = read_inputs(arena, problem, index)
            assert (now_a == a * (signs_a.T if problem.trans_a else signs_a)).all()
            assert (now_b == b * (signs_b.T if problem.trans_b else signs_b)).all()
            assert (now_b != b).any()
        assert (read_inputs(arena, problem, 1)[0] == written[1][0]).all()
    arena.alter(None)
    for index, pair in enumerate(written):
        assert all((now == before).all() for now, before in zip(read_inputs(arena, problem, index), pair, strict=True))
    assert arena.find_damage() == ""


def test_sets_that_share_b_have_one_b_which_is_scaled_once():
    arena, data, _ = build(sets=2, shared=True)
    assert arena.starts[0]["B"] == arena.starts[1]["B"] and arena.starts[0]["A"] != arena.starts[1]["A"]
    arena.scale_inputs([2.0, -1.0])
    a, b = read_inputs(arena, ODD, 1)
    assert (a == 2 * arena.factors[1] * data["A"]).all() and (b == -data["B"]).all()
