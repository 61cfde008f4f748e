"""How long a run takes, and whether its rows fit on a device, by plans on paper and round numbers."""

from dataclasses import replace

import pytest

from gemmbench.backends import registry
from gemmbench.backends.cuda.library_variants import CUBLAS
from gemmbench.backends.fake.entry import describe_fake
from gemmbench.bench import estimate as module
from gemmbench.bench.estimate import (
    HostSpeed,
    count_fixed_bytes,
    estimate_batch,
    estimate_run,
    estimate_sweep,
    fit_together,
    probe_host,
)
from gemmbench.bench.selection import split_chains
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Config, Plan, make_chain
from gemmbench.planning.problems import PanelCut, Problem
from gemmbench.planning.sweeps.policy import Policy

HOST = HostSpeed(product=1e10, copy=1e10, cores=4, share=1.0)


class Compilers(dict):
    """Every device's compiler, which has compiled some variants."""

    def __init__(self, *compiled):
        super().__init__(fake=self, cpu=self)
        self.compiled = compiled

    def is_compiled(self, plan):
        return plan.variant.name in self.compiled


@pytest.fixture
def machine(monkeypatch):
    monkeypatch.setattr(module, "probe_host", lambda: HOST)
    return registry.describe_machine(registry.choose_device("fake"))


@pytest.fixture
def chain(make_plan):
    return lambda name="naive", size=64, **changed: make_chain(make_plan(name, Problem(size, size, size), **changed))


@pytest.fixture
def sweep(machine):
    """Seconds of a sweep on the fake device."""
    return lambda *chains, **policy: estimate_sweep(chains, machine.devices, Policy(**policy), "cublas", HOST)


def test_an_estimate_grows_with_the_work_and_ends_at_the_time_limit(sweep, chain):
    assert sweep(chain(size=64)) < sweep(chain(size=4096)) < sweep(chain(size=4096), rounds=100, max_time=1e9)
    until = {"rounds": 10**6, "until": 0.0}
    longer = sweep(chain(size=4096), max_time=2.0, **until) - sweep(chain(size=4096), max_time=1.0, **until)
    assert longer == pytest.approx(1, rel=0.3)  # and as much more for the repeats, of two operand sets


def test_a_round_takes_a_window(sweep, chain):
    one, two = (sweep(chain(size=32), rounds=rounds, until=0.0, max_time=1e9, cache="hot") for rounds in (10, 30))
    assert two - one == pytest.approx(20 * 1.1e-3)  # in five blocks each


def test_every_row_and_every_problem_counts(sweep, chain):
    one = sweep(chain())
    assert one < sweep(chain(), chain("tiled")) < sweep(chain(), chain("tiled"), chain(size=128))


def test_what_is_swept_is_measured_again(sweep, chain):
    swept = [chain(config={"T": value}) for value in (8, 16)]
    apart = [chain("naive"), chain("tiled")]
    assert sweep(*swept) > sweep(*apart) + 0.05


def test_a_hot_cache_needs_one_operand_set(sweep, chain):
    assert sweep(chain(), cache="hot") < sweep(chain())


def test_a_busy_host_takes_longer(machine, chain):
    batch = (make_cpu(chain(size=256)),)
    devices = {"cpu": replace(machine.primary, target=replace(machine.primary.target, kind="cpu", is_gpu=False))}
    free, busy = (estimate_batch(batch, devices, Policy(), replace(HOST, share=share)) for share in (1.0, 0.25))
    assert busy > 1.5 * free


def make_cpu(chain):
    steps = tuple(replace(step, device="cpu") for step in chain.steps)
    return replace(chain, device="cpu", steps=steps)


def test_only_what_is_not_compiled_is_counted(machine, chain):
    chains = [chain("naive"), chain("tiled"), replace(chain("wmma"), reason="no tensor cores", steps=())]

    def estimate(*compiled):
        return estimate_run(chains, machine, Policy(), "cublas", Compilers(*compiled))

    none, one, both = estimate(), estimate("naive"), estimate("naive", "tiled")
    assert (none.kernels, one.kernels, both.kernels) == (2, 1, 0)
    assert none.compiling >= one.compiling > both.compiling == 0
    assert none.seconds - none.compiling == pytest.approx(both.seconds)


def test_transfers_come_on_top(machine, chain):
    chains, compilers = [chain(), chain("tiled")], Compilers("naive", "tiled")
    without = estimate_run(chains, machine, Policy(), "cublas", compilers).seconds
    with_transfers = estimate_run(chains, machine, Policy(), "cublas", compilers, PanelCut(8, 3)).seconds
    assert with_transfers > without + 4 * 2 * 64 * 1e-3


def test_a_run_of_nothing_takes_no_time(machine):
    assert estimate_run([], machine, Policy(), "cublas", Compilers()).seconds == 0


def test_the_probe_finds_a_host_that_computes():
    found = probe_host()
    assert found.product > 1e7 and found.copy > 1e7
    assert found.cores >= 1 and 0 < found.share <= 1


MIB = 1 << 20
KERNEL = Variant("kernel", "", 1, "kernel", ("fake",), ("f32",), ("nn",))


def chain_with_workspace(workspace, number=0, variant=KERNEL):
    config = Config((("T", number),))
    return make_chain(Plan(Problem(64, 64, 64), variant, config, "fake", "", None, workspace=workspace))


@pytest.fixture
def devices():
    """A GPU with 0.8 GiB for a batch."""
    return {"fake": describe_fake()}


def test_every_kernel_has_its_own_workspace_and_a_library_one_for_all_its_rows():
    rows = [
        chain_with_workspace(100 * MIB),
        chain_with_workspace(100 * MIB, 1),
        *(chain_with_workspace(32 * MIB, number, CUBLAS) for number in range(3)),
    ]
    assert 232 * MIB < count_fixed_bytes(rows) < 233 * MIB
    assert count_fixed_bytes([chain_with_workspace(0)]) == 0


def test_rows_whose_workspaces_do_not_fit_together_are_in_different_batches(devices):
    rows = [chain_with_workspace(300 * MIB, number) for number in range(5)]
    assert fit_together(devices, rows[:2]) and not fit_together(devices, rows[:3])
    groups = split_chains(rows, "", lambda group: fit_together(devices, group))
    assert [len(group) for group in groups] == [2, 2, 1]


def test_a_row_that_does_not_fit_alone_is_alone(devices):
    rows = [chain_with_workspace(0), chain_with_workspace(2000 * MIB, 1), chain_with_workspace(0, 2)]
    groups = split_chains(rows, "", lambda group: fit_together(devices, group))
    assert [[each.steps[0].workspace for each in group] for group in groups] == [[0], [2000 * MIB], [0]]


def test_the_batches_of_a_cpu_do_not_depend_on_what_is_free(devices):
    device = devices["fake"]
    host = replace(device, target=replace(device.target, is_gpu=False))
    assert fit_together({"fake": host}, [chain_with_workspace(2000 * MIB)])
