"""The differences between two runs, and whether they pass the gate."""
