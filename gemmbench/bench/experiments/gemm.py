"""A GEMM as the workload of an experiment."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from gemmbench.bench.experiments.auditing.audit_case import choose_audit_fill
from gemmbench.bench.experiments.auditing.gemm_case import GemmCase
from gemmbench.bench.experiments.workload import Judge, VerificationCase, Workload
from gemmbench.bench.operands.arena import Inputs
from gemmbench.bench.operands.fill import Operands
from gemmbench.bench.operands.layouts import GemmLayout
from gemmbench.bench.verify.reference import Check, Reference, make_reference
from gemmbench.bench.verify.relaunch import Relauncher, explain_by_relaunch
from gemmbench.bench.verify.single_products import make_single_products
from gemmbench.bench.verify.special_values import SpecialValues, has_special_values, make_special_values
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.overrides import Fill
from gemmbench.planning.sweeps.policy import Policy

EXACT_SCALARS = ((2.0, 0.0), (-1.0, 3.0))
"""alpha and beta on integers."""
UNSCALED = (1.0, 0.0)


def gemm_workload(problem: Problem, thorough: bool = False, unscaled: bool = False) -> Workload:
    """Verified on integers with EXACT_SCALARS, on single products, and on the data that are timed.

    If `unscaled`, also on integers with alpha 1 and beta 0, for kernels that take no others. If `thorough`,
    also with special values, unless the problem is too small or too large for them.
    """

    @cache
    def find_reference(fill: Fill, seed: int) -> Reference:
        return make_reference(problem, fill, seed, problem.alpha, problem.beta)

    @cache
    def find_inputs(fill: Fill, seed: int) -> Inputs:
        return make_inputs(find_reference(fill, seed).operands, problem.beta)

    def make_cases(seed: int) -> Iterator[VerificationCase]:
        scalars = EXACT_SCALARS if problem.beta else EXACT_SCALARS[:1]
        for alpha, beta in (*scalars, *([UNSCALED] if unscaled else [])):
            yield _make_exact_case(make_reference(problem, "ints", seed + 1, alpha, beta))
        products = make_single_products(problem, seed + 3)
        yield _make_case(products.reference, products.judge)
        real = find_reference("uniform", seed)
        yield _make_case(real, real.check_rounding)
        if thorough and has_special_values(problem):
            yield from map(_make_special_case, make_special_values(problem, seed))

    def make_timed_inputs(policy: Policy) -> Inputs:
        return find_inputs(policy.data, policy.seed)

    def make_audit_case(policy: Policy) -> GemmCase:
        fill = choose_audit_fill(policy.data)
        return GemmCase(find_inputs(fill, policy.seed), find_reference(fill, policy.seed))

    touched = sum(problem.operand_bytes(operand) for operand in "ABC")
    return Workload(GemmLayout(problem), touched, make_cases, make_timed_inputs, make_audit_case)


def make_inputs(operands: Operands, beta: float) -> Inputs:
    """A and B, and C if beta makes a kernel read it."""
    return Inputs((operands.A, operands.B), operands.C if beta else None)


def _make_special_case(values: SpecialValues) -> VerificationCase:
    inputs = make_inputs(values.operands, values.beta)
    return VerificationCase(inputs, False, values.judge, (values.alpha, values.beta))


def _make_exact_case(reference: Reference) -> VerificationCase:
    return _make_case(reference, lambda result, _: reference.check_exact(result), exact=True)


def _make_case(reference: Reference, judge: Judge, exact: bool = False) -> VerificationCase:
    def explain(check: Check, result: np.ndarray, relauncher: Relauncher, passed: bool) -> Check:
        return explain_by_relaunch(check, result, reference, relauncher, passed)

    inputs, scalars = make_inputs(reference.operands, reference.beta), (reference.alpha, reference.beta)
    return VerificationCase(inputs, exact, judge, scalars, explain)
