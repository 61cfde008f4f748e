"""The build of a wheel: it keeps which sources it was built from, see gemmbench/planning/source_tree.py."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SourcesHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the file with the revision and the hashes of the sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write it, unless it is among the files of a source archive."""
        sys.path.insert(0, self.root)
        from gemmbench.planning.source_tree import BUILT, describe_build  # of this folder

        kept = f"gemmbench/data/{BUILT}"
        if version == "standard" and not (Path(self.root) / kept).is_file():
            self.folder = tempfile.TemporaryDirectory()
            path = Path(self.folder.name) / BUILT
            path.write_text(json.dumps(describe_build()), encoding="utf-8")
            build_data["force_include"][str(path)] = kept
