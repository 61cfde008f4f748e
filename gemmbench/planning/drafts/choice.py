"""Which function of a file a manifest launches: the one that looks most like a GEMM."""

from __future__ import annotations

from collections.abc import Sequence

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.drafts.declarations import Function
from gemmbench.planning.drafts.launch_sites import find_launch
from gemmbench.planning.drafts.roles import guess_arguments

_WANTED = ("A", "B", "C", "M", "N", "K")


def list_candidates(functions: Sequence[Function]) -> list[Function]:
    """The kernels of a file, and its launchers: functions of the host that take a stream."""
    return [each for each in functions if each.is_kernel or _is_launcher(each)]


def choose_function(functions: Sequence[Function], text: str, symbol: str | None, location: str) -> Function:
    """The function called `symbol`, or the best one. Raises UsageError if there is none."""
    candidates = list_candidates(functions)
    names = [each.name for each in candidates]
    if not candidates:
        fault = "no kernel and no launcher: no `__global__` function and none that takes a cudaStream_t"
        raise UsageError(f"{location}: {fault}; name the file that defines one")
    if symbol is None:
        return max(candidates, key=lambda each: _count_evidence(each, text))
    if symbol not in names:
        raise UsageError(f"{location}: no function '{symbol}'{nearest(symbol, names)}; it has {', '.join(names)}")
    return candidates[names.index(symbol)]


def _is_launcher(function: Function) -> bool:
    return not function.is_device_function and any("Stream" in each.type for each in function.parameters)


def _count_evidence(function: Function, text: str) -> tuple[int, bool, bool]:
    """How many arguments of a GEMM it has, and whether its launch is known; a launcher launches itself."""
    guesses = guess_arguments(function.parameters, {})
    known = {guess.text.partition("(")[2].rstrip(")") or guess.text for guess in guesses if not guess.doubt}
    launched = not function.is_kernel or find_launch(text, function.name) is not None
    return len(known.intersection(_WANTED)), launched, function.is_kernel
