"""The kinds of generated parts, and what writes each.

tables      tables of results: kernels, transfers, posts, claims
listings    what the code declares: columns, flags, exit codes, keys of files, variables
sources     files of the repository, and the output of commands
charts      pictures of results
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tools.parts import charts, listings, sources, tables

KINDS: Mapping[str, Callable[..., str]] = {**tables.KINDS, **charts.KINDS, **listings.KINDS, **sources.KINDS}
