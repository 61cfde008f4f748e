"""Whether a result is right, and if not, why."""
