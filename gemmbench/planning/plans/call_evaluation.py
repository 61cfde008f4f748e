"""What a plan passes to its compiler and its kernels: macros and arguments, with their numbers."""

from __future__ import annotations

from gemmbench.planning.manifests.code.model import Argument
from gemmbench.planning.manifests.expressions import Expression
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.evaluation import Excluded, Names, evaluate, to_row_major, write_part
from gemmbench.planning.plans.plan import PassedArgument
from gemmbench.planning.problems.problem import Problem

_RANGES = {
    "int": range(-(2**31), 2**31),
    "unsigned": range(2**32),
    "long long": range(-(2**63), 2**63),
    "unsigned long long": range(2**64),
}


def evaluate_macros(variant: Variant, names: Names, problem: Problem) -> tuple[tuple[str, str], ...]:
    """Return the macros that a manifest gives to code that belongs to someone else. Raises Excluded."""
    return tuple((name, write_part(variant, part, names, problem)) for name, part in variant.code.defines)


def evaluate_arguments(variant: Variant, names: Names, problem: Problem) -> tuple[PassedArgument, ...]:
    """Return the arguments of every kernel, none for the standard ones. Raises Excluded.

    They name the operands of `problem`, whatever the kernel calls them.
    """
    return tuple(_evaluate_argument(variant, argument, names, problem) for argument in variant.call.args)


def _evaluate_argument(variant: Variant, argument: Argument, names: Names, problem: Problem) -> PassedArgument:
    role = to_row_major(variant, argument.role)
    ctype = argument.ctype or problem.precision.scalar.ctype
    if not isinstance(argument.value, Expression):
        return PassedArgument(role, ctype, argument.value, argument.by_pointer)
    value = evaluate(variant, argument.value, names)
    if ctype in _RANGES and value not in _RANGES[ctype]:
        hint = f"; write long({argument.value})" if ctype == "int" else ""
        where = f"({variant.path}:{argument.value.line})"
        raise Excluded(f"the argument {argument.value} is {value}, which {ctype} cannot hold{hint} {where}")
    return PassedArgument(role, ctype, value)
