"""Whether two runs ran on the same card, and what else was different about their machines."""

from __future__ import annotations

from collections.abc import Mapping

from gemmbench.bench.record import Environment

_UUID_DIGITS = len("GPU-") + 8


def explain_cards(reference: Environment, run: Environment) -> list[str]:
    """One sentence that tells whether both runs ran on the same GPU; none for runs on a CPU."""
    if not (reference.is_gpu and run.is_gpu):
        return []
    if reference.device != run.device:
        return ["They ran on different cards."]
    if not (reference.uuid and run.uuid):
        silent = [name for name, each in (("the reference", reference), ("the run", run)) if not each.uuid]
        do = "does" if len(silent) == 1 else "do"
        return [f"Whether both ran on the same card is unknown: {' and '.join(silent)} {do} not record it."]
    if reference.uuid == run.uuid:
        return [f"Both ran on the same card, {shorten_uuid(run.uuid)}."]
    cards = f"{shorten_uuid(reference.uuid)} and {shorten_uuid(run.uuid)}"
    return [f"They ran on different cards of the same model, {cards}: these differ too, so compare the ratios only."]


def list_changes(reference: Environment, run: Environment) -> list[str]:
    """What changed between two machines, such as `driver 570.1 -> 580.2`; only what both record."""
    before, now = _list_facts(reference), _list_facts(run)
    return [f"{name} {before[name]} -> {now[name]}" for name in before if now.get(name, before[name]) != before[name]]


def explain_other_machine(there: Environment, here: Environment) -> str:
    """How an earlier run's machine is another one than this, or "": rows of both must not share a file."""
    if there.device != here.device:
        return f"on {there.device}, this is {here.device}"
    if there.uuid != here.uuid:
        before, now = there.uuid or "a card that it does not name", here.uuid or "a card without a UUID"
        return f"on another card, {before}; this is {now}"
    changes = list_changes(there, here)
    return f"on the same card in another state ({', '.join(changes)})" if changes else ""


def shorten_uuid(uuid: str) -> str:
    """The first eight digits of a UUID, which tell apart the cards of a laboratory."""
    return uuid[:_UUID_DIGITS]


def _list_facts(environment: Environment) -> Mapping[str, str]:
    """The state of a machine, as far as it is recorded."""
    limit = environment.conditions.power_limit if environment.conditions else None
    facts = {"VBIOS": environment.vbios, "power limit": "" if limit is None else f"{limit:.0f} W"}
    return {name: value for name, value in {**facts, **environment.software}.items() if value}
