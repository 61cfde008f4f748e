"""The build of the package: its version, and the file that keeps it, see gemmbench/planning/source_tree.py."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))  # not an installed gemmbench
from gemmbench.planning.source_tree import BUILT, describe_build, read_version

__version__ = read_version()


class SourcesHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the file with the version, the revision and the hashes of the sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write it, or take the one of a source archive."""
        if version != "standard":  # editable
            return
        kept = f"gemmbench/data/{BUILT}"
        path = Path(self.root, kept)
        if not path.is_file():
            self.folder = tempfile.TemporaryDirectory()
            path = Path(self.folder.name, BUILT)
            path.write_text(json.dumps(describe_build()), encoding="utf-8")
        build_data["force_include"][str(path)] = kept
