"""What commands print that do not report a run."""
