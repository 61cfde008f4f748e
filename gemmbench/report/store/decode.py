"""One line of a results file as a row: of this schema, or of an older one."""

from __future__ import annotations

import msgspec

from gemmbench.errors import GemmbenchError
from gemmbench.planning.files import escape_cell
from gemmbench.report.store.check_row import check_row
from gemmbench.report.store.old_schema import is_old, upgrade_row
from gemmbench.report.store.run import Line

_LONGEST_FAULT = 200
_decoder = msgspec.json.Decoder(Line)


class BrokenRow(GemmbenchError):
    """A line that is no row; the message is the fault on one line, without file and number."""

    def __init__(self, fault: str) -> None:
        short = fault if len(fault) <= _LONGEST_FAULT else f"{fault[:_LONGEST_FAULT]} ..."
        super().__init__(escape_cell(short))


def decode_line(line: bytes) -> Line:
    """Decode a row and check it. Raises BrokenRow."""
    try:
        row = _decode(line)
    except UnicodeDecodeError:
        raise BrokenRow("text that is not UTF-8") from None
    except RecursionError:
        raise BrokenRow("values nested too deeply") from None
    except msgspec.DecodeError as fault:
        raise BrokenRow(str(fault)) from None
    if wrong := check_row(row):
        raise BrokenRow(wrong)
    return row


def _decode(line: bytes) -> Line:
    try:
        row: Line = _decoder.decode(line)
        return row
    except msgspec.ValidationError:
        old = msgspec.json.decode(line)
        if not isinstance(old, dict) or not is_old(old):
            raise
    try:
        upgraded: Line = msgspec.convert(upgrade_row(old), Line)
        return upgraded
    except KeyError as fault:
        raise msgspec.ValidationError(f"missing required field `{fault.args[0]}`") from None


def read_schema(line: bytes) -> int | None:
    """The version of the format that a header states; None if it states none."""
    try:
        header = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    schema = header.get("schema") if isinstance(header, dict) else None
    return schema if isinstance(schema, int) else None
