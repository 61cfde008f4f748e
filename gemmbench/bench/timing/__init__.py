"""How times are measured, and how far they can be trusted."""
