"""The Python interface behind `import gemmbench`: the sessions of the commands with Python types."""
