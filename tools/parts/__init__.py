"""The kinds of generated parts, and the function that writes each.

tables      tables of results: kernels, transfers, posts
trust       the claims of benchmarks/trust.py, with what was found
accesses    what the accesses of kernels cost on a GPU, counted on the CPU
listings    what the code declares: columns, flags, exit codes, keys of files, precisions
sources     files of the repository, and the output of commands
charts      pictures of results
contests    a kernel against the best other at every problem, the worst first
draws       contests at the shapes of several draws, pooled
overviews   a sweep at a glance: kernels by problems
recorded    tables of the programs in benchmarks/, counters of profiles, text files, and what is recorded
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tools.parts import accesses, charts, contests, draws, listings, overviews, recorded, sources, tables, trust

_MEASURED: Mapping[str, Callable[..., str]] = {
    **tables.KINDS,
    **trust.KINDS,
    **contests.KINDS,
    **draws.KINDS,
    **overviews.KINDS,
    **charts.KINDS,
    **recorded.KINDS,
}
KINDS: Mapping[str, Callable[..., str]] = {**_MEASURED, **listings.KINDS, **sources.KINDS, **accesses.KINDS}
CITING: Mapping[str, Callable[..., str]] = {**_MEASURED, **sources.CITING}
"""The kinds that show results; they do not run or compile anything."""
