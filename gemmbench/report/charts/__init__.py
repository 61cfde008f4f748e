"""Charts of runs: a small model of what is drawn, the kinds of charts that fill it, and a renderer."""
