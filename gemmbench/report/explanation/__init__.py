"""One row explained: `gemmbench show --explain`.

find_row    which row is asked for: its number, NAME or NAME@SIZE
sentences   everything that is known of a row, in sentences
steady_load a row under a steady load
rerun       the command that measures the row again
"""
