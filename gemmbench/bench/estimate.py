"""How long a sweep takes, estimated from its plans and a short probe of the host; nothing is launched.

Every phase of an experiment has its term. The constants are typical of an H200 with 16 cores and of
a server with 2 cores; most runs there took between half of the estimate and twice as long.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gemmbench.backends.base import Compiler, Device
from gemmbench.backends.machine import Machine
from gemmbench.bench.experiments.context import FIRST_WARM_SECONDS, WARM_SECONDS
from gemmbench.bench.experiments.splitting import choose_finalists, split_chains
from gemmbench.bench.host_probe import HostSpeed, probe_host
from gemmbench.bench.operands.cold_sets import count_cold_sets, find_room
from gemmbench.bench.operands.layouts import GemmLayout, NetworkLayout
from gemmbench.bench.record import MODES
from gemmbench.planning.plans.chain import Chain, list_plans
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.problems.panels import PanelCut
from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.sweeps.policy import Policy


@dataclass(frozen=True)
class _Habits:
    """What is typical of a kind of device.

    Seconds to open it, compile a kernel, bind a row and make an operand set ready; the modes of an
    exact verification; the rounds until an interval is narrow; the share of `policy`'s warm-up.
    """

    open: float
    compile: float
    bind: float
    set: float
    modes: int
    rounds: int
    warm: float


TYPICAL_HOST = HostSpeed(product=2e10, copy=5e9, cores=8, share=1.0)
"""For proportions between batches, where a probe of the host would take too long."""

_GPU = _Habits(open=1.8, compile=0.8, bind=0.002, set=1e-4, modes=1, rounds=20, warm=0.05)
_CPU = _Habits(open=0.1, compile=1.5, bind=0.015, set=2e-5, modes=2, rounds=64, warm=0.5)

_START = 0.7  # of the program
_FILL, _JUDGE = 2e8, 2e8  # elements/s and core that are filled at random, and that are compared
_LIBRARY_SHARE, _KERNEL_SHARE = 0.7, 0.15  # of the peak of a GPU
_UNKNOWN_PEAK = 1e13
_LAUNCH = 3e-6
_BUS = 1e10  # bytes/s between host and GPU, of all modes together
_KERNEL_RATE, _LOOP_RATE = 4e9, 2e9  # flops/s and core of a kernel on the CPU, and of a C++ loop
_LIBRARY_FACTOR = 1.8  # float32 products next to float64
_FEW, _ALL = 128, 1024**3  # rows that are verified of a large problem, and what is small
_VECTORS = 32


@dataclass(frozen=True)
class Estimate:
    """Seconds of a run, and how much of it is compiling; `kernels` are not in the cache yet."""

    seconds: float
    compiling: float
    kernels: int

    def __add__(self, other: Estimate) -> Estimate:
        """Both runs, one after the other."""
        kernels = self.kernels + other.kernels
        return Estimate(self.seconds + other.seconds, self.compiling + other.compiling, kernels)


def estimate_run(
    chains: Sequence[Chain],
    machine: Machine,
    policy: Policy,
    baseline: str,
    compilers: Mapping[str, Compiler],
    cut: PanelCut | None = None,
) -> Estimate:
    """Estimate a run of these rows, after a short probe of the host. Raises DeviceError without a compiler."""
    able = [chain for chain in chains if not chain.reason]
    host = probe_host()
    costs = [_habits(machine.devices[plan.device]).compile for plan in _list_missing(list_plans(able), compilers)]
    compiling = max(sum(costs) / (host.cores * host.share), max(costs, default=0.0))
    measuring = estimate_sweep(able, machine.devices, policy, baseline, host) if able else 0.0
    copying = estimate_transfers(able, machine, policy, host) if cut else 0.0
    return Estimate(compiling + measuring + copying, compiling, len(costs))


def _list_missing(plans: Sequence[Plan], compilers: Mapping[str, Compiler]) -> list[Plan]:
    """One plan for each code that is not compiled yet."""
    distinct = {(plan.device, plan.variant.name, plan.symbols, plan.arch, plan.defines): plan for plan in plans}
    return [plan for plan in distinct.values() if not compilers[plan.device].is_compiled(plan)]


def estimate_sweep(
    chains: Sequence[Chain], devices: Mapping[str, Device], policy: Policy, baseline: str, host: HostSpeed
) -> float:
    """Seconds to open the devices, and to verify and measure the rows; without compiling."""
    opening = sum(_habits(devices[name]).open for name in {chain.device for chain in chains})
    batches = split_chains(chains, baseline)
    measuring = sum(estimate_batch(batch, devices, policy, host, not number) for number, batch in enumerate(batches))
    return _START + opening + measuring + estimate_finals(chains, devices, policy, baseline, host)


def estimate_finals(
    chains: Sequence[Chain], devices: Mapping[str, Device], policy: Policy, baseline: str, host: HostSpeed
) -> float:
    """Seconds to measure the best configuration of every kernel again."""
    finals = choose_finalists(chains, lambda chain: _estimate_launch(chain, devices[chain.device], host), baseline)
    return sum(estimate_batch(batch, devices, policy, host) for batch in split_chains(finals, baseline))


def estimate_transfers(chains: Sequence[Chain], machine: Machine, policy: Policy, host: HostSpeed) -> float:
    """Seconds to measure whole jobs: every mode of the best configuration of a kernel."""
    jobs = {(chain.problem, chain.name): chain for chain in chains if chain.device == machine.choice.primary}
    seconds = 0.0
    for chain in jobs.values():
        work = _Work.of(chain)
        job = work.touched / _BUS + _estimate_launch(chain, machine.primary, host)
        timing = min(policy.max_time, policy.rounds * max(job, policy.window))
        seconds += len(MODES) * (timing + 3 * job + work.estimate_judgement(host))
    return seconds


def estimate_batch(
    chains: Sequence[Chain], devices: Mapping[str, Device], policy: Policy, host: HostSpeed, first: bool = False
) -> float:
    """Seconds for one batch; the `first` one of a run warms up for longer."""
    names = {chain.device for chain in chains}
    together = [[chain for chain in chains if chain.device == name] for name in names]
    return sum(_estimate_experiment(group, devices[group[0].device], policy, host, first) for group in together)


def _estimate_experiment(
    chains: Sequence[Chain], device: Device, policy: Policy, host: HostSpeed, first: bool
) -> float:
    habits, work = _habits(device), _Work.of(chains[0])
    sets = 1 if policy.cache == "hot" else work.count_sets(device)
    speed = device.bandwidth or host.copy / 2
    operands = sets * (habits.set + 2 * work.set_bytes / speed) + work.estimate_filling(host)
    limit = FIRST_WARM_SECONDS if first else WARM_SECONDS
    launches = [_estimate_launch(chain, device, host) for chain in chains]
    windows = sum(max(launch, policy.window) for launch in launches)
    warm = habits.warm * limit + windows
    rows = sum(_estimate_row(launch, sets, work, policy, habits, host, speed) for launch in launches)
    return operands + work.estimate_references(host) + warm + rows


def _estimate_row(
    launch: float, sets: int, work: _Work, policy: Policy, habits: _Habits, host: HostSpeed, speed: float
) -> float:
    window = 1.1 * max(launch, policy.window)
    rounds = min(policy.rounds, habits.rounds) if policy.until else policy.rounds
    timing = min(policy.max_time, rounds * window)
    verified = work.exact_cases * habits.modes + 1
    verifying = verified * (habits.bind + launch + work.estimate_judgement(host))
    copies = min(sets, max(policy.max_time / launch, 2))
    repeating = habits.bind + copies * (launch + 3 * work.result_bytes / speed + 2 * habits.set)
    return verifying + 2 * launch + 2 * window + timing + repeating + policy.energy


@dataclass(frozen=True)
class _Work:
    """What a batch computes: bytes of an operand set and of its parts, elements, what verifies it."""

    problem: Problem
    set_bytes: int
    touched: int
    result_bytes: int
    exact_cases: int
    small: bool

    @classmethod
    def of(cls, chain: Chain) -> _Work:
        """What the batch of this chain computes."""
        network, problem = chain.network, chain.problem
        if network:
            total = NetworkLayout(network).guarded.total
            return cls(problem, total, network.bytes, 4 * network.batch * network.sizes[-1], 3, True)
        touched = sum(problem.operand_bytes(name) for name in "ABC")
        small = problem.M * problem.N * problem.K <= _ALL
        cases = 2 if problem.beta else 1
        return cls(problem, GemmLayout(problem).guarded.total, touched, problem.operand_bytes("C"), cases, small)

    @property
    def elements(self) -> int:
        """Of A, B and C."""
        return sum(math.prod(self.problem.shape(name)) for name in "ABC")

    def count_sets(self, device: Device) -> int:
        """Operand sets that keep every launch cold."""
        target = device.target
        return count_cold_sets(self.touched, self.set_bytes, target.l2, find_room(target))[0]

    def estimate_references(self, host: HostSpeed) -> float:
        """Seconds to make the right results: three products, or some rows of two and a few vectors."""
        M, N, K = self.problem.M, self.problem.N, self.problem.K
        flops = 6 * M * N * K if self.small else 4 * _FEW * N * K + 4 * _VECTORS * (M * K + K * N)
        return flops / (host.product * host.cores * host.share) + 2 * self.estimate_filling(host)

    def estimate_filling(self, host: HostSpeed) -> float:
        """Seconds to make A, B and C on the host."""
        return self.elements / (_FILL * host.cores * host.share)

    def estimate_judgement(self, host: HostSpeed) -> float:
        """Seconds to read a result and to compare it."""
        cells = self.problem.M * self.problem.N
        compared = cells if self.small else cells / 8
        return self.result_bytes / host.copy + compared / _JUDGE


def _habits(device: Device) -> _Habits:
    return _GPU if device.target.is_gpu else _CPU


def _estimate_launch(chain: Chain, device: Device, host: HostSpeed) -> float:
    """Seconds of one launch of every step."""
    rate = _estimate_rate(chain, device, host)
    flops = chain.network.flops if chain.network else chain.problem.flops
    return len(chain.steps) * (_LAUNCH if device.target.is_gpu else 0.0) + flops / rate


def _estimate_rate(chain: Chain, device: Device, host: HostSpeed) -> float:
    """flops/s of a row."""
    library = chain.variant.is_library
    if device.target.is_gpu:
        peak = device.flops_per_cycle.get(chain.problem.precision_name, 0.0) * device.clock_hz or _UNKNOWN_PEAK
        return peak * (_LIBRARY_SHARE if library else _KERNEL_SHARE)
    if library:
        return _LIBRARY_FACTOR * host.product * host.cores * host.share
    return _KERNEL_RATE * host.cores * host.share if chain.variant.is_kernel else _LOOP_RATE
