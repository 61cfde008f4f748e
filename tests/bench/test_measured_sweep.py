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

FIRST, FURTHER = Problem(8, 8, 8), Problem(16, 16, 16)
CODE = Artifact("code", "", Build())


@pytest.fixture
def batch(make_plan):
    """A batch at one problem of plans by name and TILE, with their code."""

    def make(problem, *kernels, built=None, phase="sweep"):
        plans = [make_plan(name, problem, {"TILE": tile}) for name, tile in kernels]
        codes = [(built or {}).get(kernel, CODE) for kernel in kernels]
        return replace(make_gemm_batch(plans, codes, Policy()), phase=phase)

    return make


@pytest.fixture
def failed(make_record):
    """The record of a kernel that timed out at the first problem."""

    def make(name="bad", tile=16, status="timeout", reason="did not end within 5 s\nmore", **changed):
        return make_record(name, config={"TILE": tile}, size=8, status=status, reason=reason, **changed)

    return make


def names(batch):
    return [f"{chain.name} {chain.config}" for chain in batch.chains]


def test_a_hang_costs_one_time_limit_and_its_further_rows_name_the_first(batch, failed):
    left, skips = HopelessRows().leave_out(batch(FURTHER, ("naive", 16), ("bad", 16)), [failed()])
    assert names(left) == ["naive TILE=16"]
    (skip,) = skips
    assert (skip.variant, skip.config, skip.status, skip.problem) == ("bad", {"TILE": 16}, "skipped", FURTHER)
    assert skip.reason == "not tried, because it timed out at 8 nn f32: did not end within 5 s"


def test_code_that_did_not_compile_is_not_reported_as_failed_again(batch, failed):
    fault, other = BuildError("bad.cu:7: error"), BuildError("bad.cu:9: another error")
    refused = failed(status="failed", reason="bad.cu:7: error")
    hopeless = batch(FURTHER, ("bad", 16), built={("bad", 16): fault})
    left, (skip,) = HopelessRows().leave_out(hopeless, [refused])
    assert left is None and "because it did not compile at 8 nn f32: bad.cu:7: error" in skip.reason
    assert HopelessRows().leave_out(batch(FURTHER, ("bad", 16), built={("bad", 16): other}), [refused])[1] == []


def test_other_configurations_variants_and_devices_are_tried(batch, failed):
    whole = batch(FURTHER, ("bad", 32), ("worse", 16))
    assert HopelessRows().leave_out(whole, [failed()]) == (whole, [])
    whole = batch(FURTHER, ("bad", 16))
    assert HopelessRows().leave_out(whole, [failed(backend="cpu")]) == (whole, [])


@pytest.mark.parametrize(("status", "reason"), [("failed", "crashed"), ("wrong", "zeros"), ("out of memory", "full")])
def test_a_kernel_that_failed_otherwise_is_tried_on(batch, failed, status, reason):
    whole = batch(FURTHER, ("bad", 16))
    assert HopelessRows().leave_out(whole, [failed(status=status, reason=reason)]) == (whole, [])


def test_the_best_of_a_sweep_is_measured_again_and_a_failed_row_gets_no_second_one(batch, failed):
    final = batch(FURTHER, ("bad", 16), phase="final")
    assert HopelessRows().leave_out(final, [failed()]) == (final, [])
    assert HopelessRows().leave_out(batch(FIRST, ("bad", 16), ("naive", 16)), [failed()])[1] == []


def test_failures_are_remembered_while_records_are_added(batch, failed, make_record):
    rows, records = HopelessRows(), [failed()]
    assert rows.leave_out(batch(FURTHER, ("bad", 16)), records)[0] is None
    records += [make_record("naive"), failed(tile=32)]
    assert rows.leave_out(batch(FURTHER, ("bad", 16), ("bad", 32)), records)[0] is None


def test_a_configuration_that_compiles_for_too_long_is_hopeless_too(batch, failed):
    fault = BuildTimeout("did not compile within 15 s")
    record = failed(reason="did not compile within 15 s")
    left, (skip,) = HopelessRows().leave_out(batch(FURTHER, ("bad", 16), built={("bad", 16): fault}), [record])
    assert left is None and "timed out at 8 nn f32: did not compile within 15 s" in skip.reason


SMALL, LARGE = Problem(8, 8, 8), Problem(16, 16, 16)


class Compiler:
    """Counts what it compiles; refuses the named variants."""

    def __init__(self, *refused, fault=BuildError):
        self.refused, self.fault, self.compiled, self.lock = refused, fault, [], threading.Lock()

    def compile(self, plan):
        with self.lock:
            self.compiled.append((plan.variant.name, plan.defines))
        if plan.variant.name in self.refused:
            raise self.fault(f"cuda/{plan.variant.name}.cu:7: error: as asked")
        return Artifact(f"{plan.variant.name} {plan.defines}", "", Build())


class FakeWorker:
    """Makes one record a plan, from scripted seconds by name and configuration; keeps the batches it saw."""

    def __init__(self, make_record, seconds=None):
        self.make_record, self.seconds, self.batches = make_record, seconds or {}, []
        self.devices = {"fake": describe_fake()}

    def experiment(self, batch):
        self.batches.append(batch)
        pairs = zip(batch.chains, batch.built, strict=True)
        return [self.record(batch, chain.steps[0], *built) for chain, built in pairs]

    def record(self, batch, plan, built):
        seconds = self.seconds.get(f"{plan.variant.name} {plan.config}".strip(), 1.0)
        good = isinstance(built, Artifact)
        return self.make_record(
            plan.variant.name,
            [seconds] * 2 if good else [],
            **{name: getattr(plan.problem, name) for name in "MNK"},
            config=dict(plan.config.values),
            status="ok" if good else "failed",
            reason="" if good else str(built),
            phase=batch.phase,
            batch=batch.index,
            batch_key=batch.key,
            batch_rows=len(batch.chains),
        )


@pytest.fixture
def run(make_record):
    """Run plans; returns the records, the worker, the compiler and what was emitted, in order."""

    def go(expanded, seconds=None, compiler=None, baseline="cublas", worker=None, rivals=(), policy=None, **options):
        worker, compiler = worker or FakeWorker(make_record, seconds), compiler or Compiler()
        emitted = []
        sweep = ChainSweep(list(map(make_chain, expanded)), policy or Policy(), baseline, rivals, shuffle=7)
        runner = Runner(worker, emitted.extend, **options)
        return measure_sweep(runner, {"fake": compiler}, sweep), worker, compiler, emitted

    return go


def labels(records):
    return [f"{record.variant} {record.configuration}".strip() for record in records]


def test_skips_come_first_and_every_row_is_emitted_as_it_is_made(run, make_plan, make_variant):
    skip = Skip(SMALL, make_variant("cublaslt"), Config(), "cuda", "no GPU")
    records, _, _, emitted = run([make_plan("naive", SMALL), skip, make_plan("cublas", SMALL)])
    assert [(record.variant, record.status) for record in records] == [
        ("cublaslt", "skipped"),
        ("naive", "ok"),
        ("cublas", "ok"),
    ]
    assert records[0].reason == "no GPU" and emitted == records


@pytest.mark.parametrize(
    ("rivals", "anchors"), [((), ("cublas",)), (("naive", "cublas", "tiled"), ("cublas", "naive", "tiled"))]
)
def test_a_batch_knows_what_its_plans_are_compared_with(run, make_plan, make_record, rivals, anchors):
    asked = []

    class Watching(FakeWorker):
        def experiment(self, batch):
            asked.append(batch.anchors)
            return super().experiment(batch)

    run([make_plan("naive", SMALL), make_plan("cublas", SMALL)], worker=Watching(make_record), rivals=rivals)
    assert asked == [anchors]


def test_the_rows_of_one_batch_are_emitted_before_the_next_begins(run, make_plan, make_record):
    seen = []

    class Watching(FakeWorker):
        def experiment(self, batch):
            seen.append(len(emitted_so_far))
            return super().experiment(batch)

    emitted_so_far = []
    worker = Watching(make_record)
    plans = [make_plan("naive", problem) for problem in (SMALL, LARGE)]
    sweep = ChainSweep(list(map(make_chain, plans)), Policy(), "")
    measure_sweep(Runner(worker, emitted_so_far.extend), {"fake": Compiler()}, sweep)
    assert seen == [0, 1]


def test_the_same_code_is_compiled_once_for_all_sizes(run, make_plan):
    plans = [make_plan("naive", problem) for problem in (SMALL, LARGE)]
    _, worker, compiler, _ = run(plans)
    assert len(compiler.compiled) == 1
    assert len(worker.batches) == 2


def test_what_does_not_compile_becomes_a_row_and_the_rest_goes_on(run, make_plan):
    plans = [make_plan(name, SMALL) for name in ("naive", "bad", "cublas")]
    records, *_ = run(plans, compiler=Compiler("bad"))
    assert {record.variant: record.status for record in records} == {"naive": "ok", "bad": "failed", "cublas": "ok"}
    assert records[1].reason == "cuda/bad.cu:7: error: as asked"


def test_a_missing_compiler_ends_the_run(run, make_plan):
    with pytest.raises(DeviceError):
        run([make_plan("naive", SMALL)], compiler=Compiler("naive", fault=DeviceError))


def test_the_best_of_a_sweep_is_measured_again_beside_the_baseline(run, make_plan):
    plans = [make_plan("tiled", SMALL, {"T": number}) for number in (8, 16, 32)]
    plans += [make_plan("naive", SMALL), make_plan("cublas", SMALL)]
    records, worker, compiler, _ = run(plans, {"tiled T=16": 0.5})
    finals = [record for record in records if record.phase == "final"]
    assert labels(finals) == ["tiled T=16", "cublas"]
    assert worker.batches[-1].phase == "final"
    assert len(compiler.compiled) == 5


def test_each_problem_has_its_own_winner(run, make_plan, make_record):
    plans = [make_plan("tiled", problem, {"T": number}) for problem in (SMALL, LARGE) for number in (8, 16)]

    class BySize(FakeWorker):
        def record(self, batch, plan, built):
            self.seconds = {f"tiled T={8 if plan.problem == SMALL else 16}": 0.5}
            return super().record(batch, plan, built)

    records, *_ = run(plans, worker=BySize(make_record))
    assert [(r.problem.M, r.configuration) for r in records if r.phase == "final"] == [(8, "T=8"), (16, "T=16")]


def test_a_variant_with_one_configuration_is_not_measured_again(run, make_plan):
    records, worker, *_ = run([make_plan("naive", SMALL), make_plan("cublas", SMALL)])
    assert len(records) == 2 and len(worker.batches) == 1


@pytest.mark.parametrize("seconds", [0.0, 2.0])
def test_under_steady_loads_all_rows_meet_the_best_of_a_baseline_that_was_swept(run, make_plan, seconds):
    plans = [make_plan("cublaslt", SMALL, {"ALGO": number}) for number in (0, 1)] + [make_plan("naive", SMALL)]
    policy = Policy(sustained=seconds)
    records, worker, *_ = run(plans, {"cublaslt ALGO=1": 0.5}, baseline="cublaslt", policy=policy)
    rows = {"cublaslt ALGO=1", "naive"} if seconds else {"cublaslt ALGO=1"}
    assert set(labels(record for record in records if record.phase == "final")) == rows
    repeated = ("cublaslt", "naive") if seconds else ("cublaslt",)
    assert [batch.repeated for batch in worker.batches] == [repeated, ()]


def test_a_configuration_that_failed_cannot_win(run, make_plan, make_record):
    plans = [make_plan("tiled", SMALL, {"T": number}) for number in (8, 16, 32)]

    class Wrong(FakeWorker):
        def record(self, batch, plan, built):
            record = super().record(batch, plan, built)
            return (
                make_record(record.variant, [0.1], status="wrong", **shape(record))
                if record.config["T"] == 8
                else record
            )

    def shape(record):
        return {name: getattr(record, name) for name in ("problem", "config", "phase", "batch")}

    records, *_ = run(plans, {"tiled T=16": 0.5}, worker=Wrong(make_record, {"tiled T=16": 0.5}))
    assert labels(record for record in records if record.phase == "final") == ["tiled T=16"]


def by_key(records):
    found = {}
    for record in records:
        found.setdefault(record.batch_key, []).append(record)
    return found


def test_a_resumed_run_repeats_no_complete_batch_and_ends_with_the_same_rows(run, make_plan):
    plans = [make_plan("tiled", problem, {"T": number}) for problem in (SMALL, LARGE) for number in (8, 16)]
    first, *_ = run(plans, {"tiled T=16": 0.5})
    again, worker, _, emitted = run(plans, {"tiled T=16": 0.5}, done=by_key(first))
    assert (worker.batches, emitted, again) == ([], [], first)


def test_a_resumed_run_measures_what_is_missing(run, make_plan):
    plans = [make_plan("naive", problem) for problem in (SMALL, LARGE)]
    first, *_ = run(plans)
    done = by_key([record for record in first if record.problem.M == 8])
    again, worker, _, emitted = run(plans, done=done)
    assert [batch.problem_or_network for batch in worker.batches] == [LARGE]
    assert [record.problem.M for record in emitted] == [16] and labels(again) == labels(first)


def test_changed_code_is_measured_again(run, make_plan):
    first, *_ = run([make_plan("naive", SMALL)])

    class Newer(Compiler):
        def compile(self, plan):
            return Artifact("newer " + super().compile(plan).key, "", Build())

    _, worker, *_ = run([make_plan("naive", SMALL)], compiler=Newer(), done=by_key(first))
    assert len(worker.batches) == 1


def test_after_an_interruption_no_batch_begins(run, make_plan):
    plans = [make_plan("naive", problem) for problem in (SMALL, LARGE)]
    asked = iter([False, True, True, True])
    records, worker, *_ = run(plans, is_interrupted=lambda: next(asked))
    assert [record.problem.M for record in records] == [8] and len(worker.batches) == 1


def algorithms(make_plan, count, problem=SMALL):
    return [make_plan("cublaslt", problem, {"ALGO": number}, kind="library", shortlist=3) for number in range(count)]


def test_of_many_algorithms_short_loads_choose_three_to_measure_in_full(run, make_plan):
    seconds = {f"cublaslt ALGO={number}": 1 + (number * 5 % 7) / 10 for number in range(7)}
    plans = [make_plan("naive", SMALL), *algorithms(make_plan, 7), make_plan("cublas", SMALL)]
    records, worker, _, emitted = run(plans, seconds)
    ranking, sweep, final = worker.batches
    assert [chain.name for chain in ranking.chains] == ["cublaslt"] * 7
    assert (ranking.phase, ranking.policy.rounds, ranking.policy.until) == ("ranking", 2, 0.0)
    fastest = sorted(range(7), key=lambda number: number * 5 % 7)[:3]
    full = [str(chain.config) for chain in sweep.chains if chain.name == "cublaslt"]
    assert full == [f"ALGO={number}" for number in sorted(fastest)]
    assert {str(chain.config) for chain in final.chains if chain.name == "cublaslt"} == {f"ALGO={fastest[0]}"}
    assert [batch.index for batch in worker.batches] == [1, 2, 3]
    assert {batch.shuffle for batch in worker.batches} == {7}
    assert [record.phase for record in emitted].count("ranking") == 7  # in the results file, but not returned
    assert "ranking" not in {record.phase for record in records}


def test_as_many_algorithms_as_the_shortlist_holds_need_no_short_loads(run, make_plan):
    _, worker, _, _ = run([*algorithms(make_plan, 3), make_plan("cublas", SMALL)])
    assert [batch.phase for batch in worker.batches] == ["sweep", "final"]


def test_where_no_algorithm_has_a_time_the_first_three_say_why(run, make_plan):
    records, _, _, _ = run(algorithms(make_plan, 7), compiler=Compiler("cublaslt"))
    assert [(record.configuration, record.status) for record in records] == [
        (f"ALGO={number}", "failed") for number in range(3)
    ]


def test_every_problem_has_a_shortlist_of_its_own(run, make_plan):
    plans = [*algorithms(make_plan, 5), *algorithms(make_plan, 5, LARGE)]
    _, worker, _, _ = run(plans)
    assert [batch.phase for batch in worker.batches] == ["ranking"] * 2 + ["sweep"] * 2 + ["final"] * 2
