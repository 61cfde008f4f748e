"""What a command does, without the command line; `gemmbench.cli` and the Python interface call it.

Nothing here prints: messages go to the `Reporter` that the caller passes in.
"""
