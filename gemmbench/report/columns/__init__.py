"""The columns of tables and exports, each declared once: CSV key, meaning, value, heading and cell."""
