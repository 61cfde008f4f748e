"""The passes as variants."""

from __future__ import annotations

from pathlib import Path

from gemmbench.planning.manifests.readers import read_variant
from gemmbench.planning.manifests.variant import Variant


def read_passes() -> dict[str, Variant]:
    """Each pass by its name: `activation` and `softmax`."""
    return {path.stem: read_variant(path) for path in sorted(Path(__file__).parent.glob("*.cu"))}
