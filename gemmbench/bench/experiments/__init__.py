"""What to do with one batch."""
