"""Numbers with the range that they have in a results file; whoever decodes one refuses all others."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

_MOST = 10**18

Count = Annotated[int, Meta(ge=0, le=_MOST)]
"""A number of things, or of bytes."""
KnownCount = Annotated[int, Meta(ge=-1, le=_MOST)]
"""The same; -1 if it is unknown."""
Dimension = Annotated[int, Meta(ge=1, le=_MOST)]
"""A size of which there is at least 1."""
Integer = Annotated[int, Meta(ge=-_MOST, le=_MOST)]
"""Any integer, such as the value of a parameter."""
Amount = Annotated[float, Meta(ge=0, le=1e18)]
"""A quantity that may be 0 or unknown: Hz, watts, bytes per second."""
Rate = Annotated[float, Meta(ge=1e-9, le=1e18)]
"""A quantity that others are divided by."""
Seconds = Annotated[float, Meta(ge=1e-15, le=1e9)]
"""A time that was measured."""
Scalar = Annotated[float, Meta(ge=-1e300, le=1e300)]
"""Any number, such as alpha or the order of a row."""
