"""Decides whether a result is right and, if not, explains why."""
