"""Whether rows fit on a device together."""

from dataclasses import replace

import pytest

from gemmbench.backends.cuda.library_variants import CUBLAS
from gemmbench.backends.fake.entry import describe_fake
from gemmbench.bench.estimate import count_fixed_bytes, fit_together
from gemmbench.bench.selection import split_chains
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Config, Plan, make_chain
from gemmbench.planning.problems import Problem

MIB = 1 << 20
KERNEL = Variant("kernel", "", 1, "kernel", ("fake",), ("f32",), ("nn",))


def chain(workspace, number=0, variant=KERNEL):
    config = Config((("T", number),))
    return make_chain(Plan(Problem(64, 64, 64), variant, config, "fake", "", None, workspace=workspace))


@pytest.fixture
def devices():
    """A GPU with 0.8 GiB for a batch."""
    return {"fake": describe_fake()}


def test_every_kernel_has_its_own_workspace_and_a_library_one_for_all_its_rows():
    rows = [chain(100 * MIB), chain(100 * MIB, 1), *(chain(32 * MIB, number, CUBLAS) for number in range(3))]
    assert 232 * MIB < count_fixed_bytes(rows) < 233 * MIB
    assert count_fixed_bytes([chain(0)]) == 0


def test_rows_whose_workspaces_do_not_fit_together_are_in_different_batches(devices):
    rows = [chain(300 * MIB, number) for number in range(5)]
    assert fit_together(devices, rows[:2]) and not fit_together(devices, rows[:3])
    groups = split_chains(rows, "", lambda group: fit_together(devices, group))
    assert [len(group) for group in groups] == [2, 2, 1]


def test_a_row_that_does_not_fit_alone_is_alone(devices):
    rows = [chain(0), chain(2000 * MIB, 1), chain(0, 2)]
    groups = split_chains(rows, "", lambda group: fit_together(devices, group))
    assert [[each.steps[0].workspace for each in group] for group in groups] == [[0], [2000 * MIB], [0]]


def test_the_batches_of_a_cpu_do_not_depend_on_what_is_free(devices):
    device = devices["fake"]
    host = replace(device, target=replace(device.target, is_gpu=False))
    assert fit_together({"fake": host}, [chain(2000 * MIB)])
