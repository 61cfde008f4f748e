"""Tuning: the search for the fastest configuration of a variant at a problem."""
