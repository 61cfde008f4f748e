"""The Python interface behind `import gemmbench`. It runs the same sessions as the commands, with Python types."""
