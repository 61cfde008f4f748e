"""The workspace that libraries may use: as much as any kernel of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gemmbench.planning.plans.chain import Chain
from gemmbench.planning.plans.plan import Plan


def level_workspaces(chains: Sequence[Chain]) -> list[Chain]:
    """The chains, every library step of which may use as much workspace as the largest step of all."""
    largest = max((step.workspace for chain in chains for step in chain.steps), default=0)
    return [replace(chain, steps=tuple(_level(step, largest) for step in chain.steps)) for chain in chains]


def _level(step: Plan, largest: int) -> Plan:
    takes = step.variant.is_library and step.variant.workspace is not None
    return replace(step, workspace=largest) if takes else step
