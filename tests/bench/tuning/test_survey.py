"""A survey on the fake device: who is timed and how often, what becomes of who fails, and the file that keeps it."""

import json
import math
from dataclasses import replace

import pytest

from gemmbench.backends.base import Artifact, Build, Window
from gemmbench.backends.fake.backend import FakeBackend, FakeExecutable
from gemmbench.backends.fake.script import Script
from gemmbench.bench.experiments.context import ExperimentContext
from gemmbench.bench.tuning.survey import (
    SurveyBatch,
    SurveyedShape,
    SurveyFile,
    SurveyHead,
    Verified,
    read_survey,
    time_plans,
)
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.errors import BuildError, DeviceLost, LaunchTimeout, NotOffered, OutOfMemory, StoreError
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy

pytestmark = pytest.mark.usefixtures("few_sets")
TIMES = {"slow": 9e-4, "fast": 1e-4, "near": 1.1e-4, "far": 1.4e-4}
ARTIFACT = Artifact("key", "", Build())


@pytest.fixture
def make_batch(make_plan):
    """A batch of plans with these names."""

    def make(*names, built=None, faults=(), problem=None, **plan):
        plans = tuple(make_plan(name, problem or Problem(32, 24, 16), **plan) for name in names)
        return SurveyBatch(policy=Policy(), plans=plans, built=built or (ARTIFACT,) * len(plans), faults=faults)

    return make


@pytest.fixture
def windows(monkeypatch):
    """The launches of every window, by the seconds of a launch."""
    seen, time = {}, FakeExecutable.time

    def watch(executable, launches):
        window = time(executable, launches)
        seen.setdefault(round(window.seconds / window.launches, 7), []).append(window.launches)
        return window

    monkeypatch.setattr(FakeExecutable, "time", watch)
    return seen


def run(batch, interrupted=lambda: False, announce=lambda *_: None, **script):
    backend = FakeBackend(Script(times=script.pop("times", TIMES), **script))
    return time_plans(ExperimentContext({"fake": backend}, is_interrupted=interrupted, announce=announce), batch)


def test_whatever_may_be_the_fastest_gets_windows_and_the_close_ones_get_more(make_batch, windows):
    found = run(make_batch(*TIMES))
    assert {each.variant: each.seconds for each in found} == pytest.approx(TIMES)
    assert {seconds: len(launches) for seconds, launches in windows.items()} == {
        9e-4: 2,
        1e-4: 12,
        1.1e-4: 12,
        1.4e-4: 6,
    }
    assert windows[1e-4] == [1, 1] + [2] * 10  # of 200 us
    assert windows[9e-4] == [1, 1]


def test_short_launches_are_recorded_as_graphs_unless_one_cannot_be(make_batch, windows):
    times = {"a": 1e-6, "b": 2e-6, "c": 9e-6}
    run(make_batch("a", "b", "c"), times=times)
    assert windows[1e-6][2:] == [208] * 10 and windows[2e-6][2:] == [112] * 4  # whole turns over 16 sets
    assert windows[9e-6] == [1, 1, 12]  # too slow for a graph, but long enough for a time
    windows.clear()
    run(make_batch("a", "b"), times=times, faults={"b": "no_graph"})
    assert windows[1e-6][2:] == [201] * 10 and windows[2e-6][2:] == [101] * 4  # a little more than 200 us


def test_long_launches_have_few_windows(make_batch, windows):
    run(make_batch("a", "b"), times={"a": 0.003, "b": 0.0031})
    assert [len(each) for each in windows.values()] == [4, 4]


@pytest.mark.parametrize("fault", ["crash", "die_in_bind", "compiles_not", "blamed"])
def test_who_fails_has_a_reason_and_the_others_have_times(make_batch, monkeypatch, fault):
    built = (ARTIFACT, BuildError("no such register") if fault == "compiles_not" else ARTIFACT)
    faults = ((1, LaunchTimeout("took too long")),) if fault == "blamed" else ()
    scripted = {"faults": {"bad": "crash"}} if fault == "crash" else {}
    if fault == "die_in_bind":
        bind = FakeBackend.bind

        def break_down(backend, name, *arguments, **keywords):
            if name == "bad":
                raise RuntimeError("an exception of a library")
            return bind(backend, name, *arguments, **keywords)

        monkeypatch.setattr(FakeBackend, "bind", break_down)
    good, bad = run(make_batch("fast", "bad", built=built, faults=faults), **scripted)
    assert good.seconds == pytest.approx(1e-4) and not good.reason
    assert math.isnan(bad.seconds) and bad.offered
    words = {"crash": "crashed", "die_in_bind": "of a library", "compiles_not": "no such", "blamed": "took too long"}
    assert words[fault] in bad.reason


def test_what_a_library_does_not_offer_is_no_fault(make_batch, monkeypatch):
    def refuse(*_):
        raise NotOffered("no algorithm 7")

    monkeypatch.setattr(FakeBackend, "load", refuse)
    (found,) = run(make_batch("cublaslt"))
    assert (found.reason, found.offered) == ("no algorithm 7", False)


def test_a_lost_device_is_blamed_on_the_plan_that_was_announced(make_batch):
    announced = []
    with pytest.raises(DeviceLost):
        run(make_batch("fast", "bad"), announce=lambda number, *_: announced.append(number), faults={"bad": "lose"})
    assert announced[-1] == 1


def test_an_interruption_leaves_nothing(make_batch):
    assert run(make_batch("fast"), interrupted=lambda: True) == []


def test_operands_that_do_not_fit_fail_all_and_a_workspace_that_does_not_only_its_plan(make_batch, monkeypatch):
    huge = run(make_batch("fast", "slow", problem=Problem(20000, 20000, 20000)))
    assert all("its operands need 4577 MiB, and 819 MiB are free" in each.reason for each in huge)
    batch = make_batch("fast", "slow")
    allocate = FakeBackend.allocate

    def limit(backend, *nbytes):
        if sum(nbytes) > 1 << 30:
            raise OutOfMemory("out of memory, as scripted")
        return allocate(backend, *nbytes)

    monkeypatch.setattr(FakeBackend, "allocate", limit)
    large = replace(batch.plans[1], workspace=1 << 40)
    small = replace(batch.plans[0], workspace=4096, zeroed=64)
    fast, slow = run(replace(batch, plans=(small, large)))
    assert fast.seconds == pytest.approx(1e-4)
    assert slow.reason == "out of memory, as scripted"


def test_a_workspace_is_zeroed_again_before_every_window(make_batch, monkeypatch):
    batch, seen = make_batch("fast", "near"), []
    plans = tuple(replace(plan, workspace=4096, zeroed=64) for plan in batch.plans)

    def spoil(executable, launches):
        place = executable.place
        seen.append(bool(place.memory.bytes[:64].any()))
        place.memory.bytes[:] = 1
        return Window(1e-3 * launches, launches)

    bind = FakeBackend.bind

    def keep(backend, name, steps, *arguments, **keywords):
        bound = bind(backend, name, steps, *arguments, **keywords)
        bound.place = steps[0].workspace
        return bound

    monkeypatch.setattr(FakeExecutable, "time", spoil)
    monkeypatch.setattr(FakeBackend, "bind", keep)
    run(replace(batch, plans=plans))
    assert seen and not any(seen)


@pytest.mark.parametrize("precision", ["f32", "bf16", "e4m3", "i8"])
def test_operands_hold_numbers_and_every_set_has_the_same(make_batch, monkeypatch, precision):
    batch, kept = make_batch("fast", problem=Problem(300, 200, 100, precision_name=precision)), []
    bind = FakeBackend.bind

    def keep(backend, name, steps, memory, **keywords):
        kept.append((steps[0].sets, memory.bytes))
        return bind(backend, name, steps, memory, **keywords)

    monkeypatch.setattr(FakeBackend, "bind", keep)
    run(batch)
    (sets, content), problem = kept[0], batch.plans[0].problem
    assert len(sets) > 2
    for name in "AB":
        operand = problem.operand(name)
        values = [content[each[name] : each[name] + operand.nbytes] for each in sets]
        numbers = values[0].view(operand.storage.numpy_type()).astype(float)
        assert all((each == values[0]).all() for each in values)
        assert math.isfinite(numbers.sum()) and numbers.std() > 0.4


def test_a_worker_runs_the_batch_and_names_its_rows(make_batch):
    batch = make_batch("fast", "slow")
    worker = LocalWorker({"fake": FakeBackend(Script(times=TIMES))})
    assert [each.variant for each in worker.experiment(batch)] == ["fast", "slow"]
    assert [batch.name_row(number) for number in (0, 1, 2)] == ["fast", "slow", None]
    assert batch.title == "32x24x16 nn f32" and {each.name for each in batch.variants} == {"fast", "slow"}
    assert batch.keys != make_batch("fast").keys and batch.without([]) is batch


HEAD = SurveyHead(
    "best", Target("cuda", 90, 132, 1, 2, 3, name="NVIDIA H100"), {"small": "abc"}, "now", "rev", {"nvcc": "13"}
)
CANDIDATE = ("small", (("BM", 8), ("BN", 4)))
SHAPE = SurveyedShape(
    Problem(3, 4, 5, "tn", "bf16"), "any", {CANDIDATE: 1.25e-6, ("cublas", ()): 2e-6}, {("small", ()): "no"}
)
VERIFIED = Verified("nn", "f32", {CANDIDATE: "wrong"}, {("small", ()): "needs K == 7"})


OTHER = '"layout": "nn", "precision": "f32", "kind": ""'


def read(path):
    with path.open("rb") as file:
        return list(read_survey(path, file))


def test_what_is_written_is_read_again_and_a_torn_line_is_cut_off(tmp_path):
    path = tmp_path / "folder" / "times.survey"
    with SurveyFile(path, HEAD) as file:
        file.add_verified(VERIFIED)
        file.add_shape(SHAPE)
    assert read(path) == [HEAD, VERIFIED, SHAPE]
    with path.open("a") as file:
        file.write('{"shape": [1, 2')
    assert read(path) == [HEAD, VERIFIED, SHAPE]
    with SurveyFile(path, HEAD) as file:
        file.add_shape(SHAPE)
    assert read(path) == [HEAD, VERIFIED, SHAPE, HEAD, SHAPE]


def test_a_line_is_kept_at_once(tmp_path):
    path = tmp_path / "times.survey"
    with SurveyFile(path, HEAD) as file:
        file.add_shape(SHAPE)
        assert read(path)[-1] == SHAPE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "times.survey: has no complete line; gemmbench tune VARIANT --survey writes such files"),
        ('{"survey": 1', "times.survey: has no complete line; gemmbench"),
        ("\n[1]\n", "times.survey:2: is not a survey; gemmbench"),
        ('HEAD{"shape": ["1", 4, 3], "layout": "nn"}\n', "times.survey:2: cannot be read (a problem of 1 x 4 x 3, nn)"),
        ('HEAD{"shape": [1, -4, 3], "layout": "nn"}\n', "times.survey:2: cannot be read (a problem of 1 x -4 x 3, nn)"),
        ('HEAD{"shape": [1, 4, 3], "layout": "zz"}\n', "times.survey:2: cannot be read (a problem of 1 x 4 x 3, zz)"),
        (
            'HEAD{"shape": [1, 4, 3], "layout": "nn", "precision": "f99"}\n',
            "times.survey:2: cannot be read (unknown precision 'f99'",
        ),
        ("{}\n", "times.survey:1: is not a survey; gemmbench"),
        ("[1]\n", "times.survey:1: is not a survey; gemmbench"),
        ('{"survey": 9}\n', "times.survey:1: has version 9 of the format, and version 1 is known; measure again"),
        ("HEAD{\n", "times.survey:2: cannot be read ("),
        (
            'HEAD{"shape": [1, 2], "layout": "nn", "precision": "f32", "kind": "", "times": []}\n',
            "times.survey:2: cannot",
        ),
        (
            'HEAD{"shape": [1, 2, 3], "layout": "nn", "precision": "f32", "kind": "", "times": [["a", {}, -1]]}\n',
            "positive",
        ),
    ],
)
def test_a_file_that_is_no_survey_is_refused_with_its_line(tmp_path, text, message):
    path = tmp_path / "times.survey"
    with SurveyFile(path, HEAD):
        head = path.read_text()
    path.write_text(text.replace("HEAD", head))
    with pytest.raises(StoreError) as fault:
        read(path)
    assert message in str(fault.value)


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot be written: .*; choose another --out"):
        SurveyFile(tmp_path / "file" / "times.survey", HEAD)


def test_a_head_is_one_line_of_json(tmp_path):
    path = tmp_path / "times.survey"
    with SurveyFile(path, HEAD):
        pass
    (line,) = path.read_text().splitlines()
    assert json.loads(line)["target"]["name"] == "NVIDIA H100"
