"""The page of runs that `gemmbench report` writes: a single HTML file that loads nothing."""
