"""The output of commands that do not report a run."""
