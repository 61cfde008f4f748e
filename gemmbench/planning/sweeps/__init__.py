"""Sweeps: everything that a run measures, from a config file and the command line."""
