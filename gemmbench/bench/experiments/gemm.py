"""A GEMM as the workload of an experiment."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from gemmbench.bench.experiments.workload import Judge, VerificationCase, Workload
from gemmbench.bench.operands.arena import Inputs
from gemmbench.bench.operands.fill import Operands, make_operands
from gemmbench.bench.operands.layouts import GemmLayout
from gemmbench.bench.verify.reference import Check, Reference, make_reference
from gemmbench.bench.verify.relaunch import Relauncher, explain_by_relaunch
from gemmbench.bench.verify.single_products import make_single_products
from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.sweeps.policy import Policy

EXACT_SCALARS = ((2.0, 0.0), (-1.0, 3.0))
"""alpha and beta on integers."""


def gemm_workload(problem: Problem) -> Workload:
    """Verified on integers with EXACT_SCALARS, on single products, and on real data with the problem's scalars."""
    touched = sum(problem.operand_bytes(operand) for operand in "ABC")
    return Workload(GemmLayout(problem), touched, partial(_make_cases, problem), partial(_make_timed_inputs, problem))


def make_inputs(operands: Operands, beta: float) -> Inputs:
    """A and B, and C if beta makes a kernel read it."""
    return Inputs((operands.A, operands.B), operands.C if beta else None)


def _make_timed_inputs(problem: Problem, policy: Policy) -> Inputs:
    return make_inputs(make_operands(problem, policy.data, policy.seed), problem.beta)


def _make_cases(problem: Problem, seed: int) -> Iterator[VerificationCase]:
    for alpha, beta in EXACT_SCALARS if problem.beta else EXACT_SCALARS[:1]:
        yield _make_exact_case(make_reference(problem, "ints", seed + 1, alpha, beta))
    products = make_single_products(problem, seed + 3)
    yield _make_case(products.reference, products.judge)
    real = make_reference(problem, "uniform", seed + 2, problem.alpha, problem.beta)
    yield _make_case(real, real.check_rounding)


def _make_exact_case(reference: Reference) -> VerificationCase:
    return _make_case(reference, lambda result, _: reference.check_exact(result), exact=True)


def _make_case(reference: Reference, judge: Judge, exact: bool = False) -> VerificationCase:
    def explain(check: Check, result: np.ndarray, relauncher: Relauncher, passed: bool) -> Check:
        return explain_by_relaunch(check, result, reference, relauncher, passed)

    inputs, scalars = make_inputs(reference.operands, reference.beta), (reference.alpha, reference.beta)
    return VerificationCase(inputs, exact, judge, scalars, explain)
