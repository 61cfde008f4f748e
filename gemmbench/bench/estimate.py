"""How long a sweep takes, estimated from its plans and a short probe of the host; nothing is launched.

Every phase of an experiment has its term. Most runs on an H200 and on a server with 2 cores took
between half of the estimate and twice as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from gemmbench.backends.base import Compiler, Device
from gemmbench.backends.devices import Machine
from gemmbench.bench.batch_costs import Habits, Work, estimate_launch, find_habits
from gemmbench.bench.experiments.context import limit_warm_up
from gemmbench.bench.experiments.selection.shortlist import choose_shortlist, find_candidates, make_ranking_policy
from gemmbench.bench.experiments.selection.splitting import choose_finalists, split_chains
from gemmbench.bench.experiments.setup import AUDIT_SHARE
from gemmbench.bench.experiments.sustained.blocks import WARMING_SHARE
from gemmbench.bench.host_probe import HostSpeed, probe_host
from gemmbench.bench.record import MODES
from gemmbench.bench.timing.rounds import LONG_WINDOW, count_most_pairs
from gemmbench.bench.timing.stats import MIN_BLOCKS
from gemmbench.planning.plans.plan import Chain, Plan
from gemmbench.planning.problems import PanelCut
from gemmbench.planning.sweeps.policy import Policy

_START = 0.7  # of the program
_BUS = 1e10  # bytes/s between host and GPU, of all modes together


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
    chains: Iterable[Chain],
    machine: Machine,
    policy: Policy,
    baseline: str,
    compilers: Mapping[str, Compiler],
    cut: PanelCut | None = None,
) -> Estimate:
    """Estimate a run of these rows, after a short probe of the host. Raises DeviceError without a compiler.

    The rows are taken one problem at a time, so they need not be in memory together, unless the run
    has transfers.
    """
    host, codes = probe_host(), _Codes()
    able: Iterable[Chain] = codes.collect(chain for chain in chains if not chain.reason)
    able = list(able) if cut else able
    measuring = estimate_sweep(able, machine.devices, policy, baseline, host)
    missing = [plan for plan in codes.plans.values() if not compilers[plan.device].is_compiled(plan)]
    costs = [find_habits(machine.devices[plan.device]).compile for plan in missing]
    compiling = max(sum(costs) / (host.cores * host.share), max(costs, default=0.0))
    copying = estimate_transfers(able, machine, policy, host) if cut else 0.0
    return Estimate(compiling + measuring + copying, compiling, len(costs))


class _Codes:
    """One plan for each code that rows need."""

    def __init__(self) -> None:
        self.plans: dict[tuple[object, ...], Plan] = {}

    def collect(self, chains: Iterable[Chain]) -> Iterator[Chain]:
        """Pass the rows on, and keep a plan of each code that is new."""
        for chain in chains:
            for plan in chain.steps:
                key = (plan.device, plan.variant.name, plan.symbols, plan.arch, plan.defines)
                self.plans.setdefault(key, plan)
            yield chain


def estimate_sweep(
    chains: Iterable[Chain], devices: Mapping[str, Device], policy: Policy, baseline: str, host: HostSpeed
) -> float:
    """Seconds to open the devices, and to verify and measure the rows; without compiling. Nothing takes 0 s."""
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
    opening = sum(find_habits(devices[name]).open for name in opened)
    return seconds + (_START + opening) / host.share if opened else 0.0


def _estimate_ranking(
    rows: Sequence[Chain], devices: Mapping[str, Device], policy: Policy, host: HostSpeed
) -> tuple[list[Chain], float]:
    """What is left to measure in full after the short loads, and the seconds that these take."""
    candidates = find_candidates(rows)
    seconds = sum(estimate_batch(group, devices, make_ranking_policy(policy), host) for group in candidates)
    return choose_shortlist(rows, candidates, lambda chain: None), seconds


def estimate_finals(
    chains: Sequence[Chain], devices: Mapping[str, Device], policy: Policy, baseline: str, host: HostSpeed
) -> float:
    """Seconds to measure the best configuration of every kernel again."""

    def estimate(chain: Chain) -> float:
        return estimate_launch(chain, devices[chain.device], host)

    finals = choose_finalists(chains, estimate, baseline, policy)
    return sum(estimate_batch(batch, devices, policy, host) for batch in split_chains(finals, baseline))


def estimate_transfers(chains: Iterable[Chain], machine: Machine, policy: Policy, host: HostSpeed) -> float:
    """Seconds to measure whole jobs: every mode of the best configuration of a kernel."""
    jobs = {(chain.problem, chain.name): chain for chain in chains if chain.device == machine.choice.primary}
    seconds = 0.0
    for chain in jobs.values():
        work = Work.of(chain)
        job = work.touched / _BUS + estimate_launch(chain, machine.primary, host)
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
    habits, work = find_habits(device), Work.of(chains[0])
    sets = 1 if policy.cache == "hot" else work.count_sets(device)
    speed = device.bandwidth or host.copy / 2
    operands = sets * (habits.set + 2 * work.set_bytes / speed) + work.estimate_filling(host)
    launches = [estimate_launch(chain, device, host) for chain in chains]
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
    blocks = max(1, min(rounds // 2, max(MIN_BLOCKS, rounds // 2 // count_most_pairs(window))))
    sustained = policy.choose_sustained(work.problem.precision) if habits.steady else 0.0
    loading = (1 + WARMING_SHARE) * sustained
    return verifying + 2 * launch + 2 * window + timing + blocks * (binding + 2 * turn) + loading
