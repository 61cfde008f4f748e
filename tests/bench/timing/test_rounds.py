"""Interleaved rounds: their order, windows, time limits, failures, and what an interval is worth."""

import itertools
import math
import re

import numpy as np
import pytest

from gemmbench.backends.base import Window
from gemmbench.bench.timing.blocks import NoSteps
from gemmbench.bench.timing.rounds import DoublingRule, Rounds
from gemmbench.bench.timing.stats import Interval, Round, speed_ratio, time_interval, verdict
from gemmbench.errors import LaunchError, LaunchTimeout
from gemmbench.planning.sweeps.policy import Policy


class Kernel:
    """Takes scripted seconds a launch (the last one for ever); notes every window in a shared log."""

    def __init__(self, name, *seconds, log=None, clock=0.0, fails_at=None, fault=None):
        self.name, self.seconds, self.clock, self.log = name, list(seconds), clock, log if log is not None else []
        self.fails_at, self.fault, self.windows = fails_at, fault, []

    def time(self, launches):
        if len(self.windows) == self.fails_at:
            raise self.fault
        seconds = self.seconds[min(len(self.windows), len(self.seconds) - 1)]
        self.windows.append(launches)
        self.log.append(self.name)
        return Window(seconds * launches, launches, self.clock)


def make_noisy(seed, seconds, noise, **options):
    """A kernel whose windows have noise of their own around a time."""
    return Kernel("noisy", *(seconds * np.random.default_rng(seed).lognormal(0, noise, 300)), **options)


def measure(kernels, warm=0.0, most=1000, is_interrupted=None, progress=None, rule=None, **options):
    """What came of kernels; `options` are those of Rounds and the fields of the policy."""
    chosen = {name: options.pop(name) for name in ("anchors", "contest", "steps", "seed", "names") if name in options}
    policy = Policy(**{"until": 0.0, **options})
    calls = is_interrupted or (lambda: False), progress or (lambda *_: None)
    return Rounds(kernels, policy, most, *calls, rule=rule, **chosen).run(warm)


def ends(found):
    """How many rounds each kernel took part in, and what ended them."""
    return [(len(each.samples), each.stopped) for each in found]


def list_blocks(found):
    return sorted({round_.block for round_ in found.samples})


def orders(seed, rounds=6):
    log = []
    measure([Kernel(name, 1.0, log=log) for name in "abcd"], rounds=rounds, seed=seed, max_time=100)
    timed = log[4:]  # one window each to size them
    return [tuple(timed[start : start + 4]) for start in range(0, len(timed), 4)]


def test_every_round_is_a_permutation_and_the_next_its_mirror():
    found = orders(seed=0)
    assert len(found) == 6 and all(sorted(order) == list("abcd") for order in found)
    assert [order[::-1] for order in found[::2]] == found[1::2]


def test_the_permutations_are_fresh_and_follow_from_the_seed():
    assert len(set(orders(0, rounds=20)[::2])) > 5
    assert orders(0) == orders(0) != orders(1)


def test_a_sample_is_the_window_over_its_launches_and_a_clock_is_kept_where_it_is_known():
    (found,) = measure([Kernel("a", 1e-4, clock=1.5e9)], rounds=4)
    assert found.launches == 11
    assert found.samples == {Round(round_ // 2, round_): pytest.approx(1e-4) for round_ in range(4)}
    assert found.clocks == [1.5e9] * 4 and found.stopped == "rounds"
    assert measure([Kernel("a", 1.0)], rounds=2)[0].clocks == []


@pytest.mark.parametrize(
    ("seconds", "most", "launches"),
    [(1.0, 1000, 1), (1e-3, 1000, 1), (5e-4, 1000, 3), (1e-5, 1000, 110), (1e-6, 500, 500)],
)
def test_a_window_holds_launches_for_a_millisecond_and_no_more_than_the_back_end_allows(seconds, most, launches):
    kernel = Kernel("a", seconds)
    (found,) = measure([kernel], rounds=2, most=most)
    assert found.launches == launches
    assert kernel.windows[-2:] == [launches, launches]


def test_equal_kernels_have_equal_windows_though_one_is_disturbed_while_its_window_is_sized():
    calm, disturbed = Kernel("a", 1e-2, 3e-4), Kernel("b", 1e-2, 1.2e-3, 3e-4)
    assert [each.launches for each in measure([calm, disturbed], rounds=2)] == [4, 4]
    similar, slower = Kernel("a", 5e-4), Kernel("b", 1.1e-3)
    assert [each.launches for each in measure([calm, similar, slower], rounds=2)] == [4, 4, 1]


@pytest.mark.parametrize("first", [1e-4, 1e-2])
def test_a_slow_first_launch_does_not_fix_the_window(first):
    (found,) = measure([Kernel("a", first, 1e-6)], rounds=2, most=5000)
    assert found.launches * 1e-6 >= 1e-3


@pytest.mark.parametrize(
    ("seconds", "launches"), [(3e-4, [1, 1, 1, 1]), (2e-4, [1, 1, 6, 6]), (1e-9, [1, 1, 999, 999])]
)
def test_windows_get_more_launches_after_a_block_in_which_they_are_much_shorter_than_when_sized(seconds, launches):
    kernel = Kernel("a", 2e-3, 2e-3, 2e-3, seconds)
    (found,) = measure([kernel], rounds=4, most=999)
    assert [window.launches for window in found.windows.values()] == launches
    assert list(found.samples.values()) == pytest.approx([seconds] * 4)


def test_the_windows_that_size_and_warm_are_no_samples_and_a_single_round_needs_no_warming():
    kernel = Kernel("a", *[9e-3] * 5, 8e-3, 7e-3, 6e-3, 5e-3)
    (found,) = measure([kernel], warm=1e9, rounds=4, max_time=1e9)
    assert len(kernel.windows) > len(found.samples) == 4
    kernel = Kernel("a", *[1e-3, 2e-3] * 100)
    measure([kernel], warm=1e9, rounds=1, max_time=1e9)
    assert len(kernel.windows) <= 4


@pytest.mark.parametrize(
    ("seconds", "rounds", "stopped"),
    [(0.1, 16, "rounds"), (1.0, 10, "max-time"), (3.0, 2, "max-time"), (6.0, 1, "max-time"), (60.0, 1, "max-time")],
)
def test_a_slow_kernel_gets_whole_pairs_under_its_time_or_one_launch(seconds, rounds, stopped):
    (found,) = measure([Kernel("a", seconds)], rounds=16, max_time=10.5)
    assert ends([found]) == [(rounds, stopped)]
    assert [round_.number for round_ in found.samples] == list(range(rounds))


def test_a_slow_kernel_does_not_change_the_rounds_of_the_others():
    fast, slow = measure([Kernel("fast", 4e-3), Kernel("slow", 1.0)], rounds=30, max_time=4.0)
    assert ends([fast, slow]) == [(30, "rounds"), (4, "max-time")]
    assert list_blocks(fast) == list(range(5))
    assert list(slow.samples) == [Round(0, 0), Round(0, 1), Round(1, 6), Round(1, 7)]


@pytest.mark.parametrize("fault", [LaunchError("crashed"), LaunchTimeout("too long")])
@pytest.mark.parametrize("fails_at", [0, 1, 3])
def test_a_kernel_that_fails_drops_out_and_the_others_go_on(fault, fails_at):
    good, bad = Kernel("good", 1.0), Kernel("bad", 1.0, fails_at=fails_at, fault=fault)
    found = measure([good, bad], rounds=4, max_time=100)
    assert ends(found) == [(4, "rounds"), (2 if fails_at == 3 else 0, "failed")]  # those of the blocks before
    assert [each.fault for each in found] == [None, fault]
    assert len(bad.windows) == fails_at


def test_progress_says_after_a_block_who_leads_with_its_time_and_its_ratio_to_the_anchor():
    said = []
    kernels = [Kernel("slow", 2.0), Kernel("quick", 0.5), Kernel("broken", 0.1, fails_at=3, fault=LaunchError("x"))]
    told = {"progress": lambda what, done, of: said.append(what), "names": ["slow", "quick", "broken"]}
    measure(kernels, rounds=8, max_time=100, anchors=[0], **told)
    rounds = [what for what in said if "round" in what]
    assert rounds[0] == "round" and rounds[-1] == "quick 500 +- 0 ms, 4x slow; round"


def test_progress_shows_times_without_an_exponent():
    said = []
    kernel = Kernel("rough", 20.0, 12.0, 30.0, 11.0)
    measure([kernel], rounds=8, max_time=1e4, names=["rough"], progress=lambda what, done, of: said.append(what))
    assert any(re.fullmatch(r"rough \d{5} \+- \d+0 ms; round", what) for what in said), said


def test_an_interruption_keeps_the_samples_there_are():
    log = []
    kernels = [Kernel(name, 1.0, log=log) for name in "ab"]
    first, second = measure(kernels, rounds=8, max_time=100, is_interrupted=lambda: len(log) >= 7)
    assert len(log) == 7
    assert len(first.samples) + len(second.samples) == 5
    assert {first.stopped, second.stopped} == {"interrupted"}


def test_progress_counts_first_launches_and_rounds_and_nothing_to_measure_is_no_fault():
    assert measure([], rounds=4) == []
    seen = []
    measure([Kernel("a", 1.0), Kernel("b", 1.0)], rounds=3, max_time=100, progress=lambda *what: seen.append(what))
    first = [("first launches", 0, 2), ("first launches", 1, 2), ("warm up", 0, 0)]
    assert seen == [*first, ("round", 1, 3), ("round", 2, 3), ("round", 3, 3)]


# When rounds end

QUIET = Kernel("quiet", 4e-3)


@pytest.mark.parametrize(
    ("kernel", "until", "rounds", "stopped"),
    [
        (QUIET, 0.005, 30, "until"),
        (make_noisy(0, 1e-2, 0.2), 0.005, 64, "rounds"),
        (QUIET, 0.0, 64, "rounds"),
    ],
    ids=["quiet", "noisy", "without until"],
)
def test_a_time_that_is_known_well_enough_is_measured_no_longer(kernel, until, rounds, stopped):
    (found,) = measure([kernel], rounds=64, until=until)
    assert ends([found]) == [(rounds, stopped)]
    assert stopped == "rounds" or list_blocks(found) == list(range(5))


@pytest.mark.parametrize("until", [0.01, 0.02, 0.04])
def test_blocks_double_until_the_interval_is_narrow(until):
    (found,) = measure([make_noisy(1, 4e-3, 0.05)], rounds=1000, until=until, max_time=1e9)
    blocks, narrow = len(found.samples) / 6, time_interval(found.samples).spread
    assert found.stopped == "until" and narrow <= until
    assert blocks in (5, 10, 20, 40, 80)
    before = {round_: sample for round_, sample in found.samples.items() if round_.block < blocks / 2}
    assert blocks == 5 or time_interval(before).spread > until


def test_a_common_drift_ends_when_the_ratio_is_known():
    # the two wander together, so that their own medians are wide and the ratio is not
    wander = [4e-3 * (1 + 0.02 * math.sin(step)) for step in range(200)]
    found = measure([Kernel("a", *wander), Kernel("b", *wander)], rounds=54, until=0.005, anchors=[0])
    assert ends(found) == [(54, "rounds"), (30, "until")]


def test_an_anchor_stays_for_those_who_are_not_known_yet():
    kernels = [Kernel("base", 4e-3), Kernel("quiet", 6e-3), make_noisy(2, 4e-3, 0.1)]
    found = measure(kernels, rounds=48, until=0.005, anchors=[0])
    assert ends(found) == [(48, "rounds"), (30, "until"), (48, "rounds")]


@pytest.mark.parametrize(("seconds", "before"), [([0.005], 1), ([0.0035, 0.0005], 4), ([0.02], 3)])
def test_a_second_window_is_run_first_if_it_could_change_the_launches_or_the_pairs(seconds, before):
    kernel = Kernel("a", *seconds)
    (found,) = measure([kernel], rounds=2)
    assert len(kernel.windows) - len(found.windows) == before


@pytest.mark.parametrize(
    ("base", "samples", "stopped"),
    [
        (Kernel("base", 1.0), 4, "max-time"),
        (Kernel("base", 4e-3, fails_at=6, fault=LaunchError("crashed")), 0, "failed"),
    ],
    ids=["without time", "that fails"],
)
def test_an_anchor_without_time_or_one_that_fails_is_not_waited_for(base, samples, stopped):
    found = measure([base, Kernel("mine", 4e-3)], rounds=64, until=0.005, max_time=4, anchors=[0])
    assert ends(found) == [(samples, stopped), (30, "until")]


def test_rivals_go_on_until_each_is_known_against_each():
    kernels = [Kernel("base", 4e-3), Kernel("a", 4e-3), make_noisy(3, 4e-3, 0.1)]
    assert ends(measure(kernels, rounds=20, until=0.005, anchors=[0, 1, 2])) == [(20, "rounds")] * 3


@pytest.mark.parametrize(("contest", "slow"), [([0, 1], (30, "beaten")), ([], (48, "rounds"))])
def test_in_a_contest_only_the_fastest_has_to_be_known(contest, slow):
    kernels = [make_noisy(2, 5e-3, 0.02), make_noisy(3, 4e-3, 0.02), Kernel("base", 4e-3)]
    found = measure(kernels, rounds=48, until=0.005, anchors=[2], contest=contest)
    assert ends(found)[:2] == [slow, (48, "rounds")]


def test_in_a_contest_what_may_still_win_goes_on():
    kernels = [make_noisy(2, 4e-3, 0.02), make_noisy(3, 4e-3, 0.02)]
    assert ends(measure(kernels, rounds=48, until=0.001, contest=[0, 1])) == [(48, "rounds")] * 2


class FirstCheck:
    """Stops at the first check, after two blocks, whatever the interval."""

    def is_due(self, blocks):
        return blocks == 2

    def is_narrow(self, interval):
        return True


def test_another_stopping_rule_can_be_given():
    found = measure([Kernel("a", 4e-3), make_noisy(5, 4e-3, 0.3)], until=Policy().until, rule=FirstCheck())
    assert ends(found) == [(12, "until")] * 2


def test_intervals_are_checked_after_5_10_20_blocks_and_so_on_and_an_unknown_one_is_not_narrow():
    assert [blocks for blocks in range(100) if DoublingRule(0.005).is_due(blocks)] == [5, 10, 20, 40, 80]
    assert not any(DoublingRule(0.0).is_due(blocks) for blocks in range(100))
    assert not DoublingRule(0.5).is_narrow(Interval(1.0))


# Blocks


class Steps(NoSteps):
    """Notes what happens between blocks; the executable `bad` fails the check after block `fails_at`."""

    def __init__(self, bad=None, fails_at=None, never_ready=None):
        self.bad, self.fails_at, self.never_ready, self.log = bad, fails_at, never_ready, []

    def begin(self, block, launches):
        self.log.append(("begin", block, sorted(launches)))
        return [index for index in launches if index != self.never_ready]

    def end(self, block, active, last):
        self.log.append(("end", block, sorted(active)))
        return [index for index in active if (index, block) != (self.bad, self.fails_at)]


@pytest.mark.parametrize(
    ("rounds", "blocks", "pairs"),
    [(10, 5, 1), (18, 9, 1), (20, 5, 2), (28, 7, 2), (30, 5, 3), (60, 10, 3), (96, 16, 3)],
)
def test_rounds_are_spread_over_at_least_five_blocks(rounds, blocks, pairs):
    steps = Steps()
    (found,) = measure([Kernel("a", 4e-3)], rounds=rounds, steps=steps)
    assert len(found.samples) == rounds
    assert list_blocks(found) == list(range(blocks))
    assert sum(round_.block == 0 for round_ in found.samples) == 2 * pairs
    assert [entry[:2] for entry in steps.log] == [(what, block) for block in range(blocks) for what in ("begin", "end")]


@pytest.mark.parametrize(("rounds", "windows"), [(20, [4, 8, 12, 16, 20]), (7, [2, 4, 6, 7]), (1, [1])])
def test_the_last_window_of_each_block_is_inspected_right_after_it(rounds, windows):
    steps, kernel, inspected = Steps(), Kernel("a", 4e-3), []
    steps.inspect = lambda index, launches: inspected.append((index, launches, len(kernel.windows) - 1))
    measure([kernel], rounds=rounds, steps=steps)
    assert inspected == [(0, 1, count) for count in windows]  # one more to size them


@pytest.mark.parametrize(
    ("seconds", "max_time", "blocks"), [(0.009, 4.0, 16), (0.01, 4.0, 48), (1.0, 10.5, 5)], ids=str
)
def test_a_block_of_long_windows_is_one_pair_and_there_are_five_if_there_is_time_for_ten_rounds(
    seconds, max_time, blocks
):
    (found,) = measure([Kernel("a", seconds)], rounds=96, max_time=max_time)
    assert list_blocks(found) == list(range(blocks))


@pytest.mark.parametrize(
    ("seconds", "rounds", "max_time", "blocks"),
    [(4e-3, 4, 5.0, 2), (4e-3, 6, 5.0, 3), (1.0, 96, 4.9, 2), (0.6, 96, 5.0, 4), (1.0, 96, 3.9, 1), (4e-3, 3, 5.0, 1)],
)
def test_who_has_time_for_four_rounds_has_two_blocks_and_so_an_interval(seconds, rounds, max_time, blocks):
    slow, fast = measure([Kernel("slow", seconds), Kernel("fast", 2e-3)], rounds=rounds, max_time=max_time)
    pairs = {round_.block for round_ in slow.samples if Round(round_.block, round_.number ^ 1) in slow.samples}
    assert len(pairs) == blocks
    assert speed_ratio(fast.samples, slow.samples).known == time_interval(slow.samples).known == (blocks > 1)


def test_samples_count_only_if_their_block_passes_its_check():
    steps = Steps(bad=1, fails_at=2)
    good, bad = measure([Kernel("good", 4e-3), Kernel("bad", 4e-3)], rounds=30, steps=steps)
    assert (list_blocks(good), list_blocks(bad), bad.stopped) == ([0, 1, 2, 3, 4], [0, 1], "failed")
    assert [active for _, block, active in steps.log if block > 2] == [[0]] * 4


def test_an_executable_that_cannot_be_bound_drops_out():
    found = measure([Kernel("good", 4e-3), Kernel("bad", 4e-3)], rounds=10, steps=Steps(never_ready=1))
    assert ends(found) == [(10, "rounds"), (0, "failed")]


def test_until_adds_blocks_and_not_rounds_to_a_block():
    steps = Steps()
    (found,) = measure([make_noisy(0, 4e-3, 0.2)], rounds=96, until=0.005, steps=steps)
    assert len(steps.log) == 2 * 16
    assert max(sum(round_.block == block for round_ in found.samples) for block in range(16)) == 6


def test_rounds_after_a_departure_are_still_mirrored():
    log = []
    kernels = [*(Kernel(name, 4e-3, log=log) for name in "abc"), make_noisy(4, 4e-3, 0.1, log=log)]
    measure(kernels, rounds=34, until=0.005, anchors=[0])
    last = log[-8:]  # two are left
    assert [sorted(last[start : start + 2]) for start in range(0, 8, 2)] == [["a", "noisy"]] * 4
    assert last[0:2] == last[2:4][::-1] and last[4:6] == last[6:8][::-1]


# What an interval is worth, on a device whose clock wanders


class Drifting:
    """Kernels of one device: its speed wanders as time goes by, and every window has noise of its own."""

    def __init__(self, seed, drift=0.008, noise=0.004):
        rng = np.random.default_rng(seed)
        self.walk = itertools.accumulate(rng.normal(0, drift / 4) for _ in itertools.count())
        self.noise = (rng.lognormal(0, noise) for _ in itertools.count())

    def kernel(self, seconds):
        device = self

        class Executable:
            def time(self, launches):
                factor = (1 + next(device.walk)) * next(device.noise)
                return Window(seconds * launches * factor, launches)

        return Executable()


def ratios(true, count=120, **rule):
    for seed in range(count):
        device = Drifting(seed)
        kernels = [device.kernel(true * 2e-3), device.kernel(2e-3)]
        base, mine = measure(kernels, seed=seed, max_time=9, anchors=[0], **(rule or {"rounds": 16}))
        yield speed_ratio(mine.samples, base.samples)


@pytest.mark.parametrize(("rule", "least"), [({"rounds": 16}, 0.88), ({"until": 0.005}, 0.85)])
def test_the_interval_of_the_paired_ratio_covers_the_truth_under_drift(rule, least):
    assert np.mean([ratio.low <= 1.02 <= ratio.high for ratio in ratios(1.02, **rule)]) > least


def test_identical_kernels_are_never_called_faster_or_slower():
    verdicts = [verdict(ratio) for ratio in ratios(1.0)]
    assert {"faster", "slower"}.isdisjoint(verdicts)
    assert verdicts.count("same") > 100


def test_two_percent_are_found_when_rounds_go_on_until_the_interval_is_narrow_and_five_percent_always():
    assert [verdict(ratio) for ratio in ratios(1.02, 60, until=0.005)].count("faster") >= 57
    assert {verdict(ratio) for ratio in ratios(1.05, 40)} == {"faster"}
