"""What differs between two runs, and whether that passes the gate."""
