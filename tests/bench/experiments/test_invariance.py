"""Kernels whose rows depend on more than A and B, at several M on the fake device."""

from dataclasses import replace

import numpy as np
import pytest

from gemmbench.backends.fake.backend import FakeBackend
from gemmbench.backends.fake.script import Script
from gemmbench.bench.experiments.invariance import (
    SKIPPED,
    InvarianceBatch,
    RowBits,
    describe_invariance,
    list_places,
    make_alike_rows,
)
from gemmbench.bench.operands.products import view_factor, view_products
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.errors import BuildError, LaunchTimeout
from gemmbench.planning.manifests.variant import KINDS
from gemmbench.planning.plans.plan import make_chain
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy
from tests.bench.conftest import CODE

HEIGHTS = (1, 7, 64)
PROBLEM = Problem(33, 5, 40)


@pytest.fixture
def compare(make_plan, launch):
    """What is found of a kernel that adds `change` to its result: a function of A, C and the number of the launch."""

    def run(change=lambda a, c, number: 0, count=1, faults=None, built=CODE, blamed=()):
        launches = []

        def multiply(step, at):
            a, b, c = (step._view(at[name], name) for name in "ABC")
            launches.append(at)
            c[:] = (a[..., None] * b[..., None, :, :]).sum(-2) + np.float32(change(a, c, len(launches)))

        launch(multiply)
        plans = [make_plan("bad", replace(PROBLEM, M=M, count=count), kinds=KINDS) for M in HEIGHTS]
        chains = tuple(map(make_chain, plans))
        batch = InvarianceBatch(policy=Policy(), chains=chains, built=((built,),) * len(chains))
        for number, fault in dict(blamed).items():
            batch = batch.blame(number, fault)
        return LocalWorker({"fake": FakeBackend(Script(faults=faults or {}))}).experiment(batch)

    return run


def add_to(rows):
    """One more in these rows of C."""

    def change(a, c, number):
        added = np.zeros(c.shape, np.float32)
        added[..., rows, :] = 1
        return added

    return change


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a, c, number: 0, "invariant"),
        (lambda a, c, number: a.shape[-2] > 7, "depends on M: 64 differs from 1"),
        (lambda a, c, number: a.shape[-2], "depends on M: 7 and 64 differ from 1"),
        (add_to(slice(6, None)), "depends on the row's place at M = 7 and 64"),
        (lambda a, c, number: number, "depends on the launch: equal ones differ at M = 1, 7 and 64"),
    ],
)
def test_what_the_bits_of_a_row_depend_on_is_told(compare, change, words, count):
    assert describe_invariance(compare(change, count)) == words


def test_a_row_that_follows_its_neighbour_is_told(compare):
    words = describe_invariance(compare(lambda a, c, number: np.abs(a[1:2]).sum()))
    assert words == "depends on M: 7 and 64 differ from 1; on other rows or products at M = 7 and 64"


def test_a_row_that_follows_another_product_is_told(compare):
    found = compare(lambda a, c, number: np.abs(a[1]).sum(), count=3)
    assert [each.others for each in found] == [True] * 3 and not any(each.launch or each.place for each in found)


def test_what_fails_and_what_is_skipped_is_told_with_its_reason(compare):
    found = compare(faults={"bad": "crash"})
    skipped = RowBits(2, status=SKIPPED)
    assert (
        describe_invariance([*found, skipped]) == "unknown (M = 1, 7, 64: failed: crashed, as scripted; M = 2: skipped)"
    )
    assert describe_invariance([RowBits(1, "bits"), skipped]) == "invariant (M = 2: skipped)"
    assert {each.reason for each in compare(built=BuildError("no code"))} == {"no code"}


def test_a_launch_that_killed_an_earlier_process_is_not_repeated(compare):
    found = compare(blamed={1: LaunchTimeout("did not end")})
    assert [each.status for each in found] == ["ok", "timeout", "ok"]
    assert describe_invariance(found) == "invariant (M = 7: timeout: did not end)"


@pytest.mark.parametrize("layout", ["nn", "tt"])
@pytest.mark.parametrize("count", [1, 3])
def test_a_row_and_b_are_the_same_at_every_height_and_the_rest_is_not(layout, count):
    one = make_alike_rows(replace(PROBLEM, layout=layout, M=1), 0, 1)
    row, b = view_factor(replace(PROBLEM, layout=layout, M=1), one, "A")[0][0], one["B"]
    several = replace(PROBLEM, layout=layout, M=129, count=count)
    first, second = (make_alike_rows(several, 0, number) for number in (1, 2))
    assert list_places(129) == [0, 16, 64, 77, 128] and list_places(7) == [0, 3, 6]
    for product in (0, count - 1):
        for operands in (first, second):
            assert (view_factor(several, operands, "A")[product][list_places(129)] == row).all()
            assert (view_products(several, operands, "B")[product] == b).all()
    unlike = view_factor(several, first, "A").all != view_factor(several, second, "A").all
    assert unlike[:, 1:16].mean() > 0.99
    assert count == 1 or (view_products(several, first, "B")[1] != view_products(several, second, "B")[1]).mean() > 0.99
    assert np.mean(row.view(np.uint32) & 1) > 0.2  # all bits of a significand are used
