"""Compiling ahead: each distinct code once, on all cores."""

import threading

from gemmbench.backends.base import Artifact, Build
from gemmbench.bench.build import compile_plans
from gemmbench.bench.experiments.context import ignore_progress
from gemmbench.planning.problems.problem import Problem

SMALL = Problem(8, 8, 8)


class CountingCompiler:
    """Keeps what it compiles."""

    def __init__(self):
        self.compiled, self.lock = [], threading.Lock()

    def compile(self, plan):
        with self.lock:
            self.compiled.append(plan)
        return Artifact(f"{plan.variant.path} {plan.defines}", "", Build())


def test_another_layout_or_configuration_is_other_code(make_plan):
    compiler = CountingCompiler()
    plans = [make_plan("naive", Problem(8, 8, 8, layout)) for layout in ("nn", "tt")]
    plans += [make_plan("naive", SMALL, {"T": number}) for number in (8, 16)]
    built = compile_plans(plans, {"fake": compiler}, ignore_progress)
    assert len(compiler.compiled) == 4 and set(built) == set(plans)


def test_what_one_row_picks_at_two_sizes_is_compiled_twice(make_plan):
    built = []

    class Compiler:
        def compile(self, plan):
            built.append(plan.variant.path)
            return Artifact(plan.variant.path, "", Build())

    plans = [make_plan("best", Problem(size, 8, 8), path=f"cuda/{size}.cu") for size in (8, 16, 8)]
    found = compile_plans(plans, {"fake": Compiler()}, ignore_progress)
    assert sorted(built) == ["cuda/16.cu", "cuda/8.cu"]
    assert [found[plan].key for plan in plans] == ["cuda/8.cu", "cuda/16.cu", "cuda/8.cu"]
