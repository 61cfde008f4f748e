"""The tables of a run's results and of the runs of a folder, as reports that any output can show."""
