"""How much one command may plan: counts and numbers are checked before anything is made of them."""

from __future__ import annotations

import re

from gemmbench.errors import UsageError

MOST_PLANS = 1_000_000
MOST_CONFIGURATIONS = 1_000_000
"""Of one variant."""
MOST_DIGITS = 18
"""Of a number; an integer then fits 64 bits."""
_MOST_BITS = 14_000


def check_plans(count: int) -> None:
    """Raise UsageError for more plans than one command may have."""
    if count > MOST_PLANS:
        advice = "choose fewer sizes, or fewer values of parameters"
        raise UsageError(f"{format_count(count)} plans are too many, at most {MOST_PLANS:,}; {advice}")


def check_configurations(name: str, count: int) -> None:
    """Raise UsageError for more configurations than a variant may have."""
    if count > MOST_CONFIGURATIONS:
        limit = f"at most {MOST_CONFIGURATIONS:,}; choose fewer values of its parameters"
        raise UsageError(f"{name}: {format_count(count)} configurations are too many, {limit}")


def format_count(count: int) -> str:
    """`64,000,000`, or `over 10^40` for a number of so many digits."""
    digits = len(str(count))
    return f"{count:,}" if digits <= MOST_DIGITS else f"over 10^{digits - 1}"


def check_digits(what: str, number: str | int) -> None:
    """Raise UsageError for a number that is too long to be meant, such as `TILE` with 5,000 digits."""
    count = count_digits(number)
    if count > MOST_DIGITS:
        raise UsageError(f"{what}: a number of {count:,} digits is too long; it may have at most {MOST_DIGITS}")


def count_digits(number: str | int) -> int:
    """Count the digits of a number from the first that is not 0, without those of an exponent."""
    if isinstance(number, int):
        bits = number.bit_length()
        # str() refuses very long integers, of which the digits are counted by their bits.
        return len(str(abs(number))) if bits < _MOST_BITS else bits * 1233 // 4096
    return len(re.sub(r"[eE][-+]?\d+$|\D", "", number).lstrip("0"))
