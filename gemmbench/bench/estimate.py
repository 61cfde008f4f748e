"""Estimates how long a sweep takes and whether it fits in memory, from its plans and a short probe of the host."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby

import numpy as np
from threadpoolctl import threadpool_limits

from gemmbench.backends.base import Compiler, Device
from gemmbench.backends.devices import Machine
from gemmbench.backends.host import average_competitors, count_cores
from gemmbench.backends.sources import read_whole_text
from gemmbench.bench.experiments.context import AUDIT_SHARE, LEAST_PAIRS, REPLAY_SHARE, WARMING_SHARE, limit_warm_up
from gemmbench.bench.operands.layouts import GemmLayout, NetworkLayout
from gemmbench.bench.operands.scratch import LEAST_SETS, count_cold_sets, count_scratch_bytes, find_room
from gemmbench.bench.record import MODES
from gemmbench.bench.selection import (
    choose_finalists,
    find_candidates,
    keep_shortlists,
    make_ranking_policy,
    rank_candidates,
    split_chains,
)
from gemmbench.bench.timing.rounds import ENOUGH_BLOCKS, LONG_WINDOW, count_most_pairs
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Chain, Plan
from gemmbench.planning.precisions import FLOAT32
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy

UNTIMED = Policy(cache="hot", rounds=1, until=0.0, window=0.0, audit_once=True)
"""The policy that stands for a verification in estimates. It is not timed."""

_SIZE = 384
_COPIED = 16 << 20
_TRIALS = 3
_GLANCE = 0.05


@dataclass(frozen=True)
class HostSpeed:
    """The result of a probe: flops/s of a float64 product on one core, bytes/s of a copy, and the number of cores.

    `share` is the fraction of a core that a thread gets while other processes run.
    """

    product: float
    copy: float
    cores: int
    share: float


TYPICAL_HOST = HostSpeed(product=2e10, copy=5e9, cores=8, share=1.0)
"""Used to compare batches with each other, where a probe of the host would take too long."""


def make_typical_host() -> HostSpeed:
    """Return a typical host with the number of cores of this one."""
    return replace(TYPICAL_HOST, cores=count_cores())


def find_shared_host() -> HostSpeed:
    """Return a typical host with the cores of this one and the share of them that other processes now leave."""
    cores = count_cores()
    return replace(TYPICAL_HOST, cores=cores, share=cores / (cores + average_competitors(_GLANCE)))


def probe_host() -> HostSpeed:
    """Measure the host in about 0.3 s."""
    competitors, cores = average_competitors(), count_cores()
    matrix = np.ones((_SIZE, _SIZE))
    source, target = np.ones(_COPIED, np.uint8), np.zeros(_COPIED, np.uint8)
    with threadpool_limits(1, user_api="blas"):
        product = 2 * _SIZE**3 / _time_best(lambda: matrix @ matrix)
    copy = _COPIED / _time_best(lambda: np.copyto(target, source))
    return HostSpeed(product, copy, cores, cores / (cores + competitors))


def _time_best(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(_TRIALS):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


@dataclass(frozen=True)
class Habits:
    """Typical values for a kind of device.

    The first four are the seconds needed to open the device, compile a kernel, bind a row and prepare an operand set.
    The others are the number of modes in an exact verification, the rounds until an interval is narrow, the used
    fraction of the policy's warm-up, and whether rows get a steady load.
    """

    open: float
    compile: float
    bind: float
    set: float
    modes: int
    rounds: int
    warm: float
    steady: bool


_GPU = Habits(open=1.8, compile=0.8, bind=0.002, set=1e-4, modes=1, rounds=30, warm=0.05, steady=True)
_CPU = Habits(open=0.1, compile=1.5, bind=0.015, set=2e-5, modes=2, rounds=96, warm=0.5, steady=False)

COMPILING = _CPU.compile / TYPICAL_HOST.cores
"""The seconds that a kernel's compilation adds on a typical host, which compiles on all cores."""
_WATCHED = 5e-8
"""Seconds for each multiplication of a product whose accesses are watched on the CPU."""

_FILL, _JUDGE = 2e8, 2e8  # elements filled at random and elements compared, per second and core
_LIBRARY_SHARE, _KERNEL_SHARE = 0.7, 0.15  # fractions of a GPU's peak
_UNKNOWN_PEAK = 1e13
_LAUNCH = 3e-6
_LOOP_RATE = 2e9  # flops/s of a C++ loop on the CPU
_STEP, _PRODUCT = 1.2e-9, 0.35e-9
"""Seconds that a thread of the CPU device takes for a step along K, including barriers, and for each product in it."""
_EVICTED = 6.5e-9
"""Additional seconds for a step without tiles in shared memory, if an operand's cache lines evict each other."""
_PAGE, _KEPT_LINES = 4096, 256
"""The distance in bytes between such lines, and the number of them that a core's cache can keep."""
_CONVERSION = 3
"""The slowdown for numbers whose exponent the CPU must convert, which are f16 and fp8."""
_LIBRARY_FACTOR = 1.8  # speed of float32 products relative to float64
_FEW, _ALL = 128, 1024**3  # rows verified in a large problem, and the largest M N K that counts as small
_VECTORS = 32


@dataclass(frozen=True)
class Work:
    """The work of a batch: its problem, the bytes of an operand set and its parts, and how it is verified."""

    problem: Problem
    set_bytes: int
    touched: int
    result_bytes: int
    exact_cases: int
    small: bool

    @classmethod
    def of(cls, chain: Chain) -> Work:
        """Return the work of this chain's batch."""
        network, problem = chain.network, chain.problem
        if network:
            total = NetworkLayout(network).guarded.total
            return cls(problem, total, network.bytes, 4 * network.batch * network.sizes[-1], 3, True)
        touched = sum(operand.nbytes for operand in problem.operands)
        small = problem.flops <= 2 * _ALL
        cases = 2 if problem.beta else 1
        return cls(problem, GemmLayout(problem).guarded.total, touched, problem.operand_bytes("C"), cases, small)

    @property
    def elements(self) -> int:
        """The number of elements of A, B and C."""
        return sum(math.prod(operand.shape) for operand in self.problem.operands)

    def count_sets(self, device: Device) -> int:
        """Return the number of operand sets that keep every launch cold."""
        target = device.target
        return count_cold_sets(self.touched, self.set_bytes, target.l2, find_room(target))[0]

    def estimate_references(self, host: HostSpeed) -> float:
        """Estimate the seconds to compute correct results: three products, or some rows of two and a few vectors."""
        M, N, K = self.problem.M, self.problem.N, self.problem.K
        flops = 6 * M * N * K if self.small else 4 * _FEW * N * K + 4 * _VECTORS * (M * K + K * N)
        return self.problem.count * flops / (host.product * host.cores * host.share) + 2 * self.estimate_filling(host)

    def estimate_filling(self, host: HostSpeed) -> float:
        """Estimate the seconds to make A, B and C on the host."""
        return self.elements / (_FILL * host.cores * host.share)

    def estimate_judgement(self, host: HostSpeed) -> float:
        """Estimate the seconds to read a result and compare it."""
        cells = self.problem.count * self.problem.M * self.problem.N
        compared = cells if self.small else cells / 8
        return self.result_bytes / host.copy + compared / _JUDGE


def _find_habits(device: Device) -> Habits:
    """Return the typical values for a device."""
    return _GPU if device.target.is_gpu else _CPU


def _estimate_launch(chain: Chain, device: Device, host: HostSpeed) -> float:
    """Estimate the seconds to launch every step once."""
    rate = _estimate_rate(chain, device, host)
    flops = chain.network.flops if chain.network else chain.problem.flops
    return len(chain.steps) * (_LAUNCH if device.target.is_gpu else 0.0) + flops / rate


def _estimate_rate(chain: Chain, device: Device, host: HostSpeed) -> float:
    """Estimate the flops/s of a row."""
    library = chain.variant.is_library
    if device.target.is_gpu:
        peak = device.flops_per_cycle.get(chain.problem.precision_name, 0.0) * device.clock_hz or _UNKNOWN_PEAK
        return peak * (_LIBRARY_SHARE if library else _KERNEL_SHARE)
    if library:
        return _LIBRARY_FACTOR * host.product * host.cores * host.share
    return _estimate_threads(chain, host) if chain.variant.is_kernel else _LOOP_RATE


def _estimate_threads(chain: Chain, host: HostSpeed) -> float:
    """Estimate the flops/s of a kernel on the CPU device. It is faster if each thread computes more elements of C.

    One block runs on one core.
    """
    problem, cores, elements = chain.problem, host.cores, 1.0
    launches = [geometry for step in chain.steps for _, geometry in step.launches]
    if launches and not chain.network:
        largest = max(launches, key=lambda each: each.blocks * each.threads)
        cores = min(cores, largest.blocks)
        elements = max(1.0, chain.steps[0].launched.count * problem.M * problem.N / (largest.blocks * largest.threads))
    walks_alone = _evicts_lines(problem) and not any(_has_barriers(step.variant) for step in chain.steps)
    step = _STEP + (_EVICTED if walks_alone else 0.0)
    slowdown = _CONVERSION if 0 < problem.storage("A").exponent < FLOAT32.exponent else 1
    return 2 * elements / (step + elements * _PRODUCT) / slowdown * cores * host.share


def _evicts_lines(problem: Problem) -> bool:
    """Return whether adjacent elements along K are a multiple of 4096 bytes apart and too many for a cache."""
    walked = [name for name, is_strided in (("A", problem.trans_a), ("B", not problem.trans_b)) if is_strided]
    strides = [problem.storage(name).nbytes(problem.stored_shape(name)[1]) for name in walked]
    return problem.K > _KEPT_LINES and any(stride % _PAGE == 0 for stride in strides)


@lru_cache(maxsize=256)
def _has_barriers(variant: Variant) -> bool:
    """Return whether the threads of a block wait for each other, as they must to share tiles."""
    return "__sync" in read_whole_text(variant)


def fit_together(devices: Mapping[str, Device], chains: Sequence[Chain]) -> bool:
    """Return whether a GPU has room for two operand sets of a problem and the workspaces of these rows.

    On a CPU, they always fit, because its free memory differs from run to run and batches must not.
    """
    for name in {chain.device for chain in chains}:
        target, there = devices[name].target, [chain for chain in chains if chain.device == name]
        if target.is_gpu and LEAST_SETS * Work.of(there[0]).set_bytes > find_room(target) - count_fixed_bytes(there):
            return False
    return True


def count_fixed_bytes(chains: Sequence[Chain]) -> int:
    """Return the bytes that a device needs in addition to operand sets: a workspace for each row and each library."""
    libraries: dict[str, int] = {}
    for step in (step for chain in chains for step in chain.steps if step.variant.is_library):
        libraries[step.variant.name] = max(libraries.get(step.variant.name, 0), step.workspace)
    return sum(libraries.values()) + sum(count_scratch_bytes(chain.steps) for chain in chains)


_START = 0.7  # seconds to start the program
_MOST_LOOK_UPS = 2000
_BUS = 1e10  # bytes/s between host and GPU, for all modes together


@dataclass(frozen=True)
class Estimate:
    """The estimated seconds of a run and of its compilations. `kernels` is the number of kernels not in the cache."""

    seconds: float
    compiling: float
    kernels: int

    def __add__(self, other: Estimate) -> Estimate:
        """Return the estimate for both runs in sequence."""
        kernels = self.kernels + other.kernels
        return Estimate(self.seconds + other.seconds, self.compiling + other.compiling, kernels)


def estimate_run(
    chains: Iterable[Chain],
    machine: Machine,
    policy: Policy,
    baseline: str,
    compilers: Mapping[str, Compiler],
    jobs: Iterable[Chain] = (),
    host: HostSpeed | None = None,
) -> Estimate:
    """Estimate a run of these rows, after a short probe of the host unless `host` is given.

    `jobs` are the rows that are also measured with their copies. Raises DeviceError if there is no compiler.

    Only one problem's rows need to be in memory at a time.
    """
    host, codes = host or probe_host(), _Codes()
    able = codes.collect(chain for chain in chains if not chain.reason)
    measuring = estimate_sweep(able, machine.devices, policy, baseline, host)
    plans = codes.plans.values()
    # Looking up a code takes as long as planning it. If there are very many, the rest counts as not compiled.
    missing = [
        plan for n, plan in enumerate(plans) if n >= _MOST_LOOK_UPS or not compilers[plan.device].is_compiled(plan)
    ]
    costs = [_find_habits(machine.devices[plan.device]).compile for plan in missing]
    compiling = max(sum(costs) / (host.cores * host.share), max(costs, default=0.0))
    copying = _estimate_transfers(jobs, machine, policy, host)
    return Estimate(compiling + measuring + copying, compiling, len(costs))


class _Codes:
    """Keeps one plan for each distinct code."""

    def __init__(self) -> None:
        self.plans: dict[tuple[object, ...], Plan] = {}

    def collect(self, chains: Iterable[Chain]) -> Iterator[Chain]:
        """Yield the rows and keep a plan for each new code."""
        for chain in chains:
            for plan in chain.steps:
                key = (plan.device, plan.variant.name, plan.symbols, plan.arch, plan.defines)
                self.plans.setdefault(key, plan)
            yield chain


def estimate_sweep(
    chains: Iterable[Chain], devices: Mapping[str, Device], policy: Policy, baseline: str, host: HostSpeed
) -> float:
    """Estimate the seconds to open the devices and to verify and measure the rows.

    The result does not include compiling. It is 0 if there are no rows.
    """
    opened: set[str] = set()
    seconds = 0.0
    for _, same in groupby(chains, lambda chain: chain.problem_or_network):
        rows, ranking = _estimate_ranking(list(same), devices, policy, host)
        batches = split_chains(rows, baseline)
        seconds += ranking + sum(
            estimate_batch(batch, devices, policy, host, first=not opened and not number)
            for number, batch in enumerate(batches)
        )
        seconds += estimate_finals(rows, devices, policy, baseline, host)
        opened.update(chain.device for chain in rows)
    opening = sum(_find_habits(devices[name]).open for name in opened)
    return seconds + (_START + opening) / host.share if opened else 0.0


def _estimate_ranking(
    rows: Sequence[Chain], devices: Mapping[str, Device], policy: Policy, host: HostSpeed
) -> tuple[list[Chain], float]:
    """Return the rows to measure in full after the short loads, and the seconds that the short loads take."""
    candidates = find_candidates(rows)
    seconds = sum(estimate_batch(group, devices, make_ranking_policy(policy), host) for group in candidates.values())
    rankings = {asked: rank_candidates(group, lambda chain: None) for asked, group in candidates.items()}
    return keep_shortlists(rows, rankings), seconds


def estimate_finals(
    chains: Sequence[Chain], devices: Mapping[str, Device], policy: Policy, baseline: str, host: HostSpeed
) -> float:
    """Estimate the seconds to measure the best configuration of every kernel again."""

    def estimate(chain: Chain) -> float:
        return _estimate_launch(chain, devices[chain.device], host)

    finals = choose_finalists(chains, estimate, baseline, policy)
    return sum(estimate_batch(batch, devices, policy, host) for batch in split_chains(finals, baseline))


def _estimate_transfers(chains: Iterable[Chain], machine: Machine, policy: Policy, host: HostSpeed) -> float:
    """Estimate the seconds to measure whole jobs, in every mode, with the best configuration of each kernel."""
    jobs = {(chain.problem, chain.name): chain for chain in chains if chain.device == machine.choice.primary}
    return sum(estimate_job(chain, machine.primary, policy, host) for chain in jobs.values())


def estimate_watching(plans: Sequence[Plan]) -> float:
    """Estimate the seconds that watching launches with the same code adds on a typical host."""
    return COMPILING + sum(_WATCHED * plan.problem.flops / 2 for plan in plans) / TYPICAL_HOST.cores


def estimate_job(chain: Chain, device: Device, policy: Policy, host: HostSpeed) -> float:
    """Estimate the seconds to measure a whole job, with its copies, in every mode."""
    work = Work.of(chain)
    job = work.touched / _BUS + _estimate_launch(chain, device, host)
    timing = min(policy.max_time, policy.rounds * max(job, policy.window))
    return len(MODES) * (timing + 3 * job + work.estimate_judgement(host))


def estimate_batch(
    chains: Sequence[Chain], devices: Mapping[str, Device], policy: Policy, host: HostSpeed, first: bool = False
) -> float:
    """Estimate the seconds for one batch. The `first` one of a run has a longer warm-up."""
    names = {chain.device for chain in chains}
    together = [[chain for chain in chains if chain.device == name] for name in names]
    return sum(_estimate_experiment(group, devices[group[0].device], policy, host, first) for group in together)


def _estimate_experiment(
    chains: Sequence[Chain], device: Device, policy: Policy, host: HostSpeed, first: bool
) -> float:
    habits, work = _find_habits(device), Work.of(chains[0])
    sets = LEAST_SETS if policy.cache == "hot" else work.count_sets(device)
    speed = device.bandwidth or host.copy / 2
    operands = sets * (habits.set + 2 * work.set_bytes / speed) + work.estimate_filling(host)
    launches = [_estimate_launch(chain, device, host) for chain in chains]
    windows = sum(max(launch, policy.window) for launch in launches)
    warm = habits.warm * limit_warm_up(device.target, first) + windows
    rows = sum(_estimate_row(launch, sets, work, policy, habits, host, speed) for launch in launches)
    return operands + work.estimate_references(host) + warm + rows


def _estimate_row(
    launch: float, sets: int, work: Work, policy: Policy, habits: Habits, host: HostSpeed, speed: float
) -> float:
    window = 1.1 * max(launch, policy.window)
    rounds = min(policy.rounds, habits.rounds) if policy.until else policy.rounds
    timing = min(policy.max_time, rounds * window)
    binding = habits.bind / host.share
    verified = work.exact_cases * habits.modes + 1
    verifying = verified * (binding + launch + work.estimate_judgement(host))
    copies = 1.0 if launch >= LONG_WINDOW else min(sets, max(AUDIT_SHARE * policy.max_time / launch, 2))
    turn = copies * (launch + 3 * work.result_bytes / speed + 2 * habits.set) + work.estimate_judgement(host)
    blocks = max(1, min(rounds // 2, max(ENOUGH_BLOCKS, rounds // 2 // count_most_pairs(window))))
    pairs = 1 if launch >= LONG_WINDOW else LEAST_PAIRS
    replay = 2 * pairs * max(launch, policy.window / REPLAY_SHARE)
    replays = replay if launch >= policy.window else blocks * replay
    sustained = policy.choose_sustained(work.problem.precision) if habits.steady else 0.0
    loading = (1 + WARMING_SHARE) * sustained
    audits = 1 if policy.audit_once else blocks
    audited = audits * 2 * turn + replays * audits / blocks
    return verifying + 2 * launch + 2 * window + timing + blocks * binding + audited + loading
