"""A simulated device for tests: results from NumPy, times and faults from a script."""
