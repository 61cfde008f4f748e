"""The columns of tables and exports. Each is declared once with its CSV key, meaning, value, heading and cell."""
