"""What came out of a run: read, compared with the baseline, and shown."""
