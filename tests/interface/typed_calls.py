"""Calls that mypy checks: it reports each line with an ignored error that is none, and every other error."""

from __future__ import annotations

import gemmbench


def call_every_function() -> None:
    """Never called; strict mypy sees the options of each function, their types and their words."""
    gemmbench.run("tiled", sizes=[64, (8, 4, 16)], precision=["f32"], params={"TILE": [8, 16]}, rounds=4, gate=False)
    gemmbench.compare("naive", "tiled", margin="3%", sizes="512:4096:512", until="1%", cache="hot", data="ints")
    gemmbench.tune("tiled", budget=5, sizes=64, params="all", sustained=4)
    gemmbench.verify("tiled", sizes=33, layout="nn", pdl=False, compile_limit=60)
    gemmbench.run("tiled", size=64)  # type: ignore[call-arg]
    gemmbench.run("tiled", rounds="4")  # type: ignore[arg-type]
    gemmbench.compare("naive", "tiled", cache="warm")  # type: ignore[arg-type]
    gemmbench.tune("tiled", streams=1.5)  # type: ignore[arg-type]
    gemmbench.verify("tiled", rounds=4)  # type: ignore[call-arg]
