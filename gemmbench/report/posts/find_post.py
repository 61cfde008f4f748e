"""The post that a run repeats, from the name in its header."""

from __future__ import annotations

from gemmbench.bench.record import Environment
from gemmbench.errors import UsageError
from gemmbench.planning.sweeps.published_post import Post
from gemmbench.planning.sweeps.sweep import read_post


def find_post(environment: Environment) -> Post | None:
    """The post; None if the run repeats none, or one that is unknown here."""
    try:
        return read_post(environment.post) if environment.post else None
    except UsageError:
        return None
