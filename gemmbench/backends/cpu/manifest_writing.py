"""Writes the manifest of a call that was found by trial, with arguments, grid and block as expressions."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gemmbench.backends.cpu.kernel_reading import (
    NUMPY_TYPES,
    Geometry,
    KernelReading,
    Rule,
)
from gemmbench.backends.cpu.tryouts import (
    Shape,
    Storage,
)
from gemmbench.planning.drafts.draft import (
    Attempt,
    BrokenGuard,
    TriedResult,
    quote_text,
)
from gemmbench.planning.drafts.launch_values import (
    UnknownValue,
    to_triple,
)
from gemmbench.planning.drafts.roles import (
    Undecidable,
)
from gemmbench.planning.files import follow_links
from gemmbench.planning.manifests.expressions import parse
from gemmbench.planning.precisions import PRECISIONS

_CONVERSIONS = {"unsigned", "long", "size_t", "short", "ushort", "bool", "char", "uchar"}
_ZEROS = "8 * M * N"
_FLIPPED = {"n": "t", "t": "n"}
_SAMPLES = ((512, 1024, 256), (1536, 768, 512), (1000, 700, 300), (130, 260, 70))
_STEPS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


@dataclass
class Found:
    """A correct call: the role of each slot, the launch, the storage, and the other facts of a manifest.

    `fixed` holds sizes that the kernel's text fixes. `beta` is 1 for a kernel that always adds to C. `others` are
    attempts with other template arguments, which were wrong. `wrong_launch` says what is wrong with the launch in the
    file.
    """

    roles: dict[int, str]
    geometry: Geometry
    storage: Storage
    tries: int
    shape: Shape
    fixed: Mapping[str, int]
    beta: float = 0.0
    reads_c: bool = False
    multiples: dict[str, int] = field(default_factory=dict)
    broken_guards: list[tuple[BrokenGuard, TriedResult]] = field(default_factory=list)
    others: Sequence[Attempt] = ()
    wrong_launch: str = ""


def write_manifest(reading: KernelReading, found: Found) -> str:
    """Return the text of the manifest."""
    layout, storage = found.storage
    lines = [
        "# Found by trying on the CPU device.",
        f"summary: {quote_text(reading.kernel.name)}",
        f"file: {quote_text(os.path.relpath(follow_links(reading.file.path), follow_links(reading.file.home)))}",
    ]
    lines += [f"include: [{', '.join(map(quote_text, reading.file.include))}]"] if reading.file.include else []
    lines += (
        ["define:", *(f"  {name}: {value}" for name, value in reading.file.macros.items())]
        if reading.file.macros
        else []
    )
    template = ", ".join(reading.template.texts)
    lines.append(f"symbol: {reading.kernel.symbol}{template and f'<{template}>'}")
    lines += ["args:", *(f"  - {text}" for text in write_call(reading, found))]
    lines.append(f"precisions: [{find_precision(reading, found)}]")
    if storage == "column":  # the names then refer to column-major matrices
        layout = "".join(_FLIPPED[letter] for letter in layout)
    lines.append(f"layouts: [{layout}]")
    lines += ["storage: column"] if storage == "column" else []
    if "zeros" in found.roles.values():  # for a kernel that adds the contents of a pointer
        lines += [f"workspace: {_ZEROS}", f"zeroed: {_ZEROS}"]
    lines += _write_requirements(reading, found)
    rules = {"grid": found.geometry.grid, "block": found.geometry.block}
    for key, rule in rules.items():
        lines += [f"{key}:", *(f"  - {text}" for text in _write_rule(rule, found.roles))]
    shared = _write_rule(found.geometry.shared, found.roles)[0]
    lines += [f"shared: {shared}"] if shared != "0" else []
    lines += ["reads_c: true"] if found.reads_c else []
    return "\n".join(lines) + "\n"


def write_call(reading: KernelReading, found: Found) -> list[str]:
    precision = find_precision(reading, found)
    sums = "double" if precision == "f64" else "half" if precision == "f16_f16" else "float"
    texts = dict[int, list[tuple[str, str]]]()
    for slot, role in zip(reading.slots, _list_roles(found), strict=True):
        text = "workspace" if role == "zeros" else role
        if slot.kind in ("size", "flag") and slot.type in _CONVERSIONS:
            text = f"{slot.type}({role})"
        if slot.kind == "scalar" and slot.type != sums:
            text = f"{slot.type}({role})"
        texts.setdefault(slot.parameter, []).append((slot.field, text))
    return [
        f"{{{', '.join(f'{name}: {text}' for name, text in fields)}}}" if fields[0][0] else fields[0][1]
        for fields in texts.values()
    ]


def _list_roles(found: Found) -> list[str]:
    return [found.roles[number] for number in range(len(found.roles))]


def find_precision(reading: KernelReading, found: Found) -> str:
    """Return the first precision that stores A, B and C like a kernel. Raises Undecidable if there is none."""
    types = {role: slot.type for slot, role in zip(reading.slots, _list_roles(found), strict=True) if role in "ABC"}
    kinds = {role: NUMPY_TYPES[kind].name for role, kind in types.items()}
    if kinds["A"] == "float16":
        sums_in_float = re.search(r"\bfloat\s+\w+\s*(?:=|\[)", reading.body) is not None
        return "f16_f32" if kinds["C"] == "float32" else "f16" if sums_in_float else "f16_f16"
    for name, each in PRECISIONS.items():
        stored = [storage.numpy_type().name for storage in (each.a, each.b, each.c)]
        if not each.scales and stored == [kinds[role] for role in "ABC"]:
            return name
    raise Undecidable(f"multiplies {types['A']} by {types['B']} into {types['C']}, for which there is no precision")


def _write_requirements(reading: KernelReading, found: Found) -> list[str]:
    lines = [f"  - {name} == {found.fixed[name]}" for name in "MNK" if name in found.fixed]
    if not lines and ("MNK" in found.multiples or len(reading.sizes) == 1):
        lines.append("  - M == N and K == N")
    for names, step in found.multiples.items():
        if step > 1 and names not in found.fixed:
            lines.append(f"  - {'N' if len(names) > 1 else names} % {step} == 0")
    return ["require:", *lines] if lines else []


def list_sizes(reading: KernelReading, found: Found) -> str:
    """Return sizes that meet the requirements, with different M, N and K if possible; "" without requirements."""
    if not _write_requirements(reading, found):
        return ""
    if found.fixed:
        return "x".join(map(str, found.shape))
    steps = [found.multiples.get(name) or found.multiples.get("MNK") or 1 for name in "MNK"]
    common = max(128, *steps)
    square = len(reading.sizes) == 1
    return str(3 * common) if square else "x".join(str(common * factor) for factor in (4, 2, 3))


def _write_rule(rule: Rule, roles: Mapping[int, str]) -> list[str]:
    """Write the sizes of a grid or block as manifest expressions. Raises Undecidable if that is impossible.

    For a kernel with a single size, they only need to be right for squares.
    """
    try:
        return _write_rule_for(rule, roles, _SAMPLES)
    except Undecidable:
        if len({role for role in roles.values() if role in tuple("MNK")}) > 1:
            raise
        return _write_rule_for(rule, roles, [(side, side, side) for side, _, _ in _SAMPLES])


def _write_rule_for(rule: Rule, roles: Mapping[int, str], shapes: Sequence[Shape]) -> list[str]:
    samples = []
    for shape in shapes:
        sizes = dict(zip("MNK", shape, strict=True))
        with contextlib.suppress(UnknownValue):
            samples.append((sizes, to_triple(rule(sizes, roles))))
    texts = [_write_axis([(sizes, counts[axis]) for sizes, counts in samples]) for axis in range(3)]
    while len(texts) > 1 and texts[-1] == "1":
        texts.pop()
    return texts


def can_write(geometry: Geometry, roles: Mapping[int, str]) -> bool:
    """Return whether a manifest can express the grid and the block."""
    try:
        return all(_write_rule(rule, roles) for rule in (geometry.grid, geometry.block, geometry.shared))
    except Undecidable:
        return False


def _write_axis(samples: Sequence[tuple[Mapping[str, int], int]]) -> str:
    if len({count for _, count in samples}) == 1:
        return str(samples[0][1])
    for text in _list_expressions():
        expression = parse(text, tuple("MNK"))
        if all(expression.value(sizes) == count for sizes, count in samples):
            return text
    raise Undecidable("has a grid that does not follow from M, N and K in any usual way")


def _list_expressions() -> Iterable[str]:
    for name, step in itertools.product("MNK", _STEPS):
        yield name if step == 1 else f"cdiv({name}, {step})"
    for name, step in itertools.product("MNK", _STEPS[1:]):
        yield f"{name} // {step}"
        yield f"({name} + {step}) // {step}"
    for name, step in itertools.product("MNK", _STEPS[1:]):
        yield from (f"cdiv({name}, {inner}) // {step}" for inner in (8, 16, 32))
    yield from (f"cdiv(M * N, {step})" for step in (*_STEPS, 1024))
    yield from (f"{factor} * {name}" for name, factor in itertools.product("MNK", (*_STEPS[1:], 3, 6, 12, 1024)))
    for (name, step), (other, side) in itertools.product(itertools.product("MNK", _STEPS), repeat=2):
        yield f"cdiv({name}, {step}) * cdiv({other}, {side})"


def describe_launch(reading: KernelReading, found: Found) -> list[str]:
    """Write arguments, grid and block. Raises Undecidable."""
    grid, block = (_write_rule(rule, found.roles) for rule in (found.geometry.grid, found.geometry.block))
    arguments = ", ".join(write_call(reading, found))
    return [f"args [{arguments}]", f"grid [{', '.join(grid)}]", f"block [{', '.join(block)}]"]


def summarise(reading: KernelReading, found: Found) -> str:
    """Summarise arguments, grid, block and requirements, and a precision other than f32, in one line."""
    needs = [text.removeprefix("  - ") for text in _write_requirements(reading, found)[1:]]
    macros = ", ".join(f"{name} = {value}" for name, value in reading.file.macros.items())
    parts = [f"with {macros}"] if macros else []
    parts += [f"template <{', '.join(reading.template.texts)}>"] if reading.template.texts else []
    parts += describe_launch(reading, found)
    parts += [] if found.storage == ("nn", "row") else [_describe_storage(found.storage)]
    precision = find_precision(reading, found)
    parts += [precision] if precision != "f32" else []
    parts += [f"needs {' and '.join(needs)}"] if needs else []
    return "; ".join(parts)


def _describe_storage(storage: Storage) -> str:
    """Describe how A, B and C are stored, such as `A and B by rows, C by columns`."""
    columns = _list_columns(storage)
    groups = {"rows": [name for name in "ABC" if name not in columns], "columns": list(columns)}
    lists = {
        way: " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) for way, names in groups.items() if names
    }
    return ", ".join(f"{names} by {way}" for way, names in lists.items())


def list_by_columns(storage: Storage) -> str:
    """Return those of A, B and C that are stored by columns; "" if all are, as in a column-major library."""
    columns = _list_columns(storage)
    return "" if columns == "ABC" else columns


def _list_columns(storage: Storage) -> str:
    layout, of_c = storage
    transposed = {"A": layout[0] == "t", "B": layout[1] == "t", "C": of_c == "column"}
    return "".join(name for name, by_columns in transposed.items() if by_columns)
