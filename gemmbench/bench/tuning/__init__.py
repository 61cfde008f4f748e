"""Tuning: the search for a variant's fastest configuration at a problem."""
