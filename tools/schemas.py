"""The JSON schemas next to the kernels and the configs, for the editors of people who change them."""

from __future__ import annotations

from pathlib import Path

from gemmbench.planning.json_schemas import write_schema
from tools.page import ROOT, holds

FILES = {
    ROOT / "cuda" / "manifest.schema.json": "manifest",
    ROOT / "configs" / "config.schema.json": "config",
}


def find_stale_schemas() -> dict[Path, str]:
    """The outdated schemas, by path, with the text that they should have."""
    texts = {path: write_schema(kind) for path, kind in FILES.items()}
    return {path: text for path, text in texts.items() if not holds(path, text)}
