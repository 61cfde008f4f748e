"""Computes the numbers of a plan from its variant's expressions: launches, workspace, maps, macros, arguments."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from gemmbench.planning.drafts.declarations import find_launch_bounds
from gemmbench.planning.drafts.scanning import translate_to_number
from gemmbench.planning.files import display_path
from gemmbench.planning.manifests.expressions import Expression, ExpressionError
from gemmbench.planning.manifests.sections import SWIZZLES
from gemmbench.planning.manifests.variant import Argument, Launch, Part, TensorMap, Variant
from gemmbench.planning.plans.plan import Geometry, PassedArgument, Target, TiledTensor
from gemmbench.planning.precisions import StorageType
from gemmbench.planning.problems import Problem
from gemmbench.planning.sizes import One

_MOST_THREADS = 1024
_MOST_BLOCKS = (2**31 - 1, 65535, 65535)
_MOST_OF_CLUSTER = 8  # blocks, on every GPU that has clusters
_FIRST_PDL = _FIRST_CLUSTER = 90  # compute capability
# What cuTensorMapEncodeTiled requires, without interleaving (CUDA driver API, "Tensor Map Object Management").
_GRAIN, _MOST_BOX, _MOST_ELEMENTS, _MOST_STRIDE = 16, 256, 2**32, 2**40 - 1
_FIXED_SIZE = re.compile(r"([MNK]) == (\d+)")
_WORD = re.compile(r"(?<![\w:])[A-Z]\w*")
_SWAPPED = {"A": "B", "B": "A", "scale_a": "scale_b", "scale_b": "scale_a"}

Names = Mapping[str, int]
"""The values that an expression may read: parameters, the problem and the device."""


class Excluded(Exception):
    """Raised if a configuration cannot be planned. The message becomes the reason of its Skip."""


def evaluate(variant: Variant, expression: Expression, names: Names) -> int:
    """Evaluate an expression of a variant. Raises Excluded."""
    try:
        return expression.value(names)
    except ExpressionError as fault:
        raise Excluded(f"{fault} ({variant.cite_line(fault.line or expression.line)})") from None


def check_require(variant: Variant, names: Names) -> None:
    """Raise Excluded for the first line of `require` that is false."""
    for condition in variant.require:
        if not evaluate(variant, condition, names):
            raise Excluded(f"require {condition} ({variant.cite_line(condition.line)}){_name_only_size(variant)}")


def _name_only_size(variant: Variant) -> str:
    """`; choose --sizes 1024` if rules fix M, N and K; else ""."""
    found = filter(None, (_FIXED_SIZE.fullmatch(str(rule)) for rule in variant.require))
    fixed = {each[1]: int(each[2]) for each in found}
    names = "NMK" if variant.call.column_major else "MNK"
    if len(fixed) < len(names):
        return ""
    M, N, K = (fixed[name] for name in names)
    return f"; choose --sizes {One(M, N, K).size}"


def _write_part(variant: Variant, part: Part, names: Names, problem: Problem) -> str:
    """Return the C++ text of a macro or a template argument. Raises Excluded."""
    if isinstance(part, Expression):
        return str(int(evaluate(variant, part, names)))
    params = dict(variant.params)  # they may stand inside of a type, as in Shape<BM, 16>
    part = _WORD.sub(lambda found: str(names[found[0]]) if found[0] in params else found[0], part)
    return problem.types.get(part, part) if variant.code.foreign else part


def evaluate_launches(
    variant: Variant, names: Names, target: Target, problem: Problem
) -> tuple[tuple[str, Geometry], ...]:
    """Return the symbol and the numbers of every launch that is made, in order; none for a host function.

    Raises Excluded.
    """
    if variant.launch is None or variant.kind == "host":
        return ()
    launches = [each for each in variant.launches if each.when is None or evaluate(variant, each.when, names)]
    if not launches:
        raise Excluded(f"nothing would be launched: every `when` is false ({variant.path})")
    return tuple(
        (_write_symbol(variant, launch, names, problem), _evaluate_geometry(variant, launch, names, target))
        for launch in launches
    )


def _write_symbol(variant: Variant, launch: Launch, names: Names, problem: Problem) -> str:
    """Return the C++ name of a kernel, such as `sgemm<64, 8>`."""
    template = ", ".join(_write_part(variant, part, names, problem) for part in launch.template)
    return f"{launch.symbol}<{template}>" if template else launch.symbol


def _evaluate_geometry(variant: Variant, launch: Launch, names: Names, target: Target) -> Geometry:
    grid = _triple(evaluate(variant, expression, names) for expression in launch.grid)
    block = _triple(evaluate(variant, expression, names) for expression in launch.block)
    pdl = launch.pdl and target.is_gpu and target.sm >= _FIRST_PDL
    shared, cluster = evaluate(variant, launch.shared, names), _evaluate_cluster(variant, launch, names, target, grid)
    geometry = Geometry(grid, block, shared, pdl, cluster)
    _check_limits(variant, launch, geometry, names, target)
    _check_launch_bounds(variant, launch, geometry, names)
    return geometry


def _evaluate_cluster(
    variant: Variant, launch: Launch, names: Names, target: Target, grid: tuple[int, int, int]
) -> int:
    if launch.cluster is None:
        return 1
    cluster = evaluate(variant, launch.cluster, names)
    if not 1 <= cluster <= _MOST_OF_CLUSTER or grid[0] % cluster:
        needed = f"a cluster may have 1 to {_MOST_OF_CLUSTER} blocks and must divide the {grid[0]} blocks along x"
        raise Excluded(f"clusters of {cluster} blocks; {needed} ({variant.cite_line(launch.cluster.line)})")
    return cluster if target.is_gpu and target.sm >= _FIRST_CLUSTER else 1


def _triple(values: Iterator[int]) -> tuple[int, int, int]:
    x, y, z = [*values, 1, 1][:3]
    return x, y, z


def _check_limits(variant: Variant, launch: Launch, geometry: Geometry, names: Names, target: Target) -> None:
    where = f"({variant.cite_line(launch.block[0].line)})"
    if not 1 <= geometry.threads <= _MOST_THREADS or min(geometry.block) < 1:
        raise Excluded(f"a block of {geometry.threads} threads; a block may have 1 to {_MOST_THREADS} {where}")
    if min(geometry.grid) < 1:
        axis, count = next((axis, count) for axis, count in enumerate(geometry.grid) if count < 1)
        written = launch.grid[axis]
        why = f": `{written}` is {count}" if str(written) != str(count) else ""
        if "groups" in written.names and not names["groups"]:
            why += ", because one product has no groups; write max(groups, 1), or `kinds: [groups]` without `one`"
        cited = variant.cite_line(written.line)
        raise Excluded(f"a grid of {_join_by_x(geometry.grid)} blocks computes nothing{why} ({cited})")
    if any(count > most for count, most in zip(geometry.grid, _MOST_BLOCKS, strict=True)):
        raise Excluded(f"a grid of {_join_by_x(geometry.grid)} blocks exceeds the device's limits {where}")
    if not 0 <= geometry.shared <= target.smem:
        line = launch.shared.line
        raise Excluded(
            f"{geometry.shared} bytes of shared memory; a block may have {target.smem} ({variant.cite_line(line)})"
        )


def _check_launch_bounds(variant: Variant, launch: Launch, geometry: Geometry, names: Names) -> None:
    """Raise Excluded for a block with more threads than `__launch_bounds__` allows, which a GPU would not launch."""
    bounds = find_launch_bounds(variant.text, launch.symbol.rpartition("::")[2])
    if bounds is None:
        return
    given = [(name, value) for name, value in variant.code.defines if isinstance(value, Expression)]
    given += [(one.name, part) for one, part in zip(bounds.template, launch.template, strict=False)
              if isinstance(part, Expression)]  # fmt: skip
    try:
        known = {**names, **{name: part.value(names) for name, part in given}}
        threads = translate_to_number(bounds.threads, known, bounds.constants)
    except ExpressionError:
        return
    if threads is not None and 0 < threads < geometry.threads:
        place = display_path(Path(variant.code.file)) if variant.code.foreign else variant.path
        raise Excluded(
            f"a block of {geometry.threads} threads, but `__launch_bounds__({bounds.threads})` of {launch.symbol} "
            f"allows {threads} ({place}:{bounds.line})"
        )


def evaluate_workspace(variant: Variant, names: Names) -> tuple[int, int]:
    """Return the bytes of the workspace, and how many of them are zero at binding.

    If a host function returns the bytes, only the number of zeroed bytes is known. Raises Excluded.
    """
    declared = variant.workspace
    nbytes = 0 if declared is None else evaluate(variant, declared, names)
    if declared is not None and nbytes < 0:
        raise Excluded(f"a workspace of {nbytes} bytes ({variant.cite_line(declared.line)})")
    if variant.zeroed is None:
        return nbytes, 0
    zeroed = evaluate(variant, variant.zeroed, names)
    if zeroed < 0 or (declared is not None and zeroed > nbytes):
        raise Excluded(f"{zeroed} zeroed bytes of a workspace of {nbytes} ({variant.cite_line(variant.zeroed.line)})")
    return max(nbytes, zeroed), zeroed


def evaluate_tile(variant: Variant, names: Names) -> tuple[int, int] | None:
    """Return the rows and columns of C that share one reading of A and B; None if not declared. Raises Excluded."""
    if not variant.tile:
        return None
    numbers = [evaluate(variant, each, names) for each in variant.tile]
    rows, columns = reversed(numbers) if variant.call.column_major else numbers
    if min(rows, columns) < 1:
        raise Excluded(f"a tile of {rows} x {columns} ({variant.cite_line(variant.tile[0].line)})")
    return rows, columns


def to_row_major(variant: Variant, operand: str) -> str:
    """Return the operand of the problem that a kernel calls `operand`. A column-major kernel calls B A."""
    return _SWAPPED.get(operand, operand) if variant.call.column_major else operand


def evaluate_tensor_maps(
    variant: Variant, names: Names, problem: Problem, workspace: int
) -> tuple[TiledTensor | None, ...]:
    """Return the numbers of every tensor map, or None for one that is not used. Raises Excluded."""
    return tuple(_evaluate_map(variant, declared, names, problem, workspace) for declared in variant.tensor_maps)


def _evaluate_map(
    variant: Variant, declared: TensorMap, names: Names, problem: Problem, workspace: int
) -> TiledTensor | None:
    def numbers(expressions: Iterable[Expression]) -> tuple[int, ...]:
        return tuple(evaluate(variant, each, names) for each in expressions)

    if declared.when is not None and not evaluate(variant, declared.when, names):
        return None
    mapped = to_row_major(variant, declared.operand)
    storage = problem.storage(mapped)
    shape = numbers(declared.shape) or problem.stored_shape(mapped)[::-1]
    packed = tuple(math.prod(shape[:rank]) for rank in range(1, len(shape)))
    pitch = numbers(declared.pitch) or (packed if declared.shape else (problem.leading(mapped),))
    offset, swizzle = numbers((declared.offset, declared.swizzle))
    strides = tuple(storage.nbytes(elements) for elements in pitch)
    tensor = TiledTensor(mapped, offset, shape, strides, numbers(declared.box), swizzle)
    whole = workspace if mapped == "workspace" else problem.operand_bytes(mapped)
    if fault := _explain_misfit(tensor, storage, whole):
        raise Excluded(f"tensor map of {mapped}: {fault} ({variant.cite_line(declared.line)})")
    return tensor


def _explain_misfit(tensor: TiledTensor, storage: StorageType, whole: int) -> str:
    """Explain why TMA cannot move a tensor with such elements in an array of `whole` bytes; "" if it can."""
    width = storage.nbytes(tensor.box[0])
    if not all(1 <= elements <= _MOST_ELEMENTS for elements in tensor.shape):
        return f"shape {_join_by_x(tensor.shape)}; each dimension must be 1 to 2^32"
    if not all(1 <= elements <= _MOST_BOX for elements in tensor.box):
        return f"box {_join_by_x(tensor.box)}; each dimension must be 1 to {_MOST_BOX}"
    if width % _GRAIN:
        return f"a row of the box is {width} bytes; it must be a multiple of {_GRAIN}"
    if tensor.swizzle not in SWIZZLES:
        return f"swizzle of {tensor.swizzle} bytes; known: {', '.join(map(str, SWIZZLES))}"
    if 0 < tensor.swizzle < width:
        most = f"with a swizzle of {tensor.swizzle} it may have at most {tensor.swizzle}"
        return f"a row of the box is {width} bytes; {most}"
    for stride in tensor.strides:
        if stride % _GRAIN or not 0 < stride <= _MOST_STRIDE:
            return f"rows are {stride} bytes apart; TMA needs a multiple of {_GRAIN} up to 2^40"
    if tensor.offset % _GRAIN or tensor.offset < 0:
        return f"begins at byte {tensor.offset}; that must be a multiple of {_GRAIN}"
    steps = zip(tensor.shape[1:], tensor.strides, strict=True)
    end = tensor.offset + storage.nbytes(tensor.shape[0]) + sum((count - 1) * stride for count, stride in steps)
    return f"ends at byte {end}, but the array ends at byte {whole}" if end > whole else ""


def _join_by_x(numbers: Iterable[int]) -> str:
    return " x ".join(map(str, numbers))


_RANGES = {
    "int": range(-(2**31), 2**31),
    "unsigned": range(2**32),
    "long long": range(-(2**63), 2**63),
    "unsigned long long": range(2**64),
    "short": range(-(2**15), 2**15),
    "unsigned short": range(2**16),
    "signed char": range(-(2**7), 2**7),
    "unsigned char": range(2**8),
    "bool": range(2),
}


def evaluate_macros(variant: Variant, names: Names, problem: Problem) -> tuple[tuple[str, str], ...]:
    """Return the macros that a manifest defines for foreign code. Raises Excluded."""
    return tuple((name, _write_part(variant, part, names, problem)) for name, part in variant.code.defines)


def evaluate_arguments(variant: Variant, names: Names, problem: Problem) -> tuple[PassedArgument, ...]:
    """Return the arguments of every kernel; none for the standard arguments. Raises Excluded.

    They name the operands of `problem`, whatever the kernel calls them.
    """
    return tuple(
        replace(_evaluate_argument(variant, argument, names, problem), parameter=number, field=field)
        for number, field, argument in variant.call.list_arguments()
    )


def _evaluate_argument(variant: Variant, argument: Argument, names: Names, problem: Problem) -> PassedArgument:
    role = to_row_major(variant, argument.role)
    ctype = argument.ctype or problem.precision.scalar.ctype
    if not isinstance(argument.value, Expression):
        return PassedArgument(role, ctype, argument.value, argument.by_pointer)
    value = evaluate(variant, argument.value, names)
    if ctype in _RANGES and value not in _RANGES[ctype]:
        hint = f"; write long({argument.value})" if ctype == "int" else ""
        where = f"({variant.cite_line(argument.value.line)})"
        raise Excluded(f"the argument {argument.value} is {value}, which {ctype} cannot hold{hint} {where}")
    return PassedArgument(role, ctype, value)
