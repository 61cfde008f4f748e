"""A whole search, on a device whose times are known."""

import threading
import time
from collections import Counter, deque
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from gemmbench.backends.devices import Machine
from gemmbench.bench.build import _compile as COMPILE
from gemmbench.bench.timing.rounds import Rounds
from gemmbench.bench.tuning.outcome import DispatchTable
from gemmbench.bench.tuning.screening import CandidateBatches, Screening
from gemmbench.errors import DeviceError, UsageError
from gemmbench.planning.search_space import STRATEGIES, Budget
from gemmbench.planning.sweeps.run_request import TimeLimits
from gemmbench.report.store.reading import read_results
from gemmbench.report.tables.search_tables import report_dispatch, report_searches
from gemmbench.session import reporter
from gemmbench.session.open_run import open_results
from gemmbench.session.tuning_runs import SearchProgress

from .conftest import VALUES, seconds_of

pytestmark = pytest.mark.usefixtures("few_shapes")


def configs(records):
    return [record.config["T"] for record in records]


def wait_until(holds, seconds=10):
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()


def in_phase(result, phase):
    return [record for record in result.run.run.records if record.phase == phase and record.variant == "mine"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_finds_the_fastest_configuration_keeps_it_and_names_the_best_so_far(search, notes, strategy):
    result = search(notes, strategy=strategy)
    (outcome,) = result.outcomes
    assert outcome.winner.config == {"T": 7} and outcome.ties == []
    (winner,) = result.winners
    assert (winner.config, winner.value, winner.tried, winner.space) == ({"T": 7}, seconds_of(7), 11, 11)
    assert (winner.baseline, round(winner.percent_of_baseline)) == ("cublas", 50)
    assert outcome.task.skipped == 1
    assert any("best T=7, 1.00 ms" in step for step in notes.steps)


def test_everything_is_verified_once_before_it_is_timed_and_the_last_eight_everywhere(search):
    result = search()
    checks = in_phase(result, "check")
    first = [record for record in checks if record.problem.size == "7x5x3"]
    assert sorted(configs(first)) == list(VALUES[:-1]) and all(
        record.checked and not record.samples for record in first
    )
    finals = in_phase(result, "final")
    assert sorted(configs(finals)) == [3, 4, 5, 6, 7, 8, 9, 10] and all(record.checked for record in finals)
    for size in ("9x8x7", "17x18x19"):
        there = configs(each for each in checks if each.problem.size == size)
        assert set(there) >= set(configs(finals)) and len(there) == len(set(there))
    assert sorted(configs(in_phase(result, "ranking"))) == list(VALUES[:-1])
    (outcome,) = result.outcomes
    assert {dict(key)["T"] for key in outcome.dropped} == {1, 2, 11}
    assert outcome.dropped[(("T", 1),)] == "1.30x the time of the best after 2 rounds"


def test_a_search_on_the_cpu_device_says_so_with_every_speed(search):
    result = search()
    on_cpu = replace(result.run.run.environment, gpu=False)
    first = report_searches(result.outcomes, on_cpu).closing[0]
    assert first.startswith("mine at 8 nn f32, on the CPU device, which says nothing about a GPU: best T=7, 1.00")
    assert report_dispatch(DispatchTable(result.outcomes[0].task.candidates[0].variant, []), on_cpu).footer == [
        "Losses: on the CPU device, which says nothing about a GPU."
    ]


@pytest.mark.parametrize("budget", [Budget(), Budget(configurations=3), Budget(seconds=0.1)])
def test_a_long_search_on_the_cpu_device_is_announced_and_a_very_long_one_needs_a_yes(
    search, notes, monkeypatch, budget
):
    monkeypatch.setattr(Machine, "on_cpu", True)
    monkeypatch.setattr(reporter, "_LONG", 0.0)
    search(notes, budget=budget)
    assert "on the CPU device; smaller --sizes take less time" in notes.messages[0]
    monkeypatch.setattr(reporter, "_VERY_LONG", 0.0)
    with pytest.raises(UsageError, match="start it with --yes"):
        search(budget=budget)
    assert search(budget=budget, limits=TimeLimits(long=True)).winners


def test_the_first_candidates_compile_while_the_device_is_opened(search, monkeypatch):
    begun = []

    def compile_plan(compiler, plan, endless):
        begun.append(plan.variant.name)
        return COMPILE(compiler, plan, endless)

    @contextmanager
    def open_late(*arguments):
        assert wait_until(lambda: begun)
        with open_results(*arguments) as opened:
            yield opened

    monkeypatch.setattr("gemmbench.bench.build._compile", compile_plan)
    monkeypatch.setattr("gemmbench.session.tuning_runs.open_results", open_late)
    assert search(budget=Budget(configurations=3)).winners
    assert begun.count("mine") == 3, "no more than the budget allows"


def test_the_fastest_are_verified_everywhere_while_others_compile(search, monkeypatch):
    waited, everywhere, check = [], threading.Event(), CandidateBatches.check

    def compile_plan(compiler, plan, endless):
        if dict(plan.config.values).get("T") == 11:
            waited.append(everywhere.wait(10))
        return COMPILE(compiler, plan, endless)

    def note_check(batches, chains):
        if any(chain.problem.size == "17x18x19" for chain in chains):
            everywhere.set()
        return check(batches, chains)

    monkeypatch.setattr("gemmbench.bench.build._compile", compile_plan)
    monkeypatch.setattr(CandidateBatches, "check", note_check)
    assert search().winners and waited == [True]


def test_ties_stay_for_longer_rounds_and_are_called_ties(search):
    result = search(times={f"mine T={value}": [1e-3, 1.001e-3, 0.999e-3] for value in VALUES})
    rounds = {value: [] for value in VALUES}
    for record in in_phase(result, "ranking"):
        rounds[record.config["T"]].append(len(record.samples))
    assert all(found == [2, 4, 8, 16, 32] for value, found in rounds.items() if value != 12)
    (outcome,) = result.outcomes
    assert len(outcome.finals) == 8 and outcome.ties
    assert set(outcome.dropped.values()) == {"not among the 8 best, though not clearly slower than the best"}


def test_what_is_not_right_is_neither_timed_nor_kept(search):
    faults = {"mine T=7": "last_column", "mine T=6": "build", "mine T=8": "crash"}
    result = search(faults=faults)
    (outcome,) = result.outcomes
    assert outcome.winner.config["T"] in (5, 9)
    reasons = {dict(key)["T"]: reason for key, reason in outcome.failed.items()}
    assert reasons[7].startswith("wrong at 7x5x3: exact check") and reasons[6].startswith("failed at 7x5x3: ")
    assert reasons[8] == "failed at 7x5x3: crashed, as scripted"
    assert not {6, 7, 8} & set(configs(in_phase(result, "ranking")))


CONFIG = """
sizes: [8]
variants:
  - mine: {T: [5, 6]}
  - mine: {T: 2}
  - tiled
baseline: cublas
"""


def test_values_that_a_config_lists_are_searched_and_those_of_the_command_line_instead(search, tmp_path):
    path = tmp_path / "few.yaml"
    path.write_text(CONFIG)
    result = search(config=str(path))
    assert sorted(configs(in_phase(result, "ranking"))) == [2, 5, 6]
    result = search(config=str(path), overrides={"params": ("T=9,10",)})
    assert sorted(configs(in_phase(result, "ranking"))) == [9, 10]
    path.write_text("sizes: [8]\nvariants: [mine]\nparams: {T: [3, 4]}\n")
    assert sorted(configs(in_phase(search(config=str(path)), "ranking"))) == [3, 4]


def test_a_budget_limits_what_is_tried_to_one_batch_at_least(search):
    result = search(strategy="random", budget=Budget(configurations=4), overrides={"seed": 3})
    assert len(configs(in_phase(result, "ranking"))) == 4 and result.outcomes[0].tried == 4
    again = search(strategy="random", budget=Budget(configurations=4), overrides={"seed": 3, "sizes": "9"})
    assert sorted(configs(in_phase(again, "ranking"))) == sorted(configs(in_phase(result, "ranking")))
    (outcome,) = search(budget=Budget(seconds=1e-9)).outcomes
    assert 0 < outcome.tried <= 11 and outcome.winner


def test_the_winner_that_is_kept_is_tried_first_next_time(search):
    search()
    result = search(budget=Budget(configurations=2))
    assert result.outcomes[0].winner.config == {"T": 7} and len(result.winners) == 1


def test_a_narrower_search_does_not_replace_a_better_winner(search):
    search()
    result = search(overrides={"params": ("T=9,10",)})
    assert result.outcomes[0].winner.config == {"T": 9} and result.kept.added == []
    (stayed,) = result.kept.stayed
    assert stayed.config == {"T": 7}


def test_a_search_begins_with_the_fastest_of_an_earlier_run(search, data_home):
    path = search(overrides={"params": ("T=5,6,9",)}).run.run.path
    (data_home / "tuned.json").unlink()
    result = search(earlier=path, budget=Budget(configurations=3))
    assert sorted(configs(in_phase(result, "ranking"))) == [5, 6, 9]


def test_every_size_has_a_search_of_its_own_but_code_is_checked_once(search):
    result = search(overrides={"sizes": "8,16"})
    assert [str(each.problem.size) for each in result.winners] == ["8", "16"]
    checks = [record for record in in_phase(result, "check") if record.problem.size == "7x5x3"]
    assert len(checks) == 11
    everywhere = Counter((record.problem.size, record.config["T"]) for record in in_phase(result, "check"))
    assert set(everywhere.values()) == {1}


def test_an_interrupted_search_keeps_the_best_so_far_and_can_be_resumed(search, notes, monkeypatch):
    whole, seen = Rounds.run, []

    def run(self, warm_seconds):
        seen.append(self)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return whole(self, warm_seconds)

    monkeypatch.setattr("gemmbench.bench.tuning.screening._MOST_TOGETHER", 4)
    monkeypatch.setattr(Rounds, "run", run)
    with pytest.raises(KeyboardInterrupt):
        search()
    monkeypatch.setattr(Rounds, "run", whole)
    (path,) = (result for result in store_files())
    timed = {record.config["T"] for record in read_results(path).records if record.phase == "ranking" and record.config}
    assert len(timed) == 4
    result = search(notes, resume=path)
    ranking = in_phase(result, "ranking")
    assert sorted(configs(ranking)) == list(VALUES[:-1]), "nothing is timed twice"
    assert "mine at 8 nn f32: best T=4" in notes.steps[1], "what the earlier run found is known from the start"
    assert result.outcomes[0].winner.config == {"T": 7}


class OneCompiler:
    """Compiles one candidate after the other, the first in 200 s and the others in 1 s, while a clock advances."""

    def __init__(self):
        self.now, self.waiting = 0.0, deque()

    def submit(self, step):
        self.waiting.append(Future())
        return self.waiting[-1]

    def wait(self, jobs, period):
        self.now += 1.0 if self.now else 200.0
        self.waiting.popleft().set_result(None)

    def cancel(self, jobs):
        pass

    def monotonic(self):
        return self.now


def test_a_slow_first_compilation_does_not_shift_the_time_left(monkeypatch):
    compiler, left = OneCompiler(), []
    monkeypatch.setattr("gemmbench.bench.tuning.screening.time", compiler)
    monkeypatch.setattr("gemmbench.session.tuning_runs.time", compiler)
    monkeypatch.setattr("gemmbench.bench.tuning.screening.wait_for_any", compiler.wait)

    def try_each(screening, keys):
        for key in keys:
            del screening._compiling[key]
            screening._count(key)
            compiler.now += 2

    monkeypatch.setattr(Screening, "_try", try_each)
    chains = {(("T", number),): number for number in range(64)}
    task = SimpleNamespace(chains=chains, candidates=[], baseline=None, list_first_steps=lambda chain: [chain])
    strategy = SimpleNamespace(ask=iter([*({"T": number} for number in range(64)), None]).__next__, learns=False)
    runner = SimpleNamespace(is_interrupted=lambda: False, progress=lambda *step: None)
    batches, checked = SimpleNamespace(pool=compiler, runner=runner), SimpleNamespace(find=lambda chain: None)
    progress = SearchProgress(lambda what, done, of, *rest: left.extend(rest), task, 64, lambda finals: 10.0)
    Screening(task, strategy, batches, checked, 64, lambda: False, progress.report).run([])
    assert len(left) == 8 and left[-1] == 10
    assert all(1 <= earlier / later <= 2 for earlier, later in pairwise(left[:-1]))
    assert left[0] == pytest.approx(10 + 56 * 3, rel=0.1)


def test_a_search_of_other_code_is_not_resumed(search, notes, monkeypatch, write_kernel, tmp_path):
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("gemmbench.bench.tuning.search.Contenders.measure_finals", interrupt)
        search()
    path = tmp_path / "kernels" / "mine.cu"
    path.write_text(path.read_text() + "// changed\n")
    with pytest.raises(UsageError, match="another experiment"):
        search(resume=store_files()[0])


def interrupt(contenders, slowest):
    raise KeyboardInterrupt


def store_files():
    return sorted(Path("results").glob("*.jsonl"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "randon"}, "unknown strategy 'randon' (did you mean 'random'?)"),
        ({"goal": "tme"}, "unknown goal 'tme' (did you mean 'time'?); choose time, sustained, energy"),
    ],
)
def test_what_cannot_be_searched_is_said_before_anything_runs(search, options, message, tmp_path):
    with pytest.raises(UsageError) as fault:
        search(**options)
    assert message in str(fault.value) and not (tmp_path / "results").exists()


def test_a_steady_load_needs_a_gpu(search, machine, monkeypatch):
    monkeypatch.setattr("gemmbench.backends.devices.Machine.on_cpu", True)
    with pytest.raises(DeviceError, match="--goal energy needs a GPU"):
        search(goal="energy")


def test_a_finalist_that_is_clearly_slower_needs_no_narrow_interval(search):
    noisy = [seconds_of(10) * factor for factor in (0.97, 1.03, 1.01, 0.99, 1.02)]
    result = search(times={"mine T=10": noisy}, overrides={"rounds": 120, "until": 0.005})
    stopped = {record.config["T"]: record.stopped for record in in_phase(result, "final") if record.config}
    assert stopped[10] == "beaten" and stopped[7] == "until"


def test_the_goal_chooses_among_the_finalists(search):
    loads = {"mine T=6": 1e-3, "mine T=7": 1.2e-3}
    result = search(goal="sustained", overrides={"sustained": 1.0, "params": ("T=6,7",)}, sustained=loads)
    (winner,) = [outcome.winner for outcome in result.outcomes]
    assert winner is not None and winner.config == {"T": 6} and winner.sustained.time == pytest.approx(1e-3)
