"""Does the work of each command, without the command line. `gemmbench.cli` and the Python interface call it.

Nothing here prints. Messages go to the `Reporter` that the caller passes in.
"""
