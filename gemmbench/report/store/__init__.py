"""The results file of a run, a journal of JSON lines: how it is written, read and repaired.

run          `Run`: the rows of one file
journal      `Journal`: the file of a run that is being measured
reading      `read`, and the messages about a file that cannot be read
decode       one line as a row
check_row    what must hold between the values of a row
old_schema   rows of older files, converted
complete     which batches and kernels a run has measured completely
find_newest  the file that --resume continues
"""

from gemmbench.report.store.complete import complete_batches, complete_transfers
from gemmbench.report.store.find_newest import find_newest
from gemmbench.report.store.journal import Journal
from gemmbench.report.store.reading import read, read_environment
from gemmbench.report.store.run import Line, Run

__all__ = [
    "Journal",
    "Line",
    "Run",
    "complete_batches",
    "complete_transfers",
    "find_newest",
    "read",
    "read_environment",
]
