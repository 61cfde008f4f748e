"""The workspaces of a row: what they hold, and what is noticed."""

from dataclasses import replace

import numpy as np
import pytest

from gemmbench.backends.fake.backend import FakeBackend
from gemmbench.bench.operands.scratch import Scratch, count_scratch_bytes
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Config, Plan
from gemmbench.planning.problems import Problem

RNG = np.random.default_rng(0)
VARIANT = Variant("test", "", 1, "kernel", ("fake",), ("f32",), ("nn",))


def make_plan(workspace, zeroed=0, state=False):
    variant = replace(VARIANT, state=state)
    return Plan(Problem(8, 8, 8), variant, Config(), "fake", "", None, workspace=workspace, zeroed=zeroed)


@pytest.fixture
def make():
    """Scratch of steps with these arguments of make_plan, and its bytes."""

    def make(*steps):
        scratch = Scratch(FakeBackend(), [make_plan(*step) for step in steps])
        return scratch, [place and place.memory.bytes[place.offset :] for place in scratch.places]

    return make


def test_every_step_has_a_workspace_of_its_own_with_zeros_as_declared_and_nan_beyond(make):
    _, (first, none, last) = make((3000, 1000), (0,), (4096, 4096))
    assert not first[:1000].any() and (first[1000:3000] == 0xFF).all()
    assert np.isnan(first[1000:3000].view(np.float32)).all()
    assert none is None and not last[:4096].any()
    assert count_scratch_bytes([make_plan(512), make_plan(4096)]) > 4608


def test_a_row_without_a_workspace_has_no_scratch(make):
    scratch, places = make((0,), (0,))
    assert places == [None, None] and scratch.find_fault() == "" and count_scratch_bytes([make_plan(0)]) == 0
    scratch.poison()
    scratch.free()


def test_between_launches_it_is_filled_with_nan_again_but_for_the_zeroed_bytes(make):
    scratch, (found,) = make((2048, 1024))
    found[:2048] = 7
    scratch.poison()
    assert (found[:1024] == 7).all() and (found[1024:2048] == 0xFF).all()
    scratch.prepare()
    assert not found[:1024].any() and (found[1024:2048] == 0xFF).all()


def test_placed_anew_it_lies_elsewhere_and_is_ready_and_guarded_again(make):
    scratch, (first,) = make((2048, 1024))
    first[:2048] = 7
    offsets = {scratch.places[0].offset}
    for _ in range(3):
        scratch.place(RNG)
        place = scratch.places[0]
        found = place.memory.bytes[place.offset :]
        assert not found[:1024].any() and (found[1024:2048] == 0xFF).all() and scratch.find_fault() == ""
        found[2048] = 7
        assert "after the end of the workspace" in scratch.find_fault()
        offsets.add(place.offset)
    assert len(offsets) == 4


def test_declared_state_is_left_alone(make):
    scratch, (found,) = make((2048, 1024, True))
    found[:2048] = 7
    scratch.poison()
    assert (found[:2048] == 7).all() and scratch.find_fault() == ""


@pytest.mark.parametrize("at", [-4, 2000, 2047])
def test_a_write_beside_a_workspace_is_named_and_repaired(make, at):
    scratch, _ = make((2000,), (512,))
    place = scratch.places[0]
    place.memory.bytes[place.offset + at] = 1
    fault = scratch.find_fault()
    side = "before" if at < 0 else "after the end of"
    assert fault.startswith("wrote outside its workspace: 1 bytes") and side in fault
    assert scratch.find_fault() == ""


def test_zeroed_bytes_that_are_not_zero_again_are_named_and_repaired(make):
    scratch, (found,) = make((2048, 1024))
    found[1023] = 1
    assert scratch.find_fault() == (
        "left values in the first 1024 bytes of its workspace, which `zeroed` declares to be zero; reset them, or "
        "declare `state: true`"
    )
    assert scratch.find_fault() == "" and not found[:1024].any()


def test_a_tool_watches_allocations_of_the_exact_size(watch_calls):
    backend, asked = FakeBackend(), []
    backend.guards = False
    watch_calls(FakeBackend, "allocate", lambda self, *sizes: asked.append(sizes))
    scratch = Scratch(backend, [make_plan(100), make_plan(0), make_plan(200)])
    assert asked == [(100, 200)] and [place and place.offset for place in scratch.places] == [0, None, 512]
    assert scratch.find_fault() == ""
    scratch.place(RNG)
    assert [place and place.offset for place in scratch.places] == [0, None, 512]
