"""Explains wrong launches from a kernel's text: what does not match its manifest, and which line to look at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gemmbench.backends.sources import read_whole_text
from gemmbench.planning.drafts.declarations import Function, read_functions
from gemmbench.planning.drafts.scanning import hide_comments, hide_directives
from gemmbench.planning.files import display_path
from gemmbench.planning.manifests.variant import Structure, Variant
from gemmbench.planning.plans.plan import Plan

_DYNAMIC_SHARED = re.compile(r"\bextern\b[^;{}]{0,200}\b__shared__\b")
_INTEGERS = re.compile(r"(?:unsigned|signed|int|short|long|char|u?int\d+_t)(?: (?:int|long|char|short))*")


def find_missing_shared(steps: Sequence[Plan]) -> str:
    """Say where a kernel declares dynamic shared memory that its manifest does not provide, or return ""."""
    for step in steps:
        variant, launch = step.variant, step.variant.launch
        if not variant.is_kernel or launch is None or any(geometry.shared for _, geometry in step.launches):
            continue
        kernel = _find_kernel(variant)
        if kernel and _DYNAMIC_SHARED.search(kernel.body):
            where = f" ({variant.path}:{launch.shared.line})" if launch.shared.line else f" ({variant.path})"
            return f"{kernel.name} declares `extern __shared__`, but `shared` is 0 bytes{where}"
    return ""


def find_null_arguments(steps: Sequence[Plan]) -> str:
    """Say which arguments of a kernel are null pointers in its manifest, or return ""."""
    null = list[str]()
    for step in steps:
        for _, _, argument in step.variant.call.list_arguments():
            if argument.role == "bias" and "bias" not in step.fused:
                null.append("`bias` is a null pointer where the problem has no bias")
            if argument.role == "null":
                null.append("`args` gives it a null pointer")
    return f"{null[0]} ({steps[0].variant.path})" if null else ""


def find_integer_pointer(step: Plan) -> str:
    """Return a sentence about a kernel parameter that points to integers although the problem has none, or ""."""
    kernel = _find_kernel(step.variant) if step.variant.is_kernel else None
    if kernel is None or step.problem.storage("A").is_integer:
        return ""
    found = [each for each in kernel.parameters if each.pointer and _INTEGERS.fullmatch(each.type)]
    wanted = step.problem.precision_name
    named = ", ".join(f"`{each.type}* {each.name}`" for each in found)
    return f"{kernel.name} takes {named}, which are integers, not {wanted}" if found else ""


def find_fixed_sizes(step: Plan) -> str:
    """Say that a kernel works only for sizes that its text fixes but its manifest does not require, or return ""."""
    variant = step.variant
    known = bool(step.macros or variant.tensor_maps or (variant.launch and variant.launch.template))
    if not variant.is_kernel or not step.arguments or known or any(not each.role for each in step.arguments):
        return ""
    if any({"M", "N", "K"} & set(rule.names) for rule in variant.require):
        return ""
    name = variant.launch.symbol if variant.launch else variant.name
    return f"{name} takes no size, so its sizes are in its text; write them under `require`, as in `M == 1024`"


def find_line(step: Plan, cause: str, words: str) -> str:
    """Return the first line of a kernel, such as `mine.cu:16`, that may cause what `words` describes, or "".

    This is the access to a matrix with a wrong address, the store to C if its edge is wrong, or the loop that loses the
    last products.
    """
    variant = step.variant
    kernel = _find_kernel(variant) if variant.is_kernel else None
    if kernel is None or len(kernel.parameters) != len(variant.call.args):
        return ""
    code = hide_directives(hide_comments(variant.text))
    start = code.find(kernel.body)
    names = dict[str, str]()
    for argument, parameter in zip(variant.call.args, kernel.parameters, strict=True):
        fields = argument.fields if isinstance(argument, Structure) else (("", argument),)
        for field, held in fields if parameter.name else ():
            names[held.role or str(held.value)] = re.escape(f"{parameter.name}.{field}".rstrip("."))
    patterns = _list_patterns(cause, words, names)
    found = next(filter(None, (re.search(pattern, kernel.body) for pattern in patterns)), None)
    if found is None or start < 0:
        return ""
    file = display_path(Path(variant.code.file)) if variant.code.file else variant.path
    return f"{file}:{code.count(chr(10), 0, start + found.start()) + 1}"


def _list_patterns(cause: str, words: str, names: Mapping[str, str]) -> Iterator[str]:
    """Yield patterns to search for in a kernel's text, made from its parameters' names. The best come first."""
    stored = r"\b{}\s*\[[^;]*\]\s*[-+*/]?=(?!=)"
    if cause.startswith("edge") and "C" in names:
        yield stored.format(names["C"])
    if cause == "last k lost" and "K" in names:
        yield rf"\bfor\s*\([^;]*;[^;]*\b{names['K']}\b"
    if not cause.startswith(("index", "transposed")):
        return
    operands = [names[each] for each in re.findall(r"\b[ABC]\b", words) if each in names]
    for name in operands:
        moved = rf"\b{name}\s*(?:\+=|=\s*{name}\b)"
        if "advance" in cause:
            yield rf"{moved}(?![\s\S]*{moved})"
        if "coordinates" in cause:
            yield moved
        if name == names.get("C"):
            yield stored.format(name)
        yield rf"\b{name}\s*\["


def _find_kernel(variant: Variant) -> Function | None:
    """Return the kernel that a variant launches last, as found in its text, or None."""
    symbol = variant.launch.symbol.rpartition("::")[2] if variant.launch else ""
    text = hide_comments(read_whole_text(variant))
    return next((each for each in read_functions(text) if each.is_kernel and each.name == symbol), None)
