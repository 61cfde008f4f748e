"""Experiments, each of which verifies and measures one batch."""
