"""Explains wrong launches from a kernel's text: what does not match its manifest, and which lines to look at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gemmbench.backends.sources import read_whole_text
from gemmbench.planning.drafts.declarations import Function, read_functions
from gemmbench.planning.drafts.scanning import find_end, hide_comments, hide_directives
from gemmbench.planning.epilogues import EPILOGUE_STEPS
from gemmbench.planning.files import display_path
from gemmbench.planning.manifests.variant import GROUPS, Argument, Structure, Variant
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.problems import OFFSETS, SCALED

_STANDARD_ROLES = ("M", "N", "K", "alpha", "A", "B", "beta", "C")
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


def find_null_arguments(steps: Sequence[Plan], named: bool = True) -> str:
    """Say which arguments of a kernel are null pointers, or return "".

    Unless a null pointer is `named` in what is known of its fault, it must be one that the text does not look out for.
    """
    null = list[str]()
    for step in steps:
        roles = [argument.role for _, _, argument in step.variant.call.list_arguments()]
        for role in roles or step.variant.trailing:
            macro, where = _find_missing_operand(step, role)
            if macro and (named or not re.search(rf"\b{macro}\b", hide_comments(step.variant.text))):
                null.append(f"`{role}` is a null pointer {where}, so look at the macro {macro} first")
            if role == "null" and named:
                null.append("`args` gives it a null pointer")
    return f"{null[0]} ({steps[0].variant.path})" if null else ""


def _find_missing_operand(step: Plan, role: str) -> tuple[str, str]:
    """Return the macro that tells a launch without this operand, and which launches those are; empty if it has one."""
    if role in EPILOGUE_STEPS and role not in step.fused:
        return role.upper(), "where none is asked for"
    if role in SCALED and step.problem.precision.scales is None:
        return "SCALE_K", f"in {step.problem.precision_name}, which has no scales"
    if role == OFFSETS and not step.launched.groups:
        return "GROUPS", "for one product"
    return "", ""


def find_integer_pointer(step: Plan) -> str:
    """Return a sentence about a kernel parameter that points to integers although the problem has none, or ""."""
    kernel = _find_kernel(step.variant) if step.variant.is_kernel else None
    if kernel is None or step.problem.storage("A").is_integer:
        return ""
    found = [each for each in kernel.parameters if each.pointer and _INTEGERS.fullmatch(each.type)]
    found = found[:-1] if GROUPS in step.variant.kinds else found  # their offsets come after the matrices
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


@dataclass(frozen=True)
class _Body:
    """The body of a kernel, its parameters' names by role, escaped for patterns, and where it begins."""

    text: str
    names: Mapping[str, str]
    file: str
    line: int

    def name_sizes(self) -> str:
        """Return a pattern for the names of M, N and K; "" if it takes none."""
        return "|".join(self.names[each] for each in _SIZES if each in self.names)

    def cite(self, offset: int) -> str:
        """Return the place of a character, such as `mine.cu:16`."""
        return f"{self.file}:{self.line + self.text.count(chr(10), 0, offset)}"


def _read_body(variant: Variant) -> _Body | None:
    """Return the body of a variant's last kernel; None if it is not in the variant's own file."""
    kernel = _find_kernel(variant) if variant.is_kernel else None
    arguments = variant.call.args or tuple(map(Argument, _STANDARD_ROLES))
    if kernel is None or len(kernel.parameters) < len(arguments):
        return None
    code = hide_directives(hide_comments(variant.text))
    if (start := code.find(kernel.body)) < 0:
        return None
    names = dict[str, str]()
    for argument, parameter in zip(arguments, kernel.parameters, strict=False):
        fields = argument.fields if isinstance(argument, Structure) else (("", argument),)
        for field, held in fields if parameter.name else ():
            names[held.role or str(held.value)] = re.escape(f"{parameter.name}.{field}".rstrip("."))
    file = display_path(Path(variant.code.file)) if variant.code.file else variant.path
    return _Body(kernel.body, names, file, code.count("\n", 0, start) + 1)


def find_line(variant: Variant, cause: str, words: str) -> str:
    """Return the first line of a kernel, such as `mine.cu:16`, that may cause what `words` describes, or "".

    It is the access to a matrix with a wrong address, the store of a C with a wrong edge, or the loop that loses
    products.
    """
    body = _read_body(variant)
    if body is None:
        return ""
    if cause in _LOST:
        loop = _find_losing_loop(body, cause)
        return body.cite(loop.start) if loop else ""
    patterns = _list_patterns(cause, words, body.names)
    found = next(filter(None, (re.search(pattern, body.text) for pattern in patterns)), None)
    return body.cite(found.start()) if found else ""


def _list_patterns(cause: str, words: str, names: Mapping[str, str]) -> Iterator[str]:
    """Yield patterns to search for in a kernel's text, made from its parameters' names. The best come first."""
    stored = r"\b{}\s*\[[^;]*\]\s*[-+*/]?=(?!=)"
    if cause.startswith("edge") and "C" in names:
        yield stored.format(names["C"])
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


_LOST = ("last k lost", "every p-th k lost")
_SIZES = "MNK"
_SUM = re.compile(r"\+=[^;]*\*|\bfmaf?\s*\(|=[^;=]*\+[^;]*\*")
_ENDS_EARLY = re.compile(r"[^<]*<[^<=].*-\s*\d+\s*", re.DOTALL)
"""A condition such as `k < BK - 1`."""


@dataclass(frozen=True)
class _Loop:
    """A `for` loop: its span in a text, its condition, and whether it adds products."""

    start: int
    end: int
    condition: str
    adds: bool


def _list_loops(text: str) -> Iterator[_Loop]:
    """Yield the loops of a text in order."""
    for found in re.finditer(r"\bfor\s*(?=\()", text):
        head = find_end(text, found.end())
        end = _find_statement_end(text, head)
        if len(parts := text[found.end() : head].split(";")) == len(("start", "condition", "step")):
            yield _Loop(found.start(), end, parts[1], _SUM.search(text, head, end) is not None)


def _find_statement_end(text: str, start: int) -> int:
    while start < len(text) and text[start] not in "{;":
        start = find_end(text, start) if text[start] in "([" else start + 1
    return find_end(text, start) if text[start : start + 1] == "{" else start + 1


def _find_losing_loop(body: _Body, cause: str) -> _Loop | None:
    """Return the loop that loses products: that over K, or one inside it that adds them.

    It is inside if its condition ends early, or if one product in p is lost.
    """
    adding = [each for each in _list_loops(body.text) if each.adds]
    over_k = body.names.get("K") or body.name_sizes()
    named = [each for each in adding if over_k and re.search(rf"\b(?:{over_k})\b", each.condition)]
    outer = next(iter(named or adding), None)
    inside = [each for each in adding if outer and outer.start < each.start < outer.end]
    early = [each for each in inside if _ENDS_EARLY.fullmatch(each.condition)]
    return next(iter([*early, *(inside if cause.startswith("every") else ())]), outer)


_ASSIGNED = re.compile(r"\b([A-Za-z_]\w*)\s*=(?!=)([^;,]*)")
_COUNTED = re.compile(r"\b([A-Za-z_]\w*)\s*(?:\+=|-=|\+\+|--)|(?:\+\+|--)\s*([A-Za-z_]\w*)")
_STRICT = {"<=": "<", ">": ">=", ">=": ">", "<": "<="}


@dataclass(frozen=True)
class _LooseBound:
    """A comparison that lets an index be as large as a size, where it is, and what is right."""

    written: str
    right: str
    lets: str
    place: str


def explain_loose_bounds(variant: Variant) -> str:
    """Say which comparisons of a kernel let an index be as large as the size, or return "".

    Such as "`row <= M` at mine.cu:6 lets row = M through; write `row < M`".
    """
    body = _read_body(variant)
    found = list(_list_loose_bounds(body)) if body else []
    if not found:
        return ""
    is_one_place = len({each.place for each in found}) == 1
    written = " and ".join(each.written if is_one_place else f"{each.written} at {each.place}" for each in found)
    where = f" at {found[0].place}" if is_one_place else ""
    lets = f"{'lets' if len(found) == 1 else 'let'} {' and '.join(each.lets for each in found)} through"
    return f"{written}{where} {lets}; write {' and '.join(each.right for each in found)}"


def _list_loose_bounds(body: _Body) -> Iterator[_LooseBound]:
    """Yield comparisons of a whole name with a size.

    The name is an index of a thread or a counter, but not of a loop that counts from 1: other numbers, such as a
    leading dimension, may equal a size.
    """
    if not (size := body.name_sizes()):
        return
    indices = _list_indices(body.text)
    compared = rf"(?P<left>[A-Za-z_]\w*)\s*(?P<sign><=|>)\s*(?P<size>{size})"
    turned = rf"(?P<size>{size})\s*(?P<sign>>=|<)\s*(?P<right>[A-Za-z_]\w*)"
    for pattern in (compared, turned):
        for found in re.finditer(rf"[(&|!,;?=]\s*(?={pattern}\s*[)&|,;?])", body.text):
            groups = found.groupdict()
            index, size, sign = groups.get("left") or groups["right"], groups["size"], groups["sign"]
            from_one = re.search(rf"\b{index}\s*=\s*1\s*$", body.text[: found.start()])
            if index in body.names.values() or index not in indices or from_one:
                continue
            one, other = (index, size) if "left" in groups else (size, index)
            texts = f"`{one} {sign} {other}`", f"`{one} {_STRICT[sign]} {other}`"
            yield _LooseBound(*texts, f"{index} = {size}", body.cite(found.end()))


def _list_indices(text: str) -> set[str]:
    """Return the names that count, and those assigned from the place of a thread or from such names."""
    found = {one or other for one, other in _COUNTED.findall(text)} | {"threadIdx", "blockIdx"}
    assigned = [(name, set(re.findall(r"[A-Za-z_]\w*", value))) for name, value in _ASSIGNED.findall(text)]
    while more := {name for name, read in assigned if read & found} - found:
        found |= more
    return found


def question_columns(variant: Variant, operand: str) -> str:
    """Say where a kernel reads A or B, or writes C, by columns, and what to think of that.

    Such as "mine.cu:9 reads A by columns (`A[k * N + row]`); if A is stored by rows, this is the mistake".
    """
    body = _read_body(variant)
    name = body.names.get(operand) if body else None
    found = re.search(rf"\b{name}\s*(?=\[)", body.text) if body and name else None
    does = f"{'writes' if operand == 'C' else 'reads'} {operand} by columns"
    if body and found:
        text = body.text[found.start() : find_end(body.text, found.end())]
        does = f"{body.cite(found.start())} {does} (`{' '.join(text.split())}`)"
    return f"{does}; if {operand} is stored by rows, this is the mistake"


def _find_kernel(variant: Variant) -> Function | None:
    """Return the kernel that a variant launches last, as found in its text, or None."""
    symbol = variant.launch.symbol.rpartition("::")[2] if variant.launch else ""
    text = hide_comments(read_whole_text(variant))
    return next((each for each in read_functions(text) if each.is_kernel and each.name == symbol), None)
