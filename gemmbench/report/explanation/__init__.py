"""One row explained: `gemmbench show --explain`.

find_row    which row is asked for: its number, NAME or NAME@SIZE
sentences   everything that is known of a row, in sentences
rerun       the command that measures the row again
"""
