"""A device for tests that exists on paper: results by NumPy, times and faults from a script.

entry     its record in the registry; services does the work
device    its limits and peaks, in round numbers
script    the times and faults of a test
backend   the open device, and its compiler
kernels   what it computes
jobs      copies and launches, timed by a small model
monitor   scripted power and temperature
"""
