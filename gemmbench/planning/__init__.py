"""What to compute and how to measure it. Opens no device."""
