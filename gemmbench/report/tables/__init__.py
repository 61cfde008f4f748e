"""Tables of the results of runs and of the runs in a folder, as reports for any kind of output."""
