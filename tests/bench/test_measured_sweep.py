"""A sweep measured: rows are emitted at once, nothing complete is repeated, nothing hopeless is tried again."""

import threading
from dataclasses import replace

import pytest

from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.fake.entry import describe_fake
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.measured_sweep import ChainSweep, HopelessRows, measure_sweep
from gemmbench.bench.runner import Runner
from gemmbench.errors import BuildError, BuildTimeout, DeviceError
from gemmbench.planning.plans.plan import Config, Skip, make_chain
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy
from tests.bench.conftest import CODE

SMALL, LARGE = Problem(8, 8, 8), Problem(16, 16, 16)


@pytest.fixture
def batch(make_plan):
    """A batch at the larger problem of plans by name and TILE, with their code; `fault` is what came of `bad`."""

    def make(*kernels, problem=LARGE, fault=None, phase="sweep"):
        plans = [make_plan(name, problem, {"TILE": tile}) for name, tile in kernels]
        codes = [fault if fault and name == "bad" else CODE for name, _ in kernels]
        return replace(make_gemm_batch(plans, codes, Policy()), phase=phase)

    return make


@pytest.fixture
def failed(make_record):
    """The record of a kernel that timed out at the smaller problem."""

    def make(name="bad", tile=16, status="timeout", reason="did not finish within 5 s\nmore", **changed):
        return make_record(name, config={"TILE": tile}, size=8, status=status, reason=reason, **changed)

    return make


def test_a_hang_costs_one_time_limit_and_its_further_rows_name_the_first(batch, failed):
    left, (skip,) = HopelessRows().leave_out(batch(("naive", 16), ("bad", 16)), [failed()])
    assert [f"{chain.name} {chain.config}" for chain in left.chains] == ["naive TILE=16"]
    assert (skip.variant, skip.config, skip.status, skip.problem) == ("bad", {"TILE": 16}, "skipped", LARGE)
    assert skip.reason == "not tried, because it timed out at 8 nn f32: did not finish within 5 s"


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        (BuildError("bad.cu:7: error"), "failed", "because it did not compile at 8 nn f32: bad.cu:7: error"),
        (BuildTimeout("did not compile within 1 s"), "timeout", "timed out at 8 nn f32: did not compile within 1 s"),
    ],
)
def test_code_that_did_not_compile_is_not_reported_as_failed_again(batch, failed, fault, status, words):
    records = [failed(status=status, reason=str(fault))]
    left, (skip,) = HopelessRows().leave_out(batch(("bad", 16), fault=fault), records)
    assert left is None and words in skip.reason
    if status == "failed":
        other = BuildError("bad.cu:9: another error")
        assert HopelessRows().leave_out(batch(("bad", 16), fault=other), records)[1] == []


@pytest.mark.parametrize(
    ("kernels", "changes"),
    [
        ([("bad", 32), ("worse", 16)], {}),
        ([("bad", 16)], {"backend": "cpu"}),
        ([("bad", 16)], {"status": "failed", "reason": "crashed"}),
        ([("bad", 16)], {"status": "wrong", "reason": "zeros"}),
        ([("bad", 16)], {"status": "out of memory", "reason": "full"}),
    ],
    ids=["others", "on another device", "crashed", "wrong", "out of memory"],
)
def test_other_kernels_and_those_that_failed_otherwise_or_elsewhere_are_tried(batch, failed, kernels, changes):
    whole = batch(*kernels)
    assert HopelessRows().leave_out(whole, [failed(**changes)]) == (whole, [])


def test_the_best_of_a_sweep_is_measured_again_and_a_failed_row_gets_no_second_one(batch, failed):
    final = batch(("bad", 16), phase="final")
    assert HopelessRows().leave_out(final, [failed()]) == (final, [])
    assert HopelessRows().leave_out(batch(("bad", 16), ("naive", 16), problem=SMALL), [failed()])[1] == []


def test_failures_are_remembered_while_records_are_added(batch, failed, make_record):
    rows, records = HopelessRows(), [failed()]
    assert rows.leave_out(batch(("bad", 16)), records)[0] is None
    records += [make_record("naive"), failed(tile=32)]
    assert rows.leave_out(batch(("bad", 16), ("bad", 32)), records)[0] is None


class Compiler:
    """Counts what it compiles; refuses the named variants."""

    def __init__(self, *refused, fault=BuildError, prefix=""):
        self.refused, self.fault, self.prefix, self.compiled, self.lock = refused, fault, prefix, [], threading.Lock()

    def compile(self, plan):
        with self.lock:
            self.compiled.append((plan.variant.name, plan.defines))
        if plan.variant.name in self.refused:
            raise self.fault(f"cuda/{plan.variant.name}.cu:7: error: as asked")
        return Artifact(f"{self.prefix}{plan.variant.name} {plan.defines}", "", Build())


class FakeWorker:
    """Makes one record a plan, from scripted seconds by name and configuration, which may be those of one size.

    It keeps the batches that it saw, and how many records were emitted before each.
    """

    def __init__(self, make_record, seconds, wrong, emitted):
        self.make_record, self.seconds, self.wrong, self.emitted = make_record, seconds or {}, wrong, emitted
        self.devices, self.batches, self.before = {"fake": describe_fake()}, [], []

    def experiment(self, batch):
        self.batches.append(batch)
        self.before.append(len(self.emitted))
        pairs = zip(batch.chains, batch.built, strict=True)
        return [self.record(batch, chain.steps[0], *built) for chain, built in pairs]

    def record(self, batch, plan, built):
        name = f"{plan.variant.name} {plan.config}".strip()
        seconds = self.seconds.get((name, plan.problem.M), self.seconds.get(name, 1.0))
        good = isinstance(built, Artifact)
        return self.make_record(
            plan.variant.name,
            [seconds] * 2 if good else [],
            size=plan.problem.M,
            config=dict(plan.config.values),
            status="failed" if not good else "wrong" if name in self.wrong else "ok",
            reason="" if good else str(built),
            phase=batch.phase,
            batch=batch.index,
            batch_key=batch.key,
            batch_rows=len(batch.chains),
            ranking=batch.rankings.get(plan.variant.name),
        )


@pytest.fixture
def run(make_record):
    """Run plans; returns the records, the worker, the compiler and what was emitted, in order."""

    def go(
        plans, seconds=None, wrong=(), compiler=None, baseline="cublas", rivals=(), policy=None, earlier=(), **options
    ):
        compiler, emitted = compiler or Compiler(), []
        worker = FakeWorker(make_record, seconds, wrong, emitted)
        chains = list(map(make_chain, plans))
        sweep = ChainSweep(chains, policy or Policy(), baseline, rivals, earlier=earlier, shuffle=7)
        runner = Runner(worker, emitted.extend, **options)
        return measure_sweep(runner, {"fake": compiler}, sweep), worker, compiler, emitted

    return go


@pytest.fixture
def two_sizes(make_plan):
    """A kernel at two problems."""
    return [make_plan("naive", problem) for problem in (SMALL, LARGE)]


@pytest.fixture
def tiled(make_plan):
    """A kernel in configurations, by default in three."""
    return lambda *tiles, problem=SMALL: [make_plan("tiled", problem, {"T": tile}) for tile in tiles or (8, 16, 32)]


def labels(records, phase=None):
    chosen = [record for record in records if phase in (None, record.phase)]
    return [f"{record.variant} {record.configuration}".strip() for record in chosen]


def test_skips_come_first_and_every_row_is_emitted_as_it_is_made(run, make_plan, make_variant):
    skip = Skip(SMALL, make_variant("cublaslt"), Config(), "cuda", "no GPU")
    records, _, _, emitted = run([make_plan("naive", SMALL), skip, make_plan("cublas", SMALL)])
    found = [(record.variant, record.status) for record in records]
    assert found == [("cublaslt", "skipped"), ("naive", "ok"), ("cublas", "ok")]
    assert records[0].reason == "no GPU" and emitted == records


@pytest.mark.parametrize(
    ("rivals", "anchors"), [((), ("cublas",)), (("naive", "cublas", "tiled"), ("cublas", "naive", "tiled"))]
)
def test_a_batch_knows_what_its_plans_are_compared_with(run, make_plan, rivals, anchors):
    _, worker, *_ = run([make_plan("naive", SMALL), make_plan("cublas", SMALL)], rivals=rivals)
    assert [batch.anchors for batch in worker.batches] == [anchors]


def test_code_is_compiled_once_for_all_sizes_and_rows_are_emitted_before_the_next_batch_begins(run, two_sizes):
    _, worker, compiler, _ = run(two_sizes)
    assert len(compiler.compiled) == 1
    assert worker.before == [0, 1]


def test_what_does_not_compile_becomes_a_row_and_the_rest_goes_on(run, make_plan):
    plans = [make_plan(name, SMALL) for name in ("naive", "bad", "cublas")]
    records, *_ = run(plans, compiler=Compiler("bad"))
    assert {record.variant: record.status for record in records} == {"naive": "ok", "bad": "failed", "cublas": "ok"}
    assert records[1].reason == "cuda/bad.cu:7: error: as asked"


def test_a_missing_compiler_ends_the_run(run, make_plan):
    with pytest.raises(DeviceError):
        run([make_plan("naive", SMALL)], compiler=Compiler("naive", fault=DeviceError))


def test_the_best_of_a_sweep_is_measured_again_beside_the_baseline_and_one_configuration_is_not(run, make_plan, tiled):
    plans = [*tiled(), make_plan("naive", SMALL), make_plan("cublas", SMALL)]
    records, worker, compiler, _ = run(plans, {"tiled T=16": 0.5})
    assert labels(records, "final") == ["tiled T=16", "cublas"]
    assert worker.batches[-1].phase == "final"
    assert len(compiler.compiled) == 5


def test_each_problem_has_its_own_winner(run, tiled):
    plans = [*tiled(8, 16), *tiled(8, 16, problem=LARGE)]
    records, *_ = run(plans, {("tiled T=8", 8): 0.5, ("tiled T=16", 16): 0.5})
    assert [(r.problem.M, r.configuration) for r in records if r.phase == "final"] == [(8, "T=8"), (16, "T=16")]


@pytest.mark.parametrize("seconds", [0.0, 2.0])
def test_under_steady_loads_all_rows_meet_the_best_of_a_baseline_that_was_swept(run, make_plan, seconds):
    plans = [make_plan("cublaslt", SMALL, {"ALGO": number}) for number in (0, 1)] + [make_plan("naive", SMALL)]
    policy = Policy(sustained=seconds)
    records, worker, *_ = run(plans, {"cublaslt ALGO=1": 0.5}, baseline="cublaslt", policy=policy)
    rows = {"cublaslt ALGO=1", "naive"} if seconds else {"cublaslt ALGO=1"}
    assert set(labels(records, "final")) == rows
    repeated = ("cublaslt", "naive") if seconds else ("cublaslt",)
    assert [batch.repeated for batch in worker.batches] == [repeated, ()]


def test_a_configuration_that_failed_cannot_win(run, tiled):
    records, *_ = run(tiled(), {"tiled T=8": 0.1, "tiled T=16": 0.5}, wrong=["tiled T=8"])
    assert labels(records, "final") == ["tiled T=16"]


def by_key(records):
    found = {}
    for record in records:
        found.setdefault(record.batch_key, []).append(record)
    return found


def test_a_resumed_run_repeats_no_complete_batch_and_ends_with_the_same_rows(run, tiled):
    plans = [*tiled(8, 16), *tiled(8, 16, problem=LARGE)]
    first, *_ = run(plans, {"tiled T=16": 0.5})
    again, worker, _, emitted = run(plans, {"tiled T=16": 0.5}, done=by_key(first))
    assert (worker.batches, emitted, again) == ([], [], first)


def test_a_resumed_run_measures_what_is_missing(run, two_sizes):
    first, *_ = run(two_sizes)
    again, worker, _, emitted = run(two_sizes, done=by_key(first[:1]))
    assert [batch.problem_or_network for batch in worker.batches] == [LARGE]
    assert [record.problem.M for record in emitted] == [16] and labels(again) == labels(first)


def test_changed_code_is_measured_again(run, make_plan):
    first, *_ = run([make_plan("naive", SMALL)])
    _, worker, *_ = run([make_plan("naive", SMALL)], compiler=Compiler(prefix="newer "), done=by_key(first))
    assert len(worker.batches) == 1


def test_after_an_interruption_no_batch_begins(run, two_sizes):
    asked = iter([False, True, True, True])
    records, worker, *_ = run(two_sizes, is_interrupted=lambda: next(asked))
    assert [record.problem.M for record in records] == [8] and len(worker.batches) == 1


def algorithms(make_plan, count, problem=SMALL):
    return [make_plan("cublaslt", problem, {"ALGO": number}, kind="library", shortlist=3) for number in range(count)]


def test_of_many_algorithms_short_loads_choose_those_near_the_fastest_to_measure_in_full(run, make_plan):
    seconds = {f"cublaslt ALGO={number}": 1 + (number * 5 % 7) / 70 for number in range(7)}
    plans = [make_plan("naive", SMALL), *algorithms(make_plan, 7), make_plan("cublas", SMALL)]
    records, worker, _, emitted = run(plans, seconds)
    ranking, sweep, final = worker.batches
    assert [chain.name for chain in ranking.chains] == ["cublaslt"] * 7
    assert (ranking.phase, ranking.policy.rounds, ranking.policy.until) == ("ranking", 4, 0.0)
    fastest = sorted(range(7), key=lambda number: number * 5 % 7)[:3]  # the third is 2.9 % slower, the fourth 4.3 %
    full = [str(chain.config) for chain in sweep.chains if chain.name == "cublaslt"]
    assert full == [f"ALGO={number}" for number in sorted(fastest)]
    assert {str(chain.config) for chain in final.chains if chain.name == "cublaslt"} == {f"ALGO={fastest[0]}"}
    assert [(batch.index, batch.shuffle) for batch in worker.batches] == [(1, 7), (2, 7), (3, 7)]
    assert labels(emitted, "ranking") == [] and labels(records, "ranking") == []
    found = [record.ranking for record in emitted if record.variant == "cublaslt"]
    assert found[0].tried == 7 and found[0].best == [1.0, 1 + 1 / 70] and found == found[:1] * 4
    assert found[0].shortlist == [{"ALGO": number} for number in fastest]
    assert {record.ranking for record in emitted if record.variant != "cublaslt"} == {None}


def test_a_resumed_run_measures_the_algorithms_that_were_chosen_before(run, make_plan):
    plans = [*algorithms(make_plan, 7), *algorithms(make_plan, 7, LARGE), make_plan("cublas", SMALL)]
    near = {"cublaslt ALGO=4": 0.5, "cublaslt ALGO=5": 0.51}
    first, *_ = run(plans, near)
    left = [record for record in first if record.problem == SMALL and record.phase == "sweep"]
    again, worker, *_ = run(plans, {"cublaslt ALGO=6": 0.5, "cublaslt ALGO=0": 0.51}, earlier=left, done=by_key(left))
    assert [(batch.phase, batch.problem_or_network, batch.index) for batch in worker.batches] == [
        ("ranking", LARGE, 2), ("sweep", LARGE, 4), ("final", SMALL, 5), ("final", LARGE, 6)
    ]  # fmt: skip
    assert labels(record for record in again if record.problem == SMALL) == labels(
        record for record in first if record.problem == SMALL
    )


def test_short_loads_of_another_number_of_algorithms_do_not_count(run, make_plan):
    first, *_ = run(algorithms(make_plan, 7), {"cublaslt ALGO=2": 0.5})
    near = {"cublaslt ALGO=7": 0.5, "cublaslt ALGO=1": 0.51}
    again, worker, *_ = run(algorithms(make_plan, 8), near, earlier=first, done=by_key(first))
    assert worker.batches[0].phase == "ranking" and "cublaslt ALGO=7" in labels(again, "final")


def test_where_no_algorithm_has_a_time_the_first_three_say_why(run, make_plan):
    records, _, _, _ = run(algorithms(make_plan, 7), compiler=Compiler("cublaslt"))
    assert [(record.config["ALGO"], record.status) for record in records] == [(n, "failed") for n in range(3)]


@pytest.mark.parametrize(("count", "phases"), [(5, ["ranking", "sweep", "final"]), (3, ["sweep", "final"])])
def test_every_problem_has_a_shortlist_of_its_own_and_short_loads_if_it_does_not_hold_all(
    run, make_plan, count, phases
):
    _, worker, _, _ = run([*algorithms(make_plan, count), *algorithms(make_plan, count, LARGE)])
    assert [batch.phase for batch in worker.batches] == [phase for phase in phases for _ in range(2)]
