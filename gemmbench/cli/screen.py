"""How wide the screen is."""

from __future__ import annotations

import os
import shutil
import sys


def screen_width() -> int | None:
    """Columns of the terminal or of the variable COLUMNS; None without either."""
    known = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    return shutil.get_terminal_size().columns if known else None
