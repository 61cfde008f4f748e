"""The results file of a run, a journal of JSON lines: writing, reading and repairing it."""
