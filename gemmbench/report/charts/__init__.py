"""Charts of runs: a small model of what is drawn, the kinds that fill it, and a renderer."""
