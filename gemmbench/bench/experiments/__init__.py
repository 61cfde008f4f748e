"""Experiments: what is done with one batch."""
