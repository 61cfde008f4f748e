"""Text of files made fit to be shown: a terminal obeys control sequences, and XML cannot hold them."""

from __future__ import annotations

import re

_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""Control characters but the tab and the end of a line, and those that turn the direction of text."""
_BREAKS = re.compile(r"[\t\n]")


def escape_controls(text: str) -> str:
    r"""Text with `\x1b` for an escape character, and so on; tabs and line ends stay."""
    return text if text.isprintable() else _CONTROLS.sub(_name_character, text)


def escape_cell(text: str) -> str:
    r"""The same on one line, with `\n` for the end of a line."""
    return text if text.isprintable() else _BREAKS.sub(_name_character, escape_controls(text))


def _name_character(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
