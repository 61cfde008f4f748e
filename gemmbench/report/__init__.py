"""Reads the results of a run, compares them with the baseline, and shows them."""
