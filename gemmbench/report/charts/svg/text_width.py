"""How wide a text is about, and text cut into lines."""

from __future__ import annotations

_NARROW = set("iljtfrI.,:;'|!()[] ")
_WIDE = set("mwMW%@")


def text_width(text: str, size: float = 12) -> float:
    """An upper estimate in pixels for the fonts of the theme, DejaVu Sans the widest of them."""
    units = sum(0.4 if letter in _NARROW else 0.98 if letter in _WIDE else 0.66 for letter in text)
    return units * size


def wrap_text(text: str, width: float, size: float = 12) -> list[str]:
    """The text in lines of at most `width` pixels."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
