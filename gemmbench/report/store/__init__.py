"""The results file of a run, a journal of JSON lines: how it is written, read and repaired.

run            `Run`: the rows of one file
journal        `Journal`: the file of a run that is being measured
reading        `read`, and the messages about a file that cannot be read
decode         one line as a row
check_row      what must hold between the values of a row
old_schema     rows of older files, converted
shared_values  values that many rows have in common, kept once
complete       which rows of a run count, which batches it has measured completely
last_line      the last line of a file
"""

from gemmbench.report.store.complete import complete_batches, complete_transfers, keep_latest
from gemmbench.report.store.journal import Journal
from gemmbench.report.store.reading import is_being_written, is_finished, read, read_environment
from gemmbench.report.store.run import Line, Run

__all__ = [
    "Journal",
    "Line",
    "Run",
    "complete_batches",
    "complete_transfers",
    "is_being_written",
    "is_finished",
    "keep_latest",
    "read",
    "read_environment",
]
