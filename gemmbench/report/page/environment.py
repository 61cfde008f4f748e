"""The environment of a run: device, software, settings, how it was measured, and the command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gemmbench.bench.record import Environment
from gemmbench.report.comparison import Comparison
from gemmbench.report.page.html import Content, Html, tag
from gemmbench.report.page.shell import render_card
from gemmbench.report.tables.footer import detail_lines, footer_lines, list_modes
from gemmbench.report.text import count_noun, number

Facts = Iterable[tuple[str, str]]


def render_environment(comparison: Comparison) -> Html:
    """Everything that the header of a results file says, in cards."""
    environment = comparison.environment
    lines = [*footer_lines(comparison.run), *detail_lines(comparison.run)] if comparison.rows else []
    cards = [
        render_card("Run", _render_facts(_list_run(comparison))),
        render_card(f"Device: {environment.device}", _render_facts(_list_device(environment))),
        render_card("Software", _render_facts(environment.software.items())),
        render_card("Settings", _render_facts(_list_settings(environment.policy))),
        render_card("How to read the numbers", tag("ul", (tag("li", line) for line in lines))),
    ]
    name = tag("h3", f"{environment.sweep}, run {environment.run}")
    return tag("div", name, _render_command(environment), tag("div", cards, class_="cards"), class_="results")


def _render_command(environment: Environment) -> Html:
    copy = tag("button", "Copy", type="button", class_="copy", hidden=True)
    return tag("div", tag("code", environment.command), copy, class_="command card")


def _render_facts(facts: Facts) -> Html:
    pairs: list[Content] = [[tag("dt", name), tag("dd", value)] for name, value in facts if value]
    return tag("dl", pairs)


def _list_run(comparison: Comparison) -> Facts:
    environment = comparison.environment
    yield "run", environment.run
    yield "file", comparison.run.path.name
    yield "started", environment.started
    yield "sweep", environment.sweep
    yield "baseline", environment.baseline
    revision = f", revision {environment.revision}" if environment.revision else ""
    yield "gemmbench", environment.gemmbench + revision
    yield "Python", environment.python
    yield "warning", comparison.run.warning


_SECONDS = ("max_time", "window", "sustained")
_SHARES = ("until",)


def _list_settings(policy: Mapping[str, object]) -> Facts:
    """The policy, with units; what is 0 was not asked for."""
    for name, value in policy.items():
        text = str(value)
        if isinstance(value, bool):
            text = "on" if value else "off"
        elif isinstance(value, float) and name in (*_SECONDS, *_SHARES):
            text = f"+- {100 * value:g} %" if name in _SHARES else f"{value:g} s"
            text = text if value else ""
        yield name.replace("_", " "), text


def _list_device(environment: Environment) -> Facts:
    yield "back end", environment.backend
    yield "UUID", environment.uuid
    yield "VBIOS", environment.vbios
    yield "compute capability", f"{environment.sm / 10:.1f}" if environment.sm else ""
    yield "multiprocessors" if environment.is_gpu else "cores", str(environment.sms or "")
    yield "last-level cache", _scale(environment.l2, 1 << 20, "MiB")
    yield "memory", _scale(environment.memory, 1 << 30, "GiB")
    yield "memory bandwidth", _scale(environment.bandwidth, 1e12, "TB/s")
    yield "highest clock", _scale(environment.clock_hz, 1e9, "GHz")
    for precision, per_cycle in environment.flops_per_cycle.items():
        yield f"peak {precision}", _scale(per_cycle * environment.clock_hz, 1e12, "TFLOPS")
    yield from _list_conditions(environment)
    if environment.is_gpu and environment.host:
        yield "host", f"{environment.host}, {count_noun(environment.cores, 'core')}"


def _list_conditions(environment: Environment) -> Facts:
    known = environment.conditions
    if known is None:
        return
    yield "power limit", _scale(known.power_limit or 0, 1, "W")
    yield from list_modes(environment).items()


def _scale(value: float, unit: float, name: str) -> str:
    return f"{number(value / unit)} {name}" if value else ""
