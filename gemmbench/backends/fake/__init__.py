"""A simulated device for tests, with results from NumPy and times and faults from a script."""
