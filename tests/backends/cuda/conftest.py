"""Plans of a kernel text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gemmbench.planning.plans.plan import Plan


@pytest.fixture
def make_plan(make_text_plan: Callable[..., Plan]) -> Callable[..., Plan]:
    """A plan of a kernel text, for an architecture."""
    return make_text_plan
