"""Config files: where they are, and their keys as a validated model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.paths import data_folder, display_path, is_file
from gemmbench.planning.text_file import read_text_file
from gemmbench.planning.yaml_document import Document, Model, parse_document

_SHAPE_KEYS = ("sizes", "shapes", "axes")


def find_config(name: str) -> Path:
    """Return the file of a config given by name or path. Raises UsageError with the nearest name."""
    home = data_folder("configs")
    for path in (home / f"{name}.yaml", Path(name)):
        if is_file(path):
            return path
    known = list_configs()
    raise UsageError(
        f"unknown config '{name}'{nearest(name, known)}; known: {', '.join(known)}, or give the path of a file"
    )


def list_configs() -> list[str]:
    """Names of all configs, those of networks and posts included."""
    home = data_folder("configs")
    return sorted(str(path.relative_to(home).with_suffix("")) for path in home.rglob("*.yaml"))


def name_config(path: Path) -> str:
    """Return the name that finds the file again: its name among the configs, else its path."""
    home = data_folder("configs").resolve()
    if path.resolve().is_relative_to(home):
        return str(path.resolve().relative_to(home).with_suffix(""))
    return str(path)


def read_document(path: Path) -> Document:
    """Return the keys of a config as they are written. Raises UsageError, or SpecError at a line."""
    return parse_document(read_text_file(path), display_path(path))


def apply_on_cpu(document: Document, kind: type[Model], on_cpu: bool) -> tuple[Document, Model]:
    """Return the document and its model; on a CPU, the keys of `on_cpu` replace the others. Raises SpecError."""
    model = document.convert(kind)
    if not on_cpu or not document.data.get("on_cpu"):
        return document, model
    document = _replace_keys(document, document.data["on_cpu"])
    return document, document.convert(kind)


def _replace_keys(document: Document, changes: dict[str, Any]) -> Document:
    """Return the document with the keys of its `on_cpu` replaced, and their lines."""
    data, lines = dict(document.data), dict(document.lines)
    if any(key in changes for key in _SHAPE_KEYS):
        for key in _SHAPE_KEYS:
            data.pop(key, None)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(data.get(key), dict)
        data[key] = {**data[key], **value} if both else value
    for path, line in document.lines.items():
        if path[:1] == ("on_cpu",) and len(path) > 1:
            lines[path[1:]] = line
    return Document(document.location, {**data, "on_cpu": {}}, lines)
