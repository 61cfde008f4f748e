"""Drafts of manifests for other people's files: what the code says, and marked guesses."""
