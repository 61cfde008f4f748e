"""A device for tests that exists on paper: results by NumPy, times and faults from a script."""
