"""The results file of a run, a journal of JSON lines: how it is written, read and repaired."""
