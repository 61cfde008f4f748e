"""The variants of a sweep, each with the parameter values to try."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gemmbench.planning.manifests.variant import Params
from gemmbench.planning.sweeps.config_reader import ConfigReader
from gemmbench.planning.sweeps.parsing import parse_params
from gemmbench.planning.sweeps.post import Post
from gemmbench.planning.sweeps.sweep import VariantChoice
from gemmbench.planning.sweeps.sweep_model import SweepModel


def read_choices(reader: ConfigReader, model: SweepModel, post: Post | None) -> tuple[VariantChoice, ...]:
    """The variants that the command line names, else the rows of a post, else those listed. Raises SpecError."""
    options = reader.options
    common = parse_params(options.params) if options.params else reader.read_params(("params",), model.params)
    if post is not None and not common:
        return tuple(_choose_rows(reader, post))
    if options.variants:
        return tuple(VariantChoice(name, common) for name in dict.fromkeys(options.variants))
    return tuple(_read_choice(reader, index, item, common) for index, item in enumerate(model.variants))


def _choose_rows(reader: ConfigReader, post: Post) -> Iterator[VariantChoice]:
    names = reader.options.variants
    for index, row in enumerate(post.rows):
        if not names or row.variant in names:
            line = reader.document.line(("post", "rows", index))
            yield VariantChoice(row.variant, {name: (value,) for name, value in row.config}, True, line, row)


def _read_choice(reader: ConfigReader, index: int, item: str | dict[str, Any], common: Params) -> VariantChoice:
    path, document = ("variants", index), reader.document
    if isinstance(item, str):
        return VariantChoice(item, common, False, document.line(path))
    if len(item) != 1:
        raise document.error_at(path, "variants: write `- name` or `- name: {PARAMETER: [values]}`")
    ((name, written),) = item.items()
    line = document.line((*path, name))
    if reader.options.params:
        return VariantChoice(name, common, False, line)
    return VariantChoice(name, reader.read_params((*path, name), written), True, line)
