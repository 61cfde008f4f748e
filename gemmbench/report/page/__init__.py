"""The page of runs that `gemmbench report` writes: one HTML file that loads nothing."""
