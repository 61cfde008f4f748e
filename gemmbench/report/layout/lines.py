"""Lines of a screen: text, and what it is, which a terminal shows by color and weight."""

from __future__ import annotations

from dataclasses import dataclass

TITLE, HEADING, RULE, FOOTER = "title", "heading", "rule", "footer"


@dataclass(frozen=True)
class Line:
    """One line. `kind` is one of the above or the status of a row; "" for other text.

    `status` are the start and the end of the cell that tells the status.
    """

    text: str
    kind: str = ""
    status: tuple[int, int] | None = None
