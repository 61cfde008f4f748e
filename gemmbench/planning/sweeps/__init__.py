"""Sweeps: everything that a run measures, read from a config file and the command line."""
