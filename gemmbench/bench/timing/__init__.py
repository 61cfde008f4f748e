"""How a time is measured, and what it is worth."""
