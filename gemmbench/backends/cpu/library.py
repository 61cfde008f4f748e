"""The library variant of the CPU, listed without importing the library."""

from __future__ import annotations

from gemmbench.backends.base import Artifact, Build
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.problems import LAYOUTS

OPENBLAS = Variant(
    name="openblas",
    summary="NumPy's matrix product, on the free cores; alpha and beta cost extra passes over C",
    order=1000,
    kind="library",
    devices=("cpu",),
    precisions=("f32", "f64"),
    layouts=LAYOUTS,
    deterministic=False,  # the order of its sums depends on the number of its threads
    source="https://numpy.org/doc/stable/reference/generated/numpy.matmul.html",
)


def openblas_artifact() -> Artifact:
    """The installed library."""
    from importlib import metadata  # slow, and not needed to list the variant

    return Artifact(f"openblas-numpy-{metadata.version('numpy')}", "", Build())
