"""Types of options that take a number, which may not have thousands of digits."""

from __future__ import annotations

from typing import Any

import click

from gemmbench.errors import UsageError
from gemmbench.planning.sizes import check_digits


class _Number(click.ParamType):  # type: ignore[type-arg]  # generic only in recent releases of click
    """A number that click reads, with few enough digits."""

    def __init__(self, kind: click.ParamType):  # type: ignore[type-arg]  # as above
        self.kind, self.name = kind, kind.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Fails with the count of its digits if it has too many."""
        try:
            check_digits("invalid value", value if isinstance(value, str) else "")
        except UsageError as fault:
            self.fail(str(fault).removeprefix("invalid value: "), param, ctx)
        return self.kind.convert(value, param, ctx)


INTEGER, NUMBER = _Number(click.INT), _Number(click.FLOAT)
