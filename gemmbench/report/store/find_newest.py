"""The results file that --resume continues."""

from __future__ import annotations

from pathlib import Path

from gemmbench.errors import StoreError
from gemmbench.report.store.reading import read


def find_newest(folder: Path, sweep: str, device: str) -> Path:
    """The newest results file of this sweep and device in a folder. Raises StoreError."""
    for path in sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True):
        try:
            environment = read(path).environment
        except StoreError:
            continue
        if (environment.sweep, environment.device) == (sweep, device):
            return path
    missing = f"no results of sweep '{sweep}' on {device} in {folder}"
    raise StoreError(f"nothing to resume: {missing}; name a file, or start a new run without --resume")
