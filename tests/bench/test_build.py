"""Compiling ahead: each distinct code once, on all cores."""

import errno
import os
import threading
import time
from dataclasses import replace

import pytest

from gemmbench.analysis.toolkit import run_limited
from gemmbench.backends.base import Artifact, Build
from gemmbench.bench import build
from gemmbench.bench.experiments.context import ignore_progress
from gemmbench.errors import BuildError, BuildTimeout, DeviceError, HostError
from gemmbench.planning.manifests.variant import Code, Flag
from gemmbench.planning.problems import Problem

SMALL = Problem(8, 8, 8)


class Compiler:
    """Keeps what it compiles; `work` is done for each plan, and may raise."""

    def __init__(self, work=lambda plan: None):
        self.work, self.compiled, self.lock = work, [], threading.Lock()

    def compile(self, plan):
        with self.lock:
            self.compiled.append(plan)
        self.work(plan)
        return Artifact(plan.variant.path, "", Build())


def compile_plans(plans, compiler, progress=ignore_progress):
    return build.compile_plans(plans, {"fake": compiler}, progress)


def read_t(plan):
    return dict(plan.config.values)["T"]


def test_another_layout_or_configuration_and_other_flags_are_other_code(make_plan):
    compiler = Compiler()
    plans = [make_plan("naive", Problem(8, 8, 8, layout)) for layout in ("nn", "tt")]
    plans += [make_plan("naive", SMALL, {"T": number}) for number in (8, 16)]
    plans += [make_plan("naive", SMALL, code=Code(flags=(Flag("-use_fast_math"),)))]
    built = compile_plans([*plans, replace(plans[0], problem=Problem(16, 8, 8))], compiler)
    assert len(compiler.compiled) == 5 and set(built) > set(plans)


def test_what_one_row_picks_at_two_sizes_is_compiled_twice(make_plan):
    compiler = Compiler()
    plans = [make_plan("best", Problem(size, 8, 8), path=f"cuda/{size}.cu") for size in (8, 16, 8)]
    found = compile_plans(plans, compiler)
    assert sorted(plan.variant.path for plan in compiler.compiled) == ["cuda/16.cu", "cuda/8.cu"]
    assert [found[plan].key for plan in plans] == ["cuda/8.cu", "cuda/16.cu", "cuda/8.cu"]


def test_threads_that_are_held_back_compile_later(make_plan):
    held, running, most = threading.Event(), [], []

    def hold(plan):
        running.append(plan)
        most.append(len(running))
        held.wait(10)
        running.remove(plan)

    def wait_until(holds):
        end = time.monotonic() + 10
        while not holds() and time.monotonic() < end:
            time.sleep(0.01)

    compiler = Compiler(hold)
    with build.open_pool({"fake": compiler}, threads=3, held_back=2) as pool:
        jobs = [pool.submit(make_plan("naive", SMALL, {"T": number})) for number in range(5)]
        wait_until(lambda: running)
        time.sleep(0.05)
        assert len(running) == 1
        pool.use_all_threads()
        wait_until(lambda: len(running) == 3)
        held.set()
        assert [job.result().key for job in jobs]
    assert max(most) == 3 and len(compiler.compiled) == 5


def test_an_exception_of_the_host_costs_the_code_that_it_hit_and_a_missing_compiler_everything(make_plan):
    def fail_with(fault):
        def fail(plan):
            if plan.variant.name == "bad":
                raise fault

        return Compiler(fail)

    plans = [make_plan("bad", path="cuda/bad.cu"), make_plan("naive")]
    built = compile_plans(plans, fail_with(OSError("disk")))
    assert isinstance(built[plans[0]], HostError) and "OSError: disk (bench/build.py:" in str(built[plans[0]])
    assert built[plans[1]].key == "cuda/naive.cu"
    with pytest.raises(DeviceError, match="no nvcc"):
        compile_plans(plans, fail_with(DeviceError("no nvcc")))
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(
        DeviceError,
        match=r"cannot write compiled code to .*: No space left on device; set GEMMBENCH_CACHE_DIR to another folder",
    ):
        compile_plans(plans, fail_with(full))


def test_an_interruption_ends_what_still_compiles(make_plan):
    def interrupt(what, done, of, left=None):
        raise KeyboardInterrupt

    compiler = Compiler(lambda plan: run_limited(["sleep", "0" if plan.variant.name == "quick" else "60"], 100))
    plans = [make_plan(name, path=f"cuda/{name}.cu") for name in ("quick", *(f"slow{i}" for i in range(20)))]
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        compile_plans(plans, compiler, interrupt)
    assert time.monotonic() - started < 30


def test_a_configuration_whose_compilation_timed_out_is_compiled_once(make_plan, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 1)

    def time_out(plan):
        if read_t(plan) == 8:
            raise BuildTimeout("did not compile within 1 s")

    compiler = Compiler(time_out)
    layouts = [Problem(8, 8, 8, layout) for layout in ("nn", "nt", "tn")]
    plans = [make_plan("naive", problem, {"T": number}) for number in (8, 16) for problem in layouts]
    built = compile_plans(plans, compiler)
    assert [read_t(plan) for plan in compiler.compiled] == [8, 16, 16, 16]
    assert [str(built[plan]) for plan in plans[:3]] == ["did not compile within 1 s"] * 3


def test_an_interruption_ends_the_compilers(make_plan):
    class Endless:
        def compile(self, plan):
            ended.wait(60)
            raise BuildError("ended")

    ended, plan = threading.Event(), make_plan("naive", Problem(8, 8, 8))
    asked = iter([False, True])

    def is_interrupted():
        answer = next(asked)
        if answer:
            ended.set()
        return answer

    assert build.compile_plans([plan], {plan.device: Endless()}, ignore_progress, is_interrupted) == {}


def test_what_is_given_up_is_not_compiled_unless_it_is_submitted_again(make_plan):
    begun, go_on = threading.Event(), threading.Event()

    def work(_):
        begun.set()
        go_on.wait(10)

    compiler = Compiler(work)
    plans = [make_plan("naive", SMALL, {"T": number}) for number in (1, 2, 3)]
    with build.open_pool({"fake": compiler}, threads=1) as pool:
        jobs = [pool.submit(plan) for plan in plans]
        assert begun.wait(10)
        pool.cancel(jobs)
        again = pool.submit(plans[2])
        go_on.set()
        assert isinstance(again.result(10), Artifact) and isinstance(jobs[0].result(10), Artifact)
    assert [read_t(plan) for plan in compiler.compiled] == [1, 3]
