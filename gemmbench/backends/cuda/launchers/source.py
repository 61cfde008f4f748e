"""The text of a launcher that nvcc gets: launcher.h, the code, and the functions that Python calls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from gemmbench.backends.cuda.launchers.arguments import list_arguments
from gemmbench.planning.plans.plan import Plan

RUN, WORKSPACE = "gemmbench_run", "gemmbench_workspace"
"""The functions that call those of the manifest."""

_HEADER = Path(__file__).parents[1] / "launcher.h"
_CALL = """extern "C" void {name}(const gemmbench::Slot* slots, gemmbench::Outcome* outcome) {{
    gemmbench::Arguments<{kinds}>::call({function}, slots, outcome);
}}"""
_SIZES = "iii"
_PLACE = "call by gemmbench"
_UNKNOWN = re.compile(rf'^{_PLACE}\(\d+\): error: .*?"([^"]+)" (?:is undefined|has no member "([^"]+)")', re.MULTILINE)
_REFUSED = re.compile(rf'^{_HEADER.name}\(\d+\): error: static assertion failed with "([^"]+)"', re.MULTILINE)


def wrap_launcher(plan: Plan, text: str) -> str:
    """The whole text of a plan whose host function launches its kernels; `text` is its code."""
    call = plan.variant.call
    kinds = [argument.kind for argument in list_arguments(plan)]
    header = f'#line 1 "{_HEADER.name}"\n{_HEADER.read_text(encoding="utf-8")}'
    parts = [header, text, f'#line 1 "{_PLACE}"']
    parts.append(_write_call(RUN, call.host, kinds))
    if call.host_workspace:
        parts.append(_write_call(WORKSPACE, call.host_workspace, _SIZES))
    return "\n".join(parts) + "\n"


def explain_call_errors(plan: Plan, output: str) -> str:
    """Why the host function cannot be called, from what nvcc printed; "" if that is not the fault."""
    path, host = plan.variant.path, plan.variant.call.host
    if unknown := _UNKNOWN.search(output):
        return f"{path}: no host function '{unknown[2] or unknown[1]}' in the code; correct the manifest, or define it"
    if refused := _REFUSED.search(output):
        return f"{path}: {refused[1]}: it passes {_list_arguments(plan)} to {host}; list the right ones under `args`"
    return ""


def _list_arguments(plan: Plan) -> str:
    return ", ".join(str(each) for each in list_arguments(plan))


def _write_call(name: str, function: str, kinds: Sequence[str]) -> str:
    return _CALL.format(name=name, function=function, kinds=", ".join(f"'{kind}'" for kind in kinds))
