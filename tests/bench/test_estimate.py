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
    find_shared_host,
    fit_together,
    probe_host,
)
from gemmbench.bench.operands.placement import SLACK
from gemmbench.bench.selection import split_chains
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Config, Geometry, Plan, make_chain
from gemmbench.planning.problems import Problem
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


@pytest.fixture
def estimate(machine):
    """The estimate of a run of these chains, with those variants compiled."""

    def run(chains, *compiled, jobs=()):
        return estimate_run(chains, machine, Policy(), "cublas", Compilers(*compiled), jobs)

    return run


def move_to_host(device):
    return replace(device, target=replace(device.target, kind="cpu", is_gpu=False))


def test_an_estimate_grows_with_the_work_and_ends_at_the_time_limit(sweep, chain):
    assert sweep(chain(size=64)) < sweep(chain(size=4096)) < sweep(chain(size=4096), rounds=100, max_time=1e9)
    until = {"rounds": 10**6, "until": 0.0}
    longer = sweep(chain(size=4096), max_time=2.0, **until) - sweep(chain(size=4096), max_time=1.0, **until)
    assert longer == pytest.approx(1, rel=0.3)  # and as much more for the repeats, of two operand sets


def test_a_round_takes_a_window(sweep, chain):
    one, two = (sweep(chain(size=32), rounds=rounds, until=0.0, max_time=1e9, cache="hot") for rounds in (10, 30))
    assert two - one == pytest.approx(20 * 1.1e-3)  # in five blocks each


def test_every_row_problem_and_operand_set_counts_and_what_is_swept_is_measured_again(sweep, chain):
    assert sweep(chain()) < sweep(chain(), chain("tiled")) < sweep(chain(), chain("tiled"), chain(size=128))
    assert sweep(chain(), cache="hot") < sweep(chain())
    swept = [chain(config={"T": value}) for value in (8, 16)]
    assert sweep(*swept) > sweep(chain("naive"), chain("tiled")) + 0.05


def test_a_busy_host_takes_longer(machine, make_plan):
    chains = (make_chain(replace(make_plan("naive", Problem(256, 256, 256)), device="cpu")),)
    devices = {"cpu": move_to_host(machine.primary)}
    free, busy = (estimate_batch(chains, devices, Policy(), replace(HOST, share=share)) for share in (1.0, 0.25))
    assert busy > 1.5 * free


@pytest.fixture
def estimate_on_cpu(machine, make_plan):
    """Seconds for a GFLOP of a kernel on the CPU device, whose threads compute this many elements of C each."""

    def estimate(size, elements=1, text="", precision="f32", blocks=None):
        plan = make_plan(problem=Problem(size, size, size, precision_name=precision), text=text)
        geometry = Geometry((blocks or size * size // (256 * elements), 1, 1), (16, 16, 1), 0)
        chain = make_chain(replace(plan, device="cpu", geometry=geometry, launches=(("gemm", geometry),)))
        return module._estimate_launch(chain, move_to_host(machine.primary), HOST) / chain.problem.flops * 1e9

    return estimate


def test_a_kernel_whose_threads_compute_more_elements_is_faster_and_one_block_has_one_core(estimate_on_cpu):
    assert 2 < estimate_on_cpu(512, 1) / estimate_on_cpu(512, 32) < 8
    assert estimate_on_cpu(64, 16, blocks=1) == pytest.approx(4 * estimate_on_cpu(512, 16))


def test_lines_that_evict_each_other_slow_a_kernel_without_barriers(estimate_on_cpu):
    assert 3 < estimate_on_cpu(1024) / estimate_on_cpu(992) < 10
    assert estimate_on_cpu(1024, text="__syncthreads();") == pytest.approx(estimate_on_cpu(992), rel=0.1)


def test_numbers_that_the_cpu_converts_take_longer(estimate_on_cpu):
    assert estimate_on_cpu(512, precision="f16") > 2 * estimate_on_cpu(512, precision="bf16")
    assert estimate_on_cpu(512, precision="bf16") == estimate_on_cpu(512)


def test_only_what_is_not_compiled_is_counted(estimate, chain):
    chains = [chain("naive"), chain("tiled"), replace(chain("wmma"), reason="no tensor cores", steps=())]
    none, one, both = estimate(chains), estimate(chains, "naive"), estimate(chains, "naive", "tiled")
    assert (none.kernels, one.kernels, both.kernels) == (2, 1, 0)
    assert none.compiling >= one.compiling > both.compiling == 0
    assert none.seconds - none.compiling == pytest.approx(both.seconds)


def test_transfers_come_on_top_and_a_run_of_nothing_takes_no_time(estimate, chain):
    rows = [chain(), chain("tiled")], "naive", "tiled"
    assert estimate(*rows, jobs=rows[0]).seconds > estimate(*rows).seconds + 4 * 2 * 64 * 1e-3
    assert estimate([]).seconds == 0


def test_the_probe_finds_a_host_that_computes():
    found = probe_host()
    assert found.product > 1e7 and found.copy > 1e7
    assert found.cores >= 1 and 0 < found.share <= 1


def test_other_processes_leave_a_share_of_the_host(monkeypatch):
    monkeypatch.setattr(module, "count_cores", lambda: 2)
    monkeypatch.setattr(module, "average_competitors", lambda seconds: 3.0)
    assert (find_shared_host().cores, find_shared_host().share) == (2, 0.4)


MIB = 1 << 20
KERNEL = Variant("kernel", "", 1, "kernel", ("fake",), ("f32",), ("nn",))


def with_workspace(mib, number=0, variant=KERNEL):
    config = Config((("T", number),))
    return make_chain(Plan(Problem(64, 64, 64), variant, config, "fake", "", None, workspace=mib * MIB))


def split(rows, device):
    """The MiB of the workspaces of each batch on a device; the fake GPU has 0.8 GiB for one."""
    groups = split_chains(rows, "", lambda group: fit_together({"fake": device}, group))
    return [[chain.steps[0].workspace // MIB for chain in group] for group in groups]


def test_every_kernel_has_its_own_workspace_and_a_library_one_for_all_its_rows():
    library = [with_workspace(32, number, CUBLAS) for number in range(3)]
    placed = 2 * SLACK
    assert 232 * MIB < count_fixed_bytes([with_workspace(100), with_workspace(100, 1), *library]) - placed < 233 * MIB
    assert count_fixed_bytes([with_workspace(0)]) == 0


@pytest.mark.parametrize(
    ("workspaces", "batches"),
    [([300] * 5, [[300] * 2, [300] * 2, [300]]), ([0, 2000, 0], [[0], [2000], [0]])],
    ids=["each pair fits", "one fits nowhere"],
)
def test_rows_whose_workspaces_do_not_fit_together_are_in_different_batches_of_a_gpu(workspaces, batches):
    rows = [with_workspace(mib, number) for number, mib in enumerate(workspaces)]
    assert split(rows, describe_fake()) == batches
    assert split(rows, move_to_host(describe_fake())) == [workspaces]  # whatever is free now
