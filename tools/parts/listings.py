"""Parts that list what the code declares: columns, flags, exit codes, keys of files, precisions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from gemmbench.bench.record import (
    End,
    Environment,
    Load,
    NetworkFacts,
    Ranking,
    Record,
    Request,
    Result,
    Sustained,
    Telemetry,
    TransferRecord,
)
from gemmbench.errors import EXIT_CODES, StoreError
from gemmbench.planning.json_schemas import read_attributes
from gemmbench.planning.manifests.manifest_model import Manifest
from gemmbench.planning.manifests.sections import LaunchFields, PickFields, TensorMapFields
from gemmbench.planning.network_sweeps import NetworkModel, NetworkPostModel, NetworkRowModel
from gemmbench.planning.precisions import PRECISIONS, Precision, Scales
from gemmbench.planning.sweeps.policy import MeasureModel
from gemmbench.planning.sweeps.published_post import PostModel, PostRowModel, PublishedModel
from gemmbench.planning.sweeps.sweep import SweepModel
from gemmbench.report.columns import all_columns, transfer_columns
from gemmbench.report.columns.column import Column
from gemmbench.report.flags import MEANINGS
from tools.page import Page

MODELS: Mapping[str, type[msgspec.Struct]] = {
    "manifest": Manifest,
    "launch": LaunchFields,
    "tensor-map": TensorMapFields,
    "pick": PickFields,
    "config": SweepModel,
    "measure": MeasureModel,
    "post": PostModel,
    "post-row": PostRowModel,
    "published": PublishedModel,
    "network": NetworkModel,
    "network-row": NetworkRowModel,
    "network-post": NetworkPostModel,
    "environment": Environment,
    "result": Result,
    "record": Record,
    "network-facts": NetworkFacts,
    "ranking": Ranking,
    "request": Request,
    "end": End,
    "telemetry": Telemetry,
    "sustained": Sustained,
    "load": Load,
    "transfer": TransferRecord,
}


def format_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _write_columns(_: Page, which: str = "") -> str:
    """The columns of kernels; with `transfers`, those of transfers that kernels do not have or that have another
    meaning there.
    """
    known = {column.key: column.meaning for column in all_columns.COLUMNS}
    columns: Sequence[Column[Any]] = all_columns.COLUMNS
    if which == "transfers":
        columns = [column for column in transfer_columns.COLUMNS if known.get(column.key) != column.meaning]
    return format_table(["column", "meaning"], [[f"`{column.key}`", column.meaning] for column in columns])


def _write_flags(_: Page) -> str:
    return format_table(["flag", "meaning"], MEANINGS.items())


def _write_exit_codes(_: Page) -> str:
    return format_table(["code", "meaning"], EXIT_CODES.items())


def _write_keys(_: Page, *names: str) -> str:
    """The keys that models declare themselves, with defaults and meanings. Raises StoreError.

    `measure:measure` writes those of a model with `measure.` in front of each, as keys of a key.
    """
    rows = [row for name in names for row in _list_keys(*reversed(name.split(":", 1)))]
    return format_table(["key", "default", "meaning"], rows)


def _list_keys(name: str, parent: str = "") -> list[list[str]]:
    if name not in MODELS:
        raise StoreError(f"unknown model '{name}'; known: {', '.join(MODELS)}")
    meanings = read_attributes(MODELS[name])
    fields = [field for field in msgspec.structs.fields(MODELS[name]) if field.name in MODELS[name].__annotations__]
    missing = [field.encode_name for field in fields if field.encode_name not in meanings]
    if missing or len(fields) < len(meanings):
        raise StoreError(f"the docstring of {MODELS[name].__name__} does not match its keys: {missing or meanings}")
    lead = f"{parent}." if parent else ""
    return [[f"`{lead}{each.encode_name}`", _format_default(each), meanings[each.encode_name]] for each in fields]


def _format_default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    if isinstance(default, list) and default:
        return f"`[{', '.join(map(str, default))}]`"
    if default in (None, "", [], {}) or isinstance(default, msgspec.Struct):
        return ""
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def _write_precisions(_: Page) -> str:
    """How each precision stores its operands and sums products."""
    rows = [
        [
            f"`{name}`",
            *(precision.storage(operand).name for operand in "ABC"),
            _describe_factors(precision),
            _describe_sums(precision),
            _describe_scales(precision.scales),
        ]
        for name, precision in PRECISIONS.items()
    ]
    return format_table(["precision", "A", "B", "C", "factors", "sums", "one scale for"], rows)


def _describe_scales(scales: Scales | None) -> str:
    if scales is None:
        return ""
    blocks = ((scales.rows, scales.depth), (scales.depth, scales.columns))
    of_a, of_b = (" x ".join(str(size or side) for size, side in zip(block, sides, strict=True))
                  for block, sides in zip(blocks, ("MK", "KN"), strict=True))  # fmt: skip
    return f"{of_a} of A, {of_b} of B"


def _describe_factors(precision: Precision) -> str:
    bits = f"{precision.factor_bits} bits"
    return f"up to {bits}, in parts" if precision.splits_factors else bits


def _describe_sums(precision: Precision) -> str:
    sums = precision.accumulator
    parts = [sums.type.name]
    if sums.exact_bits != sums.type.significand:
        parts.append(f"{sums.exact_bits} bits")
    if sums.truncates:
        parts.append("may be truncated")
    if sums.promoted_every:
        parts.append(f"promoted every {sums.promoted_every} products")
    return ", ".join(parts)


KINDS: Mapping[str, Callable[..., str]] = {
    "columns": _write_columns,
    "flags": _write_flags,
    "exit-codes": _write_exit_codes,
    "keys": _write_keys,
    "precisions": _write_precisions,
}
