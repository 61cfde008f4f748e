"""How a time is measured, and how far it can be trusted."""
