"""Calls of Python functions as manifests write them: `matmul(A, B)` or `ModelNew().cuda()(A, B)`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from gemmbench.backends.cuda.device_arrays import GemmProblem
from gemmbench.planning.manifests.python_code import FUNCTION
from gemmbench.planning.manifests.variant import Variant

_TAKE = "gemmbench_take_arguments"


def name_sizes(problem: GemmProblem) -> dict[str, object]:
    """Return the names of a problem in a call, without those of its operands."""
    sizes = {"M": problem.M, "N": problem.N, "K": problem.K, "count": problem.count}
    sizes |= {"groups": len(problem.groups)}
    return {**sizes, "alpha": problem.alpha, "beta": problem.beta, "problem": problem}


class ParsedCall:
    """A call in Python text, whose names are those of a module and of the arguments of `bind`."""

    def __init__(self, text: str, module: ModuleType):
        self._module, tree = module, ast.parse(text, mode="eval").body
        assert isinstance(tree, ast.Call), "the manifest was checked"
        take = ast.copy_location(ast.Name(_TAKE, ast.Load()), tree)
        arguments = ast.copy_location(ast.Call(take, tree.args, tree.keywords), tree)
        self._function, self._arguments = (
            compile(ast.Expression(each), f"<{text}>", "eval") for each in (tree.func, arguments)
        )

    def find_function(self, names: Mapping[str, object]) -> Callable[..., object]:
        """Return what precedes the last parenthesis. Raises whatever the code raises."""
        found: Callable[..., object] = self._evaluate(self._function, names)
        return found

    def bind(self, function: Callable[..., object] | None, names: Mapping[str, object]) -> Callable[[], object]:
        """Return the call of `function` with its arguments evaluated; None stands for find_function(names)."""
        arguments, keywords = self._evaluate(self._arguments, {**names, _TAKE: lambda *args, **keys: (args, keys)})
        return partial(function or self.find_function(names), *arguments, **keywords)

    def _evaluate(self, code: Any, names: Mapping[str, object]) -> Any:
        return eval(code, {**vars(self._module), **names})


def find_function(variant: Variant, module: ModuleType, names: Mapping[str, object]) -> Callable[..., object]:
    """Return the function of a variant: `gemm`, or what its `call` calls. Raises whatever the code raises.

    `names` are what its text may read besides the module.
    """
    call = variant.python.call
    if not call:
        gemm: Callable[..., object] = getattr(module, FUNCTION)
        return gemm
    return ParsedCall(call, module).find_function(names)
